"""What integration tests need: the registry that plays the mirror, and each real engine.

``script/test-services up`` and ``script/newest-engine up`` start them; their ``env`` files say
where they are.
"""

import os
import platform
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.engines.base import Engine
from envbuild.engines.find import make as make_engine
from envbuild.io import files
from envbuild.io.net import Net
from envbuild.values.image import BuildContext, File, Image
from tests.integration.certifying import Make
from tests.integration.command import ROOT
from tests.integration.corridor import Cli, NewCli, walked
from tests.integration.standin.make import ensure

STATE = Path(os.environ.get("ENVBUILD_TEST_STATE", "/var/tmp/envbuild-test"))


def service(name: str) -> str:
    """A variable that a service's script left, from the environment or its file."""
    if value := os.environ.get(name):
        return value
    for file in (STATE / "env", STATE / "newest" / "env"):
        for line in file.read_text().splitlines() if file.is_file() else ():
            key, _, value = line.removeprefix("export ").partition("=")
            if key == name:
                return value
    missing = f"{name} is not set: script/test-services up"
    if os.environ.get("ENVBUILD_TEST_ENGINES") == "required":
        pytest.fail(missing)
    pytest.skip(missing)


@pytest.fixture(scope="session")
def registry() -> str:
    """``host:port`` of the mirror."""
    return service("ENVBUILD_TEST_REGISTRY")


@pytest.fixture(scope="session")
def base(registry: str) -> str:
    """A pinned reference, as a lock holds it, of a base that only the mirror serves."""
    request = urllib.request.Request(
        f"http://{registry}/v2/library/debian/manifests/bookworm-slim",
        headers={"Accept": "application/vnd.oci.image.manifest.v1+json"},
        method="HEAD",
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        digest = answer.headers["Docker-Content-Digest"]
    return f"docker.io/library/debian:bookworm-slim@{digest}"


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker is the newest engine that can be had."""
    monkeypatch.setenv("DOCKER_HOST", service("ENVBUILD_TEST_NEWEST"))
    folder = service("ENVBUILD_TEST_NEWEST_BIN")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.fixture(params=["docker", "newest", "podman"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Each real engine: the machine's docker, the newest docker, podman."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    if request.param == "newest":
        request.getfixturevalue("newest")
    name = "podman" if request.param == "podman" else "docker"
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return make_engine(name)


@pytest.fixture(scope="session")
def old_docker() -> str:
    """The machine's own docker client, which holds BuildKit."""
    return service("ENVBUILD_TEST_DOCKER")


@pytest.fixture(scope="session")
def new_cli(registry: str, old_docker: str, tmp_path_factory: pytest.TempPathFactory) -> NewCli:
    """Gives ``envbuild`` in a new, empty folder of a name."""
    return lambda name: Cli(tmp_path_factory.mktemp(name), registry, old_docker)


@pytest.fixture(scope="session")
def standin(registry: str, old_docker: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The mirror has the stand-ins for the vendor's image and its OS."""
    if platform.machine() != "x86_64":
        pytest.skip("the stand-in's compiler is for x86_64")
    # Those that run beside the others need them, too.
    with files.locked(STATE / "standin"):
        ensure(registry, old_docker, tmp_path_factory.mktemp("standin"))


@pytest.fixture(scope="session")
def distro(new_cli: NewCli) -> Iterator[Cli]:
    """The folder after ``up``: CUDA 12.4 for Pascal from Debian 13's own archive (5 GB)."""
    flags = ("--cc", "6.1", "--toolkit-source", "distro", "--base-os", "debian13")
    yield from walked(new_cli("distro"), *flags)


@pytest.fixture(scope="session")
def wheels(new_cli: NewCli) -> Iterator[Cli]:
    """The folder after ``up``: CUDA 13 for Hopper from wheels on Debian 12."""
    flags = ("--cc", "9.0", "--toolkit-source", "wheels", "--base-os", "debian12")
    yield from walked(new_cli("wheels"), *flags)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A machine without settings of its own; private folders go where the test can see them."""
    (tmp_path / "tmp").mkdir()
    own = {k: v for k, v in os.environ.items() if not k.startswith(("ENVBUILD_", "DOCKER_"))}
    return own | {"PYTHONPATH": ROOT, "TMPDIR": str(tmp_path / "tmp")}


@pytest.fixture
def mirror(registry: str, tmp_path: Path) -> tuple[str, ...]:
    ca = tmp_path / "ca.pem"
    ca.write_text("-----BEGIN CERTIFICATE-----\nTUFERQ==\n-----END CERTIFICATE-----\n")
    return ("--registry-mirror", registry, "--ca-cert", str(ca))


@pytest.fixture
def once() -> str:
    """A step that no cache holds."""
    return f"echo {os.urandom(8).hex()} > /once"


@pytest.fixture
def make(
    engine: Engine, base: str, registry: str, request: pytest.FixtureRequest
) -> Iterator[Make]:
    """Builds an image of a Dockerfile; ``extra`` are further files of its context."""
    made: list[str] = []

    def build(dockerfile: str, platform: str = "linux/amd64", **extra: bytes) -> Image:
        text = dockerfile.format(base=base, more="{more}") if "{more}" in dockerfile else dockerfile
        files = [File(path="Dockerfile", data=text.format(base=base, more="").encode())]
        files += [
            File(path=n.replace("__", "."), data=d, executable=True) for n, d in extra.items()
        ]
        uses_base = "{base}" in dockerfile
        context = BuildContext(
            files=tuple(files),
            platform=platform,
            base=base if uses_base else None,
            bases=(base,) if uses_base else (),
        )
        tag = f"envbuild-test/certify-{request.node.originalname.replace('_', '-')[5:40]}:1"
        made.append(tag)
        return engine.build(context, tag, Net(registry_mirror=registry, network="host"))

    yield build
    for tag in made:
        subprocess.run([engine.name, "image", "rm", tag], check=False, capture_output=True)
