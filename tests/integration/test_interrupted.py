"""What an end, a kill or a lost terminal leaves: nothing half-written, and the next run resumes."""

import contextlib
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
