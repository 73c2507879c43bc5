"""`envbuild certify` and the workspace: whose plan counts, and where a result may go."""

import json
from pathlib import Path

import pytest

from envbuild.certify import run
from envbuild.certify.seen import Seen
from envbuild.cli.app import run as command
from envbuild.engines import find
from envbuild.io.workspace import Workspace
from envbuild.values.codec import replace
from envbuild.values.host import EngineFacts
from envbuild.values.plan import MatrixId, Plan
from tests.certify import here
from tests.certify.samples import seen

PLAN = Plan(outcome="ok", cc=("6.1",), promise=("61",), matrix=MatrixId(date="", digest=""))
ARGV = ["certify", "--require", "toolchain", "-q"]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Plan | None]:
    """A workspace that built `made/here:1`; the plan that each certification was given."""
    plans: list[Plan | None] = []

    def observations(*_: object, plan: Plan | None, **__: object) -> Seen:
        plans.append(plan)
        return seen("toolchain")

    facts = EngineFacts(name="docker", answers=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "observations", observations)
    engine = here.HereEngine(Path("/nowhere"))
    found = find.Found(engine, facts, "made")  # type: ignore[arg-type]
    monkeypatch.setattr(find, "holding", lambda *_: found)
    space = Workspace()
    space.save("image.json", here.image())
    space.save("plan.json", PLAN)
    return plans


def test_the_image_that_was_built_here_has_its_plan(asked: list[Plan | None]) -> None:
    assert command(ARGV) == 0
    assert command([*ARGV, "made/here:1"]) == 0
    assert command([*ARGV, here.DIGEST]) == 0
    assert asked == [PLAN, PLAN, PLAN]
    assert json.loads(Path(".envbuild/certificate.json").read_bytes())["exit"] == 0


def test_another_image_under_the_same_name_has_not(
    asked: list[Plan | None], capsys: pytest.CaptureFixture[str]
) -> None:
    Workspace().save("image.json", replace(here.image(), config="sha256:" + "0" * 64))
    assert command(ARGV) == 7
    assert "another image under this name" in capsys.readouterr().err
    assert not Path(".envbuild/certificate.json").exists()
    assert command([*ARGV, "made/here:1"]) == 0
    assert asked == [None]


@pytest.mark.parametrize(
    ("words", "node"),
    [((), "lab7.example"), (("--node", "rack 1-é"), 2), (("--node", "r-é"), "r-é"),
     (("--node", ""), None), (("--node", "a\nb"), 2), (("--node", "n" * 254), 2)],
)  # fmt: skip
def test_a_certificate_names_its_node(
    words: tuple[str, ...], node: str | int | None, asked: list[Plan | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("platform.node", lambda: "lab7.example")
    if isinstance(node, int):
        assert command([*ARGV, *words]) == node
        assert asked == []
        return
    assert command([*ARGV, *words]) == 0
    assert json.loads(Path(".envbuild/certificate.json").read_bytes())["node"] == node


def test_what_an_interrupted_run_saw_is_kept(
    asked: list[Plan | None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = replace(seen("toolchain", "smoke", "fast"), interrupted=True)
    monkeypatch.setattr(run, "observations", lambda *_, **__: cut)
    argv = ["certify", "made/here:1", "--require", "fast", "--record", "seen.json", "-q"]
    assert command(argv) == 130
    assert "certify was interrupted" in capsys.readouterr().err
    found = json.loads(Path(".envbuild/certificate.json").read_bytes())
    assert {one["name"]: one["verdict"] for one in found["suites"]}["smoke"] == "pass"
    assert found["exit"] == 8
    assert json.loads(Path("seen.json").read_bytes())["interrupted"]
    assert asked == []


@pytest.mark.parametrize("flag", ["--out", "--junit", "--record"])
@pytest.mark.parametrize("place", ["file/below", "."])
def test_a_place_that_cannot_be_written_is_said_at_once(
    flag: str, place: str, asked: list[Plan | None]
) -> None:
    Path("file").touch()
    assert command([*ARGV, flag, place]) == 4
    assert asked == []


@pytest.mark.parametrize("flag", ["--apt-mirror=x", "--index-url=x", "--network=host"])
def test_flags_of_a_build_are_none_here(flag: str, asked: list[Plan | None]) -> None:
    assert command([*ARGV, flag]) == 2
    assert asked == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("made/here:1", 2),
        ("docker.io/made/here:1", 2),
        (f"made/here@{here.DIGEST}", 0),
        ("registry.example/made/here:1", 0),
    ],
)
def test_a_tag_that_a_mirror_answers_for_must_be_pinned(
    name: str, code: int, asked: list[Plan | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = replace(here.image(), manifest=here.DIGEST)
    monkeypatch.setattr(here.HereEngine, "inspect", lambda _, ref: replace(known, ref=ref))
    assert command([*ARGV, name, "--registry-mirror", "mirror.example"]) == code
    assert len(asked) == (code == 0)
