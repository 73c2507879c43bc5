"""``envbuild`` as a user starts it, and folders for it to build."""

import subprocess
import sys
from pathlib import Path

import pytest

CLI = (sys.executable, "-m", "envbuild")
ROOT = str(Path(__file__).resolve().parents[2])


def envbuild(env: dict[str, str], cwd: Path, *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*CLI, *argv], env=env, cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )


def folder(tmp_path: Path, base: str, *steps: str) -> Path:
    place = tmp_path / "made"
    place.mkdir(exist_ok=True)
    secret = "--mount=type=secret,id=ca,required=false"
    lines = [f"FROM {base}", *(f"RUN {secret} {step}" for step in steps)]
    (place / "Dockerfile").write_text("\n".join(lines) + "\n")
    return place


def private(env: dict[str, str]) -> list[Path]:
    return list(Path(env["TMPDIR"]).glob("envbuild-private-*"))


def start(env: dict[str, str], cwd: Path, *argv: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*CLI, *argv], env=env, cwd=cwd, text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )


def until(process: "subprocess.Popen[str]", text: str) -> None:
    """Read progress up to the line that holds ``text``."""
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"{text!r} never came")


def running(pid: int) -> int:
    """How many containers of this process there are."""
    argv = ["/usr/bin/docker", "ps", "--all", "--format", '{{.Label "envbuild.owner"}}']
    owners = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    return sum(f"/{pid}/" in owner for owner in owners)
