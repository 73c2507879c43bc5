"""Engine x access mode, with a stand-in device: what comes in, and that nothing comes unasked.

No GPU is here. The device is the null device under a made name (see ``standin/daemon.py``); what
is real is each engine's own way from our flags to a node and a variable inside the container.
"""

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
    "none": "variable= visible=\n",
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
def daemons() -> Iterator[dict[str, str]]:
    """The two dockers, each with the made parts of a container toolkit: name to address."""
    if os.geteuid() != 0:
        pytest.skip("starting a daemon needs root")
    newest = Path(service("ENVBUILD_TEST_NEWEST_BIN")).parent / "root/usr/sbin/dockerd"
    with (
        tempfile.TemporaryDirectory(prefix="eb-") as old,
        tempfile.TemporaryDirectory(prefix="eb-") as new,
        running(Path("/usr/sbin/dockerd"), "envbuild0", Path(old), cdi=False) as first,
        running(newest, "envbuild0", Path(new), cdi=True) as second,
    ):
        yield {"docker 20.10": first, "docker newest": second}


@pytest.fixture(scope="module")
def podman_spec() -> Iterator[None]:
    """Podman reads two fixed folders."""
    folder = Path("/var/run/cdi")
    if any(Path(d).glob("*") for d in ("/etc/cdi", folder) if Path(d).is_dir()):
        pytest.skip("this machine has CDI specifications of its own")
    folder.mkdir(exist_ok=True)
    file = folder / "envbuild-made.json"
    file.write_text(cdi_spec())
    yield
    file.unlink()


@pytest.fixture
def ready(
    request: pytest.FixtureRequest, base: str, registry: str, monkeypatch: pytest.MonkeyPatch
) -> Engine:
    """The engine, holding the base image."""
    name = request.param
    if name == "podman":
        request.getfixturevalue("podman_spec")
    else:
        addresses: dict[str, str] = request.getfixturevalue("daemons")
        monkeypatch.setenv("DOCKER_HOST", addresses[name])
        if name == "docker newest":
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
