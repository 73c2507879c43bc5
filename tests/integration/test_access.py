"""Engine x access mode, with a stand-in device: what comes in, and that nothing comes unasked.

No GPU is here. The device is the null device under a made name (see ``standin/daemon.py``); what
is real is each engine's own way from our flags to a node and a variable inside the container.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.engines.base import Engine, RunSpec
from envbuild.engines.find import make
from envbuild.errors import MachineError
from envbuild.io.net import Net
from tests.integration.conftest import service
from tests.integration.standin.daemon import NODE, VARIABLE, cdi_spec, running

pytestmark = pytest.mark.engine

LOOK = f"test -c {NODE} && echo node; echo variable=${VARIABLE} visible=$NVIDIA_VISIBLE_DEVICES"
SHOWN = {
    "cdi": "node\nvariable=cdi visible=\n",
    "gpus": "node\nvariable= visible=all\n",
    "nvidia-runtime": "node\nvariable=runtime visible=all\n",
    "none": "variable= visible=void\n",
}
CELLS = [
    ("docker 20.10", "gpus"),
    ("docker 20.10", "nvidia-runtime"),
    ("docker 20.10", "none"),
    ("docker newest", "cdi"),
    ("docker newest", "gpus"),
    ("docker newest", "nvidia-runtime"),
    ("docker newest", "none"),
    ("podman", "cdi"),
    ("podman", "none"),
]


@pytest.fixture(scope="module")
def old_docker_with_gpu() -> Iterator[str]:
    """Docker 20.10 with the made parts of a container toolkit: its address."""
    with started(Path("/usr/sbin/dockerd"), cdi=False) as address:
        yield address


@pytest.fixture(scope="module")
def newest_docker_with_gpu() -> Iterator[str]:
    """The newest docker with them."""
    root = Path(service("ENVBUILD_TEST_NEWEST_BIN")).parent / "root"
    with started(root / "usr/sbin/dockerd", cdi=True) as address:
        yield address


@contextlib.contextmanager
def started(dockerd: Path, *, cdi: bool, default_runtime: str = "runc") -> Iterator[str]:
    """See ``running``; needs root."""
    if os.geteuid() != 0 or not dockerd.exists():
        pytest.skip(f"starting {dockerd} needs it, and root")
    with (
        tempfile.TemporaryDirectory(prefix="eb-") as folder,
        running(dockerd, Path(folder), cdi=cdi, default_runtime=default_runtime) as address,
    ):
        yield address


@pytest.fixture(scope="module")
def podman_spec() -> Iterator[None]:
    """Podman reads two fixed folders."""
    file = Path("/var/run/cdi/envbuild-made.json")
    others = [p for d in (Path("/etc/cdi"), file.parent) if d.is_dir() for p in d.iterdir()]
    if any(p != file for p in others) or os.geteuid() != 0:
        pytest.skip("it needs root, and a machine without CDI specifications of its own")
    file.parent.mkdir(exist_ok=True)
    file.write_text(cdi_spec())
    yield
    file.unlink(missing_ok=True)


@pytest.fixture
def ready(
    request: pytest.FixtureRequest, base: str, registry: str, monkeypatch: pytest.MonkeyPatch
) -> Engine:
    """The engine, holding the base image."""
    name = request.param
    if name == "podman":
        request.getfixturevalue("podman_spec")
    elif name == "docker 20.10":
        monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("old_docker_with_gpu"))
    else:
        monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("newest_docker_with_gpu"))
        # The old client takes no CDI name after --device.
        path = f"{service('ENVBUILD_TEST_NEWEST_BIN')}:{os.environ['PATH']}"
        monkeypatch.setenv("PATH", path)
    engine = make(name.partition(" ")[0])
    engine.pull(base, Net(registry_mirror=registry))
    return engine


@pytest.mark.parametrize(("ready", "access"), CELLS, indirect=["ready"])
def test_the_device_comes_in_as_asked_and_only_then(ready: Engine, access: str, base: str) -> None:
    done = ready.run(base, RunSpec(argv=("sh", "-c", LOOK), access=access))
    assert (done.rc, done.out) == (0, SHOWN[access]), done.err


@pytest.mark.parametrize(("ready", "access"), CELLS, indirect=["ready"])
def test_run_brings_it_in_on_the_command_line(ready: Engine, access: str, base: str) -> None:
    argv = [sys.executable, "-m", "envbuild", "run", "--engine", ready.name, "--access", access]
    command = [*argv, base, "--", "sh", "-c", LOOK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, SHOWN[access]), done.stderr


@pytest.mark.parametrize(
    ("ready", "access"),
    [("docker 20.10", "cdi"), ("podman", "gpus"), ("podman", "nvidia-runtime")],
    indirect=["ready"],
)
def test_a_way_that_the_engine_lacks_never_starts_without_the_gpu(
    ready: Engine, access: str, base: str
) -> None:
    with pytest.raises(MachineError) as caught:
        ready.run(base, RunSpec(argv=("sh", "-c", LOOK), access=access))
    assert caught.value.fix


def test_no_image_gets_by_itself_what_no_run_asked_for(
    base: str, registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NVIDIA's runtime as docker's default gives an image what the image's own variable names."""
    with started(Path("/usr/sbin/dockerd"), cdi=False, default_runtime="nvidia") as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        engine = make("docker")
        image = str(engine.pull(base, Net(registry_mirror=registry)).config)
        docker = ["docker", "--host", address]
        made = _says(*docker, "create", image).strip()
        asking = _says(*docker, "commit", "--change=ENV NVIDIA_VISIBLE_DEVICES=all", made).strip()
        assert _says(*docker, "run", "--rm", asking, "sh", "-c", LOOK) == SHOWN["nvidia-runtime"]
        assert engine.run(asking, RunSpec(argv=("sh", "-c", LOOK))).out == SHOWN["none"]
        command = engine.run_step(asking, ("sh", "-c", LOOK), "none").argv
        assert _says(*docker, *command[1:]) == SHOWN["none"]


def _says(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
