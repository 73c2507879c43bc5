"""Streams as shells and schedulers give them: closed, full, cut, without Unicode."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envbuild.errors import InputError
from envbuild.io import files

PLAN = ("plan", "--cc", "6.1")


def shell(redirections: str, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    """``envbuild ARGV`` with the redirections of a shell line; ``$?`` of it is the exit code."""
    script = f'"$0" -m envbuild "$@" {redirections}'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script, sys.executable, *argv],
        capture_output=True,
        text=True,
        env=os.environ | env,
        check=False,
    )


@pytest.mark.parametrize("argv", [PLAN, (*PLAN, "--json"), ("--help",), ("--version",)])
@pytest.mark.parametrize("redirections", ["| true", "2>&1 | head -c 1"])
def test_a_reader_that_goes_away_is_no_error(argv: tuple[str, ...], redirections: str) -> None:
    done = shell(redirections, *argv)
    assert done.returncode == 0
    assert not done.stderr


@pytest.mark.parametrize("argv", [PLAN, (*PLAN, "--json"), ("--help",), ("--version",)])
@pytest.mark.parametrize("redirections", [">&-", ">&- 2>&-", ">&- 2>&- <&-"])
def test_a_result_that_nobody_can_have_is_exit_4(argv: tuple[str, ...], redirections: str) -> None:
    """Not as `| head`, who had what it wanted: this result was never given to anybody."""
    done = shell(redirections, *argv)
    assert done.returncode == 4
    if "2>" not in redirections:
        assert "cannot be written: standard output is closed" in done.stderr
        assert "Traceback" not in done.stderr


def test_an_error_keeps_its_code_on_a_closed_output() -> None:
    assert shell(">&-", "plan", "--cc", "99").returncode == 2


def test_what_only_writes_files_needs_no_output(tmp_path: Path) -> None:
    made = tmp_path / "lock.json"
    assert shell(">&-", "init", "--cc", "6.1", "-o", str(made)).returncode == 4
    assert made.is_file()


@pytest.mark.parametrize("command", ["init"])
def test_a_dash_is_standard_output(command: str, tmp_path: Path) -> None:
    done = shell(f"-o - > {tmp_path}/out", command, "--cc", "6.1")
    assert done.returncode == 0
    assert 'cc: "6.1"' in (tmp_path / "out").read_text()
    again = tmp_path / "again.yaml"
    again.write_bytes((tmp_path / "out").read_bytes())
    assert shell("", "plan", str(again)).returncode == 0
    assert not Path("-").exists()
    assert shell("-o - --json", command, "--cc", "6.1").returncode == 2
    assert shell("-o - > /dev/full", command, "--cc", "6.1").returncode == 4


@pytest.mark.parametrize("argv", [("render", "--no-lock", "--cc", "8.6")])
def test_a_dash_that_makes_no_sense_is_exit_2(argv: tuple[str, ...], tmp_path: Path) -> None:
    done = shell("", *argv, "-o", "-")
    assert done.returncode == 2
    assert "- is standard output" in done.stderr
    with pytest.raises(InputError, match="- is standard output"):
        files.write("-", b"x")


def test_an_exit_code_outlives_the_reader() -> None:
    assert shell("2>&1 | true", "plan", "--cc", "99").returncode == 2
    assert shell("| true", "plan", "--cc", "6.1", "--cuda", "13").returncode == 3


@pytest.mark.parametrize("argv", [PLAN, (*PLAN, "--json"), ("--help",), ("plan", "--help")])
def test_a_full_disk_behind_the_result_is_exit_4(argv: tuple[str, ...]) -> None:
    done = shell("> /dev/full", *argv)
    assert done.returncode == 4
    assert "No space left" in done.stderr


def test_a_full_disk_behind_the_notes_costs_the_notes_alone() -> None:
    assert shell("2> /dev/full", *PLAN).returncode == 0
    assert shell("2> /dev/full", "nonsense").returncode == 2


def test_a_terminal_without_unicode_gets_the_rest() -> None:
    done = shell("", *PLAN, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.startswith("ok  CUDA 12.9")


def test_standard_input_that_is_closed_is_empty() -> None:
    done = shell("<&-", "lock", "-")
    assert done.returncode == 2
    assert "is not JSON" in done.stderr


@pytest.mark.parametrize(("flag", "said"), [("-v", True), ("-q", False), ("--json", False)])
def test_verbose_shows_what_is_asked(flag: str, said: bool) -> None:
    argv = ("lock", "--cc", "9.0", "--toolkit-source", "wheels", "--registry-mirror", "127.0.0.1:9")
    done = shell("", *argv, flag, ENVBUILD_PROBE_TIMEOUT="20")
    assert done.returncode == 4
    assert ("GET registry-mirror/v2/library/" in done.stderr) == said
    assert "$ " not in done.stdout


def test_quiet_leaves_results_and_errors() -> None:
    argv = ("build", "--cc", "9.0", "--toolkit-source", "wheels", "--engine", "local", "--dry-run")
    assert "engine " in shell("", *argv).stderr
    done = shell("", *argv, "-q")
    assert done.returncode == 0
    assert done.stdout
    assert not done.stderr


@pytest.mark.parametrize("command", ["build", "up"])
def test_a_dry_run_for_programs_is_json(command: str) -> None:
    argv = (command, "--cc", "9.0", "--toolkit-source", "wheels", "--engine", "local", "--dry-run")
    steps = json.loads(shell("", *argv, "--json").stdout)
    assert all(step["why"] and (step.get("argv") or step.get("text")) for step in steps)


@pytest.mark.parametrize("form", ["--json", "-v"])
def test_a_dry_run_shows_no_login(form: str, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        "FROM scratch AS devel\nRUN --mount=type=secret,id=pip_conf true\n"
    )
    index = "https://someone:s3cret@index.example/simple"
    argv = ("build", str(tmp_path), "--engine", "podman", "--dry-run", form, "--index-url", index)
    done = shell("", *argv, PATH=f"{fake_podman(tmp_path)}:{os.environ['PATH']}")
    assert done.returncode == 0
    assert "index.example/simple" in done.stdout
    assert "s3cret" not in done.stdout + done.stderr
    assert "someone" not in done.stdout + done.stderr


def fake_podman(folder: Path) -> Path:
    """Made: a client that only says its version, which is all that a dry run asks."""
    place = folder / "bin"
    place.mkdir()
    (place / "podman").write_text("#!/bin/sh\necho podman version 4.3.1\n")
    (place / "podman").chmod(0o755)
    return place
