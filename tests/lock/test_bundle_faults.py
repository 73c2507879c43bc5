"""A bundle whose run was killed, met another one, or had no room: whole or said, never wrong."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.engines import bundled
from envbuild.values.codec import dump, load
from envbuild.values.lock import Lock
from tests.lock.server import Server, layer, publish, push
from tests.lock.test_bundle import NATIVE, PLAN, TOP

ROOT = Path(__file__).resolve().parents[2]
# Too long for a pipe: its writer is in the middle of it when we look.
LAYER = layer({"a": os.urandom(12 << 20)})


@pytest.fixture
def desk(tmp_path: Path, server: Server) -> dict[str, str]:
    """The environment of a machine that has a plan in its folder, and these archives."""
    push(server, "library/debian", "bookworm-slim", LAYER)
    publish(server, "/simple", TOP, NATIVE)
    (tmp_path / "plan.json").write_bytes(dump(PLAN))
    own = {k: v for k, v in os.environ.items() if not k.startswith(("ENVBUILD_", "DOCKER_"))}
    return own | {
        "PYTHONPATH": str(ROOT),
        "UV_NO_CACHE": "1",
        "ENVBUILD_REGISTRY_MIRROR": server.host,
        "ENVBUILD_INDEX_URL": f"http://{server.host}/simple",
    }


def start(desk: dict[str, str], cwd: Path, folder: Path) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-m", "envbuild", "lock", "plan.json", "--bundle", str(folder)]
    return subprocess.Popen(
        argv, cwd=cwd, env=desk, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def kept(desk: dict[str, str], cwd: Path, folder: Path) -> tuple[int, str]:
    """Exit code and what it said."""
    one = start(desk, cwd, folder)
    _, err = one.communicate(timeout=120)
    assert "Traceback" not in err
    return one.returncode, err


def whole(folder: Path) -> None:
    """It passes its own check, and nothing half-written lies in it."""
    lock = load(Lock, (folder / "envbuild.lock").read_bytes(), "lock")
    bundled.check(folder, lock)
    listed = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert not [name for name in listed if ".part" in name or ".fetch-" in name]


def digests(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("at", ["fetch     docker.io", "1/2", "2/2"])
def test_killed_while_it_fetches_the_next_run_gives_the_same_bundle(
    desk: dict[str, str], tmp_path: Path, at: str
) -> None:
    folder, other = tmp_path / "kept", tmp_path / "other"
    one = start(desk, tmp_path, folder)
    assert one.stderr is not None
    for line in one.stderr:
        if at in line:
            break
    else:
        pytest.fail(f"{at!r} never came")
    one.send_signal(signal.SIGKILL)
    one.communicate()
    assert not (folder / "bundle.json").exists()
    # What a kill in the middle of a file leaves, whether or not this one hit it there.
    for name in ("base/blobs/sha256/.0123.part", "wheels/.fetch-x/half.whl"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"half")
    for place in (folder, other):
        assert kept(desk, tmp_path, place)[0] == 0
        whole(place)
    assert digests(folder) == digests(other)


def test_two_at_once_wait_for_each_other(desk: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "a b" / "ü"
    runs = [start(desk, tmp_path, folder) for _ in range(3)]
    said = [one.communicate(timeout=120)[1] for one in runs]
    assert [one.returncode for one in runs] == [0, 0, 0], said
    assert sum("fetch     docker.io" in text for text in said) == 1
    whole(folder)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_said_and_with_room_it_goes_on(
    desk: dict[str, str], tmp_path: Path, small: Path
) -> None:
    code, err = kept(desk, tmp_path, small / "kept")
    assert (code, "No space left" in err) == (4, True), err
    assert not (small / "kept/bundle.json").exists()
    assert not list(small.rglob("*.part"))
    subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
    assert kept(desk, tmp_path, small / "kept")[0] == 0
    whole(small / "kept")


def test_a_place_that_cannot_be_written_is_said(desk: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to("not/there")
    for folder in ("file", "file/kept", "/proc/kept", "nowhere/kept"):
        code, err = kept(desk, tmp_path, Path(folder))
        assert (code, "cannot be opened" in err) == (4, True), err
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    assert kept(desk, tmp_path, Path("link/kept"))[0] == 0
    whole(tmp_path / "there/kept")
