"""Locks from the real world: a registry, Debian's archive, the public package index."""

import os
import shutil
import subprocess
from urllib.parse import urlsplit

import pytest

from envbuild.engines.base import Engine
from envbuild.errors import MachineError
from envbuild.io.net import Net
from envbuild.lock.apt import Closure, closure
from envbuild.lock.base import lock_base
from envbuild.lock.make import lock
from envbuild.lock.text import dump_lock
from envbuild.values.codec import replace
from envbuild.values.plan import Layout, Plan
from tests.render import plans

pytestmark = [pytest.mark.engine, pytest.mark.apart]

TARGETS = ("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages")
AMD = "linux/amd64"


def own_archive() -> str:
    """The Debian archive that this machine's apt uses, as a mirror to be asked."""
    found = subprocess.run(TARGETS, capture_output=True, text=True, check=True).stdout.split()
    return next(url for url in found if url.endswith("/debian/")).rstrip("/")


@pytest.fixture
def net(registry: str) -> Net:
    return Net(registry_mirror=registry)


def resolved(plan: Plan, net: Net, engine: Engine | None) -> Closure:
    base = lock_base(str(plan.image.ref), AMD, net)
    return closure(plan, f"{base.ref}@{base.digest}", AMD, net, engine)


def names(found: Closure) -> set[str]:
    return {package.name for package in found.packages}


@pytest.fixture(scope="module")
def here(registry: str) -> Closure:
    """The distro toolkit as this machine's apt resolves it in a root made of the base's files."""
    return resolved(plans.DISTRO, Net(registry_mirror=registry), None)


def test_the_private_root_is_of_the_bases_release(here: Closure) -> None:
    version = {package.name: package.version for package in here.packages}
    assert version["nvidia-cuda-toolkit"].startswith("12.4.131")
    assert version["g++-13"].startswith("13.")
    assert here.lines == ("trixie main contrib non-free",)


def test_every_engine_resolves_the_same(engine: Engine, net: Net, here: Closure) -> None:
    if not engine.probe().answers:
        pytest.skip("it does not answer")
    if engine.name == "docker" and "newest" in os.environ.get("DOCKER_HOST", ""):
        net = replace(net, network="host")
    assert resolved(plans.DISTRO, net, engine) == here


def test_no_driver_comes_along_and_without_the_placeholder_it_would(
    net: Net, here: Closure
) -> None:
    assert not names(here) & {"libcuda1", "libnvidia-ml1", "nvidia-alternative"}
    bare = Layout(components=plans.DISTRO.layout.components)
    dragged = resolved(replace(plans.DISTRO, layout=bare), net, None)
    assert {"libcuda1", "libnvidia-ml1"} <= names(dragged)


def test_this_machines_apt_settings_are_not_read(
    net: Net, here: Closure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APT_CONFIG", "/nonexistent/apt.conf")
    assert resolved(plans.DISTRO, net, None) == here


def test_a_mirror_serves_it_and_is_not_in_it(net: Net, here: Closure) -> None:
    archive = own_archive()
    found = resolved(plans.DISTRO, replace(net, apt_mirror=archive), None)
    assert found == here
    assert urlsplit(archive).netloc not in repr(found)


@pytest.mark.parametrize("mirror", ["http://127.0.0.1:1/debian", ""])
def test_a_mirror_that_does_not_serve_it_is_exit_4(net: Net, mirror: str) -> None:
    mirror = mirror or f"{own_archive()}-nowhere"
    with pytest.raises(MachineError):
        resolved(plans.DISTRO, replace(net, apt_mirror=mirror), None)


def test_a_package_that_is_nowhere_is_named(net: Net) -> None:
    with pytest.raises(MachineError, match="apt cannot say") as error:
        resolved(replace(plans.DISTRO, apt=("no-such-package",)), net, None)
    assert "no-such-package" in str(error.value)


def test_an_engine_that_fails_leaves_the_private_root(net: Net, here: Closure) -> None:
    assert resolved(plans.DISTRO, net, Broken()) == here  # type: ignore[arg-type]


def test_neither_way_says_what_the_engine_said(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envbuild.lock.ask.shutil.which", lambda _: None)
    with pytest.raises(MachineError, match="broken on purpose"):
        resolved(plans.DISTRO, net, Broken())  # type: ignore[arg-type]


class Broken:
    """An engine whose pulls fail (made)."""

    name = "docker"

    def pull(self, *_: object) -> None:
        raise MachineError("broken on purpose")


def test_a_whole_lock_of_wheels(net: Net) -> None:
    if shutil.which("apt-get") is None:
        pytest.skip("no apt-get here")
    net = replace(net, ca_cert=os.environ.get("SSL_CERT_FILE"))
    made = lock(plans.WHEELS, net)
    wheels = {wheel.name: wheel for wheel in made.wheels}
    assert wheels["nvidia-cuda-nvcc"].version == "13.0.88"
    assert wheels["nvidia-cuda-runtime"].version == "13.0.96"
    assert all(wheel.file.endswith(".whl") and len(wheel.sha256) == 64 for wheel in made.wheels)
    assert {package.name for package in made.apt} >= {"g++-12", "python3", "python3-venv"}
    text = dump_lock(made).decode()
    assert "://" not in text
    assert net.registry_mirror is not None
    assert net.registry_mirror not in text
    assert lock(plans.WHEELS, net) == made
