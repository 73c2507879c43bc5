"""More than one signal: the second does not cut off what the first one's cleaning up does."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envbuild.cli.app import run

ROOT = str(Path(__file__).resolve().parents[2])
WORK = """
import sys, time, typer
from pathlib import Path
from envbuild.cli import app, main
from envbuild.io import interrupts

interrupts.SAME = float(sys.argv[1])
one = typer.Typer(add_completion=False)

@one.command("plan")
def plan() -> None:
    try:
        Path("begun").touch()
        time.sleep(20)
    finally:
        Path("cleaning").touch()
        time.sleep(0.4)
        Path("clean").touch()

app.LazyGroup.get_command = lambda *_: typer.main.get_command(one)
main(["plan"])
"""


def wait_for(path: Path) -> None:
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.01)
    pytest.fail(f"{path.name} never came")


def ended(cwd: Path, same: float, *signals: signal.Signals) -> "tuple[int, str]":
    """The exit code, and what was said, of work that gets the second signal while it cleans up."""
    argv = [sys.executable, "-c", WORK, str(same)]
    env = os.environ | {"PYTHONPATH": ROOT}
    with subprocess.Popen(argv, cwd=cwd, env=env, stderr=subprocess.PIPE, text=True) as process:
        wait_for(cwd / "begun")
        for number in signals:
            process.send_signal(number)
            wait_for(cwd / "cleaning")
        _, said = process.communicate(timeout=30)
    return process.returncode, said


def test_signals_that_come_together_are_one(tmp_path: Path) -> None:
    signals = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    code, said = ended(tmp_path, 3.0, *signals)
    assert (code, said.count("interrupted")) == (130, 1)
    assert "Traceback" not in said
    assert (tmp_path / "clean").exists()


def test_who_insists_is_heard(tmp_path: Path) -> None:
    """The control, too: without the pause the second one cuts the cleaning up off."""
    code, said = ended(tmp_path, 0.0, signal.SIGTERM, signal.SIGTERM)
    assert (code, "Traceback" in said) == (130, False)
    assert not (tmp_path / "clean").exists()


ATTACHED = """
import sys
from envbuild.engines import common
from envbuild.io import interrupts

common.GRACE = float(sys.argv[2])
with interrupts.watch():
    sys.exit(common.attached(["sh", "-c", sys.argv[1]], {}))
"""


def attached(cwd: Path, script: str, *numbers: signal.Signals, grace: float = 9.0) -> int:
    """How ``run`` ends whose client does this when we alone get a signal."""
    script = f"{script}; sleep 20 & touch begun; wait; wait; exit 1"
    argv = [sys.executable, "-c", ATTACHED, script, str(grace)]
    env = os.environ | {"PYTHONPATH": ROOT}
    with subprocess.Popen(argv, cwd=cwd, env=env, stderr=subprocess.DEVNULL) as process:
        wait_for(cwd / "begun")
        time.sleep(0.3)  # until it waits for what it has started
        start = time.monotonic()
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.5)  # Python itself waits a quarter of one after a Ctrl-C
        process.wait(15)
    assert time.monotonic() - start < 10
    return process.returncode


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_tells_its_container(
    number: signal.Signals, tmp_path: Path
) -> None:
    assert attached(tmp_path, "trap 'kill $!; exit 7' TERM HUP", number) == 7


def test_a_container_that_does_not_end_is_not_waited_for(tmp_path: Path) -> None:
    # Python itself ends so after a KeyboardInterrupt that nobody caught.
    assert attached(tmp_path, "trap '' TERM", signal.SIGTERM, grace=0.2) in {130, -signal.SIGINT}


def test_ctrl_c_is_the_containers_own(tmp_path: Path) -> None:
    """The terminal gives it to both; here only we get it, and wait for what the other does."""
    script = "touch begun; sleep 1; exit 3"
    assert attached(tmp_path, script, signal.SIGINT) == 3


def test_ctrl_c_does_not_hide_an_end_that_follows(tmp_path: Path) -> None:
    script = "trap 'kill $!; exit 7' TERM"
    assert attached(tmp_path, script, signal.SIGINT, signal.SIGTERM) == 7


def test_who_calls_us_keeps_handlers_of_its_own() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    assert run(["matrix", "show", "--cc", "9.0"]) == 0
    after = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    assert after == before
