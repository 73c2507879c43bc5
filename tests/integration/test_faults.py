"""A client or a daemon that is killed, and a store that is full, while an archive is built.

The daemon is the newest docker, with a store of its own on a file system that can be made full.
"""

import os
import random
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.io.ociarchive import read
from tests.integration.command import ROOT, envbuild, private, start, until
from tests.integration.conftest import service
from tests.integration.daemon import Daemon, second

pytestmark = [pytest.mark.engine, pytest.mark.apart]

# The first is big enough to fill what is left of a disk; the second gives time to be killed in.
BIN = "/bin/busybox --install -s /bin"
STEPS = ("seq 1 2000000 > /numbers", "echo began; sleep 1; echo done > /done")


@pytest.fixture(scope="module")
def busybox(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A shell and its tools in one file, from Debian's own package: a base that packs at once."""
    place = tmp_path_factory.mktemp("busybox")
    fetch = ["apt-get", "download", "-o", "APT::Sandbox::User=root", "busybox-static"]
    subprocess.run(fetch, cwd=place, check=True, capture_output=True)
    package = next(place.glob("busybox-static_*.deb"))
    subprocess.run(["dpkg-deb", "-x", package, place / "x"], check=True)
    return next(place.glob("x/**/bin/busybox")).read_bytes()


def context(place: Path, busybox: bytes, *steps: str) -> str:
    """A folder that is built from nothing but that file."""
    made = place / "made"
    made.mkdir()
    (made / "busybox").write_bytes(busybox)
    (made / "busybox").chmod(0o755)
    runs = [f"RUN {step}" for step in (BIN, *steps)]
    lines = ["FROM scratch", "COPY busybox /bin/sh", "COPY busybox /bin/busybox", *runs]
    (made / "Dockerfile").write_text("\n".join(lines) + "\n")
    return str(made)


@pytest.fixture(scope="module")
def store() -> Path:
    """The folder of the daemon's store: 2 GB in memory."""
    place = Path(tempfile.mkdtemp(prefix="envbuild-fault-", dir="/var/tmp"))
    data = place / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", str(data)], check=True)
    return data


@pytest.fixture(scope="module")
def daemon(store: Path) -> Iterator[Daemon]:
    with second(Path(service("ENVBUILD_TEST_NEWEST_BIN")), store.parent) as found:
        yield found


@pytest.fixture
def machine(env: dict[str, str], daemon: Daemon) -> dict[str, str]:
    """The environment of a machine whose docker is that daemon."""
    bin_ = service("ENVBUILD_TEST_NEWEST_BIN")
    own = {"DOCKER_HOST": daemon.socket, "PATH": f"{bin_}:{env['PATH']}"}
    return env | own | {"ENVBUILD_NETWORK": "none"}


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory, busybox: bytes) -> Path:
    """What an undisturbed build of the same on another daemon gives."""
    place = tmp_path_factory.mktemp("control")
    own = {k: v for k, v in os.environ.items() if not k.startswith(("ENVBUILD_", "DOCKER_"))}
    bin_ = service("ENVBUILD_TEST_NEWEST_BIN")
    own |= {"DOCKER_HOST": service("ENVBUILD_TEST_NEWEST"), "PATH": f"{bin_}:{own['PATH']}"}
    own |= {"PYTHONPATH": ROOT}
    done = envbuild(own, place, "build", context(place, busybox, *STEPS), "-o", "image.tar")
    assert done.returncode == 0, done.stderr
    return place / "image.tar"


@pytest.fixture
def digest(control: Path) -> str:
    return read(control).manifest


def nothing_is_left(env: dict[str, str], cwd: Path) -> None:
    """No archive, no image, no secret; the build said that it failed."""
    left = {path.name for path in (cwd / ".envbuild").iterdir()} - {".gitignore", "lock"}
    assert left == set()
    assert not [path for path in cwd.iterdir() if "image.tar" in path.name]
    assert private(env) == []


