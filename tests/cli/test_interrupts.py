"""More than one signal: the second does not cut off what the first one's cleaning up does."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
        for number, mark in zip(signals, ("cleaning", "cleaning", "cleaning"), strict=False):
            process.send_signal(number)
            wait_for(cwd / mark)
        _, said = process.communicate(timeout=30)
    return process.returncode, said


@pytest.mark.parametrize(
    "signals",
    [
        (signal.SIGINT, signal.SIGINT),
        (signal.SIGTERM, signal.SIGHUP, signal.SIGINT),
    ],
)
def test_signals_that_come_together_are_one(
    signals: tuple[signal.Signals, ...], tmp_path: Path
) -> None:
    code, said = ended(tmp_path, 3.0, *signals)
    assert (code, said.count("interrupted")) == (130, 1)
    assert "Traceback" not in said
    assert (tmp_path / "clean").exists()


def test_who_insists_is_heard(tmp_path: Path) -> None:
    """The control, too: without the pause the second one cuts the cleaning up off."""
    code, said = ended(tmp_path, 0.0, signal.SIGTERM, signal.SIGTERM)
    assert (code, "Traceback" in said) == (130, False)
    assert not (tmp_path / "clean").exists()
