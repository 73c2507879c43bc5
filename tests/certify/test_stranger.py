"""Whose image gets a GPU through a container toolkit with published holes, and whose does not."""

import json
from pathlib import Path

import pytest

from envbuild.certify import run, stranger
from envbuild.certify.seen import Choice, Seen
from envbuild.cli.app import run as command
from envbuild.engines import find
from envbuild.engines.base import RunSpec
from envbuild.errors import MachineError
from envbuild.host import cdi
from envbuild.io import ours
from envbuild.io.proc import Completed
from envbuild.io.workspace import Workspace
from envbuild.matrix.load import load
from envbuild.values.codec import replace
from envbuild.values.host import CdiSpec, EngineFacts, Gpu, Probe
from tests.certify import here
from tests.certify.samples import seen
from tests.planner.test_containers import docker, machine

GPU = Gpu(name="made", uuid="GPU-1", cc="9.0")
HOLES = load().holes


SOCKET = "/var/run/docker.sock"
SPEC = CdiSpec(path="/etc/cdi/nvidia.yaml", devices=("nvidia.com/gpu=all",))
HOOKED = replace(SPEC, hooks=("/usr/bin/nvidia-cdi-hook",))


def engine(name: str = "docker", **more: object) -> EngineFacts:
    """One that runs on this machine."""
    here = {"endpoint": SOCKET} if name == "docker" else {}
    return replace(EngineFacts(name=name, version="1", answers=True), **(here | more))


def check(access: str, toolkit: str | None, by: EngineFacts | None = None, **about: object) -> None:
    """A stranger's image on a machine with this toolkit, its programs in /usr/bin."""
    host = machine(docker(), toolkit=toolkit)
    if host.container_toolkit is not None:
        tool = replace(host.container_toolkit, path="/usr/bin/nvidia-ctk")
        host = replace(host, container_toolkit=tool)
    choice = Choice(gpu=GPU, access=access)
    stranger.check("them/app:1", replace(host, **about), by or engine(), choice, HOLES)


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


@pytest.mark.parametrize(
    ("by", "access", "held"),
    [
        # The specification's own hooks alone; --nvccli starts the library; docker may do either.
        (engine("podman"), "cdi", {"CVE-2025-23266"}),
        (engine("apptainer"), "cdi", {"CVE-2025-23266"}),
        (engine("apptainer"), "gpus", {"CVE-2024-0132"}),
        (engine(), "cdi", {"CVE-2025-23266"}),
        (engine(), "gpus", {"CVE-2024-0132", "CVE-2025-23266"}),
        # As the default runtime it is in every start, and an image can speak to it.
        (engine(default_runtime="nvidia"), "cdi", {"CVE-2024-0132", "CVE-2025-23266"}),
    ],
)
def test_each_way_in_has_its_own_holes(by: EngineFacts, access: str, held: set[str]) -> None:
    with pytest.raises(MachineError) as error:
        check(access, "1.16.1", by, cdi=(HOOKED,))
    assert {"CVE-2024-0132", "CVE-2025-23266"} & set(
        error.value.why.replace(":", ",").split(", ")
    ) == held


ELSEWHERE = [
    (engine(endpoint="tcp"), {}, "docker is asked over tcp"),
    (engine(endpoint="ssh"), {}, "docker is asked over ssh"),
    (engine(endpoint=None, context="rootless", rootless=True), {}, "its context 'rootless'"),
    (engine(system="Docker Desktop"), {}, "a container toolkit of its own"),
    (engine(cli="/snap/bin/docker"), {}, "docker is a snap"),
    (engine(daemon="/snap/docker/2915/bin/dockerd"), {}, "docker is a snap"),
    (engine(), {"inside_container": "docker"}, "docker's server is outside it"),
]


@pytest.mark.parametrize("access", ["cdi", "gpus", "nvidia-runtime"])
@pytest.mark.parametrize(("by", "about", "why"), ELSEWHERE)
def test_a_toolkit_that_was_not_seen_is_refused_and_said(
    by: EngineFacts, about: dict[str, object], why: str, access: str
) -> None:
    """However new the one beside it is; and a specification here is not what is read there."""
    with pytest.raises(MachineError, match=r"which container toolkit .* is not known") as error:
        check(access, "1.20.0", by, cdi=(SPEC,), **about)
    assert why in error.value.why
    assert "--trusted" in error.value.fix
    assert error.value.exit_code == 4


def test_a_toolkit_without_a_release_or_another_ones_hooks() -> None:
    with pytest.raises(MachineError, match="is not known"):
        check("gpus", None)
    with pytest.raises(MachineError, match="is not known"):
        check("cdi", None, cdi=(HOOKED,))
    other = replace(SPEC, hooks=("/usr/local/nvidia/toolkit/nvidia-cdi-hook",))
    with pytest.raises(MachineError) as error:
        check("cdi", "1.20.0", engine("podman"), cdi=(other,))
    assert "which is not of /usr/bin/nvidia-ctk" in error.value.why
    check("cdi", "1.20.0", engine("podman"), cdi=(replace(SPEC, hooks=("/bin/nvidia-ctk",)),))


def test_a_specification_without_hooks_starts_no_toolkit() -> None:
    for by in (engine("podman"), engine("apptainer"), engine()):
        check("cdi", "1.16.1", by, cdi=(SPEC,))
        check("cdi", None, by, cdi=(SPEC,))
    broken = (Probe(name="cdi", ok=False, says="/etc/cdi/x.yaml: not a CDI specification"),)
    with pytest.raises(MachineError):
        check("cdi", None, engine("podman"), cdi=(SPEC,), probes=broken)
    with pytest.raises(MachineError):
        check("cdi", None, engine(default_runtime="nvidia"), cdi=(SPEC,))
    with pytest.raises(MachineError):
        check("gpus", None, cdi=(SPEC,))


def test_hooks_are_read_from_a_specification() -> None:
    hook = {"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["x"]}
    spec = {
        "cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "containerEdits": {"hooks": [hook]},
        "devices": [{"name": "all", "containerEdits": {"hooks": [hook | {"path": "/opt/h"}]}}],
    }  # fmt: skip
    found = cdi.parse("/etc/cdi/nvidia.json", json.dumps(spec).encode())
    assert isinstance(found, CdiSpec)
    assert found.hooks == ("/usr/bin/nvidia-cdi-hook", "/opt/h")


def test_let_pass() -> None:
    check("gpus", "1.19.1")
    check("cdi", "1.20.0")
    check("gpus", "1.20.0", engine(rootless=True, endpoint="/run/user/1000/docker.sock"))
    check("gpus", "1.20.0", engine(daemon="/usr/bin/dockerd"), inside_container="docker")
    check("native", "1.16.1", engine("apptainer"))
    stranger.check("x", machine(docker()), engine(), Choice(reason="no GPU"), HOLES)


class _Untouched(here.HereEngine):
    """An engine that must not be asked to run anything."""

    def probe(self) -> EngineFacts:
        return engine(access=("gpus",))

    def run(self, ref: str, spec: RunSpec) -> Completed:
        pytest.fail(f"{ref} ran {spec.argv}")


def certify(**policy: object) -> None:
    host = machine(docker("gpus"), toolkit="1.17.7")
    asked = run.Policy(**policy)  # type: ignore[arg-type]
    run.certify(
        _Untouched(Path("/nowhere")), here.image(promise="120", cc="12.0"), host=host, policy=asked
    )


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
