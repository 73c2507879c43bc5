"""What a run inside an image says, read back; and that nobody else writes into it."""

import json

import pytest

from envbuild.certify import steps
from envbuild.engines.base import Mount, RunSpec
from envbuild.io.proc import Completed
from envbuild.values.host import EngineFacts
from envbuild.values.image import Image

LIST = (steps.Step("first", ("a",)), steps.Step("second", ("b",)), steps.Step("third", ("c",)))


class Said:
    """An engine whose runs print the same text (made)."""

    name = "docker"

    def __init__(self, text: str, rc: int = 0) -> None:
        self.text = text
        self.rc = rc

    def probe(self) -> EngineFacts:
        return EngineFacts(name=self.name)

    def inside(self, mount: Mount) -> str:
        return mount.target

    def inspect(self, ref: str) -> Image | None:
        raise AssertionError(ref)

    def run(self, ref: str, spec: RunSpec) -> Completed:
        assert ref == "image"
        return Completed(spec.argv, self.rc, self.text, "", timed_out=False, seconds=1.0)


def session(tmp_path, *lines: str, rc: int = 0):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    (tmp_path / "probes").mkdir(parents=True)
    said = Said("\n".join(lines), rc)
    bench = steps.Bench(said, "image", tmp_path / "probes", tmp_path / "out")
    return steps.run(bench, "look", LIST)


def line(name: str, **more: object) -> str:
    return json.dumps({"step": name, "rc": 0} | more)


def test_results_in_order_and_the_noise_between(tmp_path) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    found = session(tmp_path, line("first", out="\u00c3\u00a9"), "hello", line("second"), "")
    assert [ran.step for ran in found.steps] == ["first", "second"]
    assert (found.steps[0].out, found.noise) == ("é", 1)


@pytest.mark.parametrize(
    "names",
    [
        ("first", "first", "second"),
        ("second", "first"),
        ("first", "other", "second", "third"),
        ("first", "second", "third", "third"),
        ("third",),
    ],
)
def test_a_result_that_another_process_wrote_voids_them_all(names, tmp_path) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    found = session(tmp_path, *map(line, names))
    assert found.steps == ()
    assert found.noise == len(names)


@pytest.mark.parametrize("rc", [2, 137, -9])
def test_a_runner_that_was_ended_gave_no_results(rc: int, tmp_path) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Who ends it, and first writes what it would have said, must have nothing from it."""
    for names in (("first", "second", "third"), ("first", "second")):
        found = session(tmp_path / names[-1], *map(line, names), rc=rc)
        assert (found.steps, found.rc) == ((), rc)


def test_no_two_runs_have_their_probes_in_the_same_place(tmp_path) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """An image cannot bring a file, a link or a volume for a place whose name it does not know."""
    places = set()
    for name in ("one", "two"):
        bench = steps.Bench(Said(""), "image", tmp_path / name / "probes", tmp_path / name / "out")
        places |= {mount.target for mount in bench.mounts}
        assert bench.probe("x") == f"/{name}/probes/x"
        assert bench.out() == f"/{name}/scratch"
    assert len(places) == 4
