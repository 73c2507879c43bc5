"""What an end, a kill or a lost terminal leaves: nothing half-written, and the next run resumes."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envbuild.engines.base import RunSpec
from envbuild.engines.docker import DockerEngine
from envbuild.io.net import Net
from tests.integration.command import envbuild, folder, private, running, start, until

pytestmark = pytest.mark.engine


def _builders(place: str) -> list[str]:
    """Command lines of clients that still build from this test's private folders."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            text = file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if f"{place}/envbuild-private-" in text and "build" in text:
                found.append(text)
    return found


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_build_leaves_nothing_and_resumes(
    sig: signal.Signals, env: dict[str, str], tmp_path: Path, base: str,
    mirror: tuple[str, ...], once: str,
) -> None:  # fmt: skip
    argv = ("build", str(folder(tmp_path, base, once, "echo began; sleep 5")), *mirror)
    process = start(env, tmp_path, *argv)
    until(process, " began")
    assert private(env), "the control: while it builds, the secrets are on disk"
    process.send_signal(sig)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "interrupted" in err
    assert private(env) == []
    assert _builders(env["TMPDIR"]) == []
    assert not (tmp_path / ".envbuild/image.json").exists()
    again = envbuild(env, tmp_path, *argv)
    assert again.returncode == 0, again.stderr
    assert re.search(r"#\d+ CACHED", again.stderr), "the finished step is kept"


def test_a_killed_build_is_cleaned_up_by_the_next(
    env: dict[str, str], tmp_path: Path, base: str, mirror: tuple[str, ...], once: str
) -> None:
    argv = ("build", str(folder(tmp_path, base, once, "echo began; sleep 5")), *mirror)
    process = start(env, tmp_path, *argv)
    until(process, " began")
    process.kill()
    process.communicate(timeout=30)
    assert private(env), "the control: nobody could clean up"
    assert not (tmp_path / ".envbuild/image.json").exists()
    again = envbuild(env, tmp_path, *argv)
    assert again.returncode == 0, again.stderr
    assert re.search(r"#\d+ CACHED", again.stderr)
    assert private(env) == []
    for _ in range(100):
        if not _builders(env["TMPDIR"]):
            break
        time.sleep(0.1)
    assert _builders(env["TMPDIR"]) == []


def _podman(*argv: str) -> list[str]:
    done = subprocess.run(["podman", *argv], check=True, capture_output=True, text=True)
    return done.stdout.split()


def _left(place: str, mark: str) -> list[str]:
    """What of podman's has this mark: processes, temporary folders."""
    folders = [str(p) for p in Path(place).glob("buildah*/hosts") if mark in p.read_text()]
    found = subprocess.run(["pgrep", "-f", mark], check=False, capture_output=True, text=True)
    return found.stdout.split() + folders


def test_what_killed_builds_of_podman_leave_is_removed_and_strangers_stay(
    env: dict[str, str], tmp_path: Path, base: str, registry: str, once: str
) -> None:
    """Once the client alone is killed, and podman goes on; once both; a third lives meanwhile."""

    def begun(place: Path) -> "subprocess.Popen[str]":
        process = start(env, place, "build", str(slow), *mirror)
        until(process, "echo began")  # the command as podman shows it
        until(process, "began")
        return process

    before = set(_podman("ps", "--all", "--external", "--quiet"))
    mirror = ("--registry-mirror", registry, "--engine", "podman")
    slow = folder(tmp_path, base, once, "echo began; sleep 47.11")
    live_in = tmp_path / "live"
    live_in.mkdir()
    live = begun(live_in)
    kept = set(_podman("ps", "--all", "--external", "--quiet")) - before
    marks, stranger = [], list[str]()
    try:
        for both in (False, True):
            process = begun(tmp_path)
            mark = f".{process.pid}."
            marks.append(mark)
            argv = ["pgrep", "-f", rf"podman build .*\{mark}"]
            build = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
            process.kill()
            for pid in build if both else ():
                os.kill(int(pid), signal.SIGKILL)
            process.communicate(timeout=30)
            assert _left(env["TMPDIR"], mark), "the control: nobody could clean up"
        stranger = _podman(
            "create", "--network", "none", f"envbuild.local/base:{base.rpartition(':')[2]}", "true"
        )
        again = envbuild(env, tmp_path, "build", str(folder(tmp_path, base, once)), *mirror)
        assert again.returncode == 0, again.stderr
        assert [_left(env["TMPDIR"], mark) for mark in marks] == [[], []]
        now = set(_podman("ps", "--all", "--external", "--quiet"))
        assert now - before == kept | {one[:12] for one in stranger}, "and nothing of others"
        assert live.poll() is None
    finally:
        for one in stranger:
            _podman("rm", "--force", one)
        live.send_signal(signal.SIGTERM)
        live.communicate(timeout=30)
    assert set(_podman("ps", "--all", "--external", "--quiet")) <= before
    steps = subprocess.run(["pgrep", "-f", "sleep 47.11"], check=False, capture_output=True)
    assert steps.stdout == b""


def test_the_container_of_a_killed_run_is_removed_by_the_next(
    env: dict[str, str], tmp_path: Path, base: str, registry: str
) -> None:
    engine = DockerEngine()
    ref = engine.pull(base, Net(registry_mirror=registry)).ref
    code = (
        "from envbuild.engines.docker import DockerEngine\n"
        "from envbuild.engines.base import RunSpec\n"
        f"DockerEngine().run({ref!r}, RunSpec(argv=('sleep', '100')))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env=env)
    for _ in range(300):
        if running(process.pid):
            break
        time.sleep(0.1)
    assert running(process.pid) == 1
    engine.run(ref, RunSpec(argv=("true",)))
    assert running(process.pid) == 1, "the container of a living process is not touched"
    process.kill()
    process.wait()
    engine.run(ref, RunSpec(argv=("true",)))
    assert running(process.pid) == 0
