"""Whose image gets a GPU through a container toolkit with published holes, and whose does not."""

from pathlib import Path

import pytest

from envbuild.certify import run, stranger
from envbuild.certify.seen import Choice, Seen
from envbuild.cli.app import run as command
from envbuild.engines import find
from envbuild.engines.base import RunSpec
from envbuild.errors import MachineError
from envbuild.io import ours
from envbuild.io.proc import Completed
from envbuild.io.workspace import Workspace
from envbuild.matrix.load import load
from envbuild.values.codec import replace
from envbuild.values.host import EngineFacts, Gpu, Host
from tests.certify import here
from tests.certify.samples import seen
from tests.planner.test_containers import docker, machine

GPU = Gpu(name="made", uuid="GPU-1", cc="9.0")
HOLES = load().holes


def check(access: str, toolkit: str | None) -> None:
    host = machine(docker("cdi", "gpus", "nvidia-runtime"), toolkit=toolkit)
    stranger.check("them/app:1", host, Choice(gpu=GPU, access=access), HOLES)


@pytest.mark.parametrize(
    ("access", "toolkit", "cve"),
    [
        ("gpus", "1.16.1", "CVE-2024-0132"),
        ("nvidia-runtime", "1.17.3", "CVE-2025-23359"),
        ("gpus", "1.17.7", "CVE-2025-23266"),
        ("cdi", "1.17.7", "CVE-2025-23266"),
        ("cdi", "1.19.0", "CVE-2026-24260"),
    ],
)
def test_refused(access: str, toolkit: str, cve: str) -> None:
    with pytest.raises(MachineError, match=f"through container toolkit {toolkit}") as error:
        check(access, toolkit)
    assert cve in error.value.why
    assert "update the toolkit to 1.19.1" in error.value.fix
    assert error.value.exit_code == 4


def test_what_never_was_in_cdi_mode_is_not_held_against_it() -> None:
    with pytest.raises(MachineError) as error:
        check("cdi", "1.16.1")
    assert "CVE-2024-0132" not in error.value.why


def test_let_pass() -> None:
    check("gpus", "1.19.1")
    check("cdi", "1.20.0")
    check("gpus", None)
    check("native", "1.16.1")
    stranger.check("x", machine(docker("cdi"), toolkit="1.16.1"), Choice(reason="no GPU"), HOLES)
    stranger.check("x", Host(), Choice(gpu=GPU, access="cdi"), HOLES)
    snap = machine(docker("nvidia-runtime", cli="/snap/bin/docker"), toolkit="1.16.1")
    stranger.check("x", snap, Choice(gpu=GPU, access="nvidia-runtime"), HOLES)


class _Untouched(here.HereEngine):
    """An engine that must not be asked to run anything."""

    def probe(self) -> EngineFacts:
        return docker("gpus")

    def run(self, ref: str, spec: RunSpec) -> Completed:
        pytest.fail(f"{ref} ran {spec.argv}")


def certify(**policy: object) -> None:
    host = machine(docker("gpus"), toolkit="1.17.7")
    engine = _Untouched(Path("/nowhere"))
    asked = run.Policy(**policy)  # type: ignore[arg-type]
    run.certify(engine, here.image(promise="120", cc="12.0"), host=host, policy=asked)


def test_nothing_of_it_runs() -> None:
    with pytest.raises(MachineError, match="was not built here"):
        certify()


@pytest.mark.parametrize("policy", [{"trusted": True}, {"require": ("toolchain",)}])
def test_who_is_trusted_and_who_gets_no_gpu_is_run(policy: dict[str, object]) -> None:
    with pytest.raises(pytest.fail.Exception, match=" ran "):
        certify(**policy)


def test_what_this_user_built_in_this_workspace_is_no_stranger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def observations(*_: object, policy: run.Policy, **__: object) -> Seen:
        asked.append(policy.trusted)
        return seen("toolchain")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(run, "observations", observations)
    found = find.Found(here.HereEngine(tmp_path), EngineFacts(name="docker"), "made")  # type: ignore[arg-type]
    monkeypatch.setattr(find, "holding", lambda *_: found)
    argv = ["certify", "made/here:1", "--require", "toolchain", "-q"]
    Workspace().save("image.json", here.image())
    # The folder alone says nothing: it may have come with somebody's project.
    assert command(argv) == 0
    ours.remember(here.image().config)
    assert command(argv) == 0
    # Labels of a plan and a lock are anybody's to set; the digest of the config is not.
    Workspace().save("image.json", replace(here.image(), config="sha256:" + "0" * 64))
    assert command(argv) == 0
    assert command([*argv, "--trusted"]) == 0
    assert asked == [False, True, False, True]