def containers(daemon: Daemon) -> str:
    argv = [*daemon.client, "ps", "--all", "--quiet"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def test_a_client_that_is_killed_at_any_time(
    machine: dict[str, str], daemon: Daemon, digest: str, tmp_path: Path, busybox: bytes
) -> None:
    place = context(tmp_path, busybox, *STEPS)
    argv = ("build", place, "--reproduce", "-o", "image.tar")
    once = time.monotonic()
    first = start(machine, tmp_path, *argv)
    until(first, " began")
    until(first, "again")
    length = time.monotonic() - once
    for wait in (0.0, random.uniform(0, length)):  # noqa: S311
        time.sleep(wait)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        assert not (tmp_path / ".envbuild/image.json").exists()
        assert not (tmp_path / "image.tar").exists()
        first = start(machine, tmp_path, *argv)
    _, err = first.communicate(timeout=300)
    assert first.returncode == 0, err
    assert read(tmp_path / "image.tar").manifest == digest
    left = {path.name for path in (tmp_path / ".envbuild").iterdir()}
    assert left == {".gitignore", "lock", "image.json"}
    # One that was killed before its folder was held leaves it empty, for a minute.
    assert not [path for one in private(machine) for path in one.iterdir()]
    assert containers(daemon) == ""


def test_a_daemon_that_is_killed_in_a_step(
    machine: dict[str, str], daemon: Daemon, control: Path, tmp_path: Path, busybox: bytes
) -> None:
    other = (*STEPS[:1], STEPS[1].replace("done >", "done  >"))
    argv = ("build", context(tmp_path, busybox, *other), "-o", "image.tar")
    process = start(machine, tmp_path, *argv)
    until(process, " began")
    daemon.kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "Traceback" not in err
    nothing_is_left(machine, tmp_path)
    down = envbuild(machine, tmp_path, *argv)
    assert down.returncode == 4, down.stderr
    daemon.start()
    layer = read(control).layers[-1].digest
    again = envbuild(machine, tmp_path, *argv)
    assert again.returncode == 0, again.stderr
    assert re.search(r"#\d+ CACHED", again.stderr), "the finished step is kept"
    # Another text of a step, so that no cache had it, with the same effect.
    assert read(tmp_path / "image.tar").layers[-1].digest == layer
    assert (private(machine), containers(daemon)) == ([], "")


def test_a_store_that_is_full_when_the_archive_is_written(
    machine: dict[str, str],
    daemon: Daemon,
    store: Path,
    digest: str,
    tmp_path: Path,
    busybox: bytes,
) -> None:
    argv = ("build", context(tmp_path, busybox, *STEPS), "-o", "image.tar")
    process = start(machine, tmp_path, *argv)
    until(process, " began")
    until(process, "exporting")
    used = os.statvfs(store)
    size = (used.f_blocks - used.f_bfree) * used.f_frsize + (1 << 20)
    subprocess.run(["mount", "-o", f"remount,size={size}", str(store)], check=True)
    try:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 4, err
        assert "free some space" in err
        nothing_is_left(machine, tmp_path)
    finally:
        subprocess.run(["mount", "-o", "remount,size=2g", str(store)], check=True)
    again = envbuild(machine, tmp_path, *argv)
    assert again.returncode == 0, again.stderr
    assert read(tmp_path / "image.tar").manifest == digest


def test_two_at_once_in_one_odd_folder(
    machine: dict[str, str], digest: str, tmp_path: Path, busybox: bytes
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    odd = tmp_path / "a 'b\" ü $(id) \x1b[1m"
    odd.symlink_to(real)
    argv = ("build", context(tmp_path, busybox, *STEPS), "-o", "out/ é/image.tar")
    runs = [start(machine, odd, *argv) for _ in range(2)]
    said = [one.communicate(timeout=300)[1] for one in runs]
    assert [one.returncode for one in runs] == [0, 0], said
    assert sum("another envbuild works in" in text for text in said) == 1
    assert read(real / "out/ é/image.tar").manifest == digest


@pytest.mark.parametrize("at", ["workspace", "output"])
def test_no_room_for_the_archive(
    machine: dict[str, str], digest: str, tmp_path: Path, busybox: bytes, at: str
) -> None:
    place = context(tmp_path, busybox, *STEPS)
    small = tmp_path / "no room é"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)], check=True)
    try:
        cwd, out = (
            (small, "../image.tar") if at == "workspace" else (tmp_path, f"{small}/image.tar")
        )
        argv = ("build", place, "-o", out)
        done = envbuild(machine, cwd, *argv)
        assert done.returncode == 4, done.stderr
        assert "Traceback" not in done.stderr
        assert not list(tmp_path.rglob("*image.tar*"))
        assert not (cwd / ".envbuild/archives").exists()
        subprocess.run(["mount", "-o", "remount,size=1g", str(small)], check=True)
        again = envbuild(machine, cwd, *argv)
        assert again.returncode == 0, again.stderr
        assert read(cwd / out).manifest == digest
    finally:
        subprocess.run(["umount", str(small)], check=True)
