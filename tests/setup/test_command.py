"""``envbuild setup``: kinds, formats, ``--check`` and what it refuses."""

import json
import os
from pathlib import Path

import pytest

from envbuild.cli.app import run
from envbuild.values.codec import dump
from tests.house.test_start_up import UNIX
from tests.house.test_start_up import run as fresh
from tests.setup.machines import FOLDER, machines

Cap = pytest.CaptureFixture[str]


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def host(name: str, folder: Path) -> str:
    path = folder / "host.json"
    path.write_bytes(dump(machines()[name]))
    return str(path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("windows-rtx4070", "wsl2"),
        ("wsl1", "wsl2"),
        ("wsl2-docker-desktop", "wsl2"),
        ("orin-r36.4", "jetson"),
        ("h200", "rented"),
        ("rtx5090-docker-cdi", "ubuntu"),
        ("gtx1080ti-no-driver", "debian"),
        ("rocky9-hopper", "rhel"),
        ("arch-pascal-590", "linux"),
    ],
)
def test_auto_takes_the_guide_of_the_machine(
    name: str, kind: str, tmp_path: Path, capsys: Cap
) -> None:
    assert run(["setup", "--host", host(name, tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == kind


@pytest.mark.parametrize("written", ["terminal", "markdown", "bash", "powershell"])
def test_a_format_goes_to_a_file_of_any_name(written: str, tmp_path: Path, capsys: Cap) -> None:
    file = tmp_path / 'it\'s a "guide" $(id) ü'
    argv = ["setup", "wsl2", "--cc", "6.1", "--format", written]
    assert run(argv) == 0
    shown = capsys.readouterr().out
    assert run([*argv, "-o", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert file.read_text(encoding="utf-8") == shown
    assert "580" in shown


def test_a_script_says_how_it_was_made(tmp_path: Path, capsys: Cap) -> None:
    path = host("ubuntu24-ready", tmp_path)
    argv = ["setup", "auto", "--host", path, "--with", "torch==2.8.0", "--engine", "docker"]
    assert run([*argv, "--format", "bash"]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert f"envbuild setup ubuntu --with torch==2.8.0 --host {path} --engine docker" in line


def test_a_guide_for_another_kind_of_machine_takes_nothing_of_this_one(
    tmp_path: Path, capsys: Cap
) -> None:
    argv = ["setup", "jetson", "--host", host("ubuntu24-ready", tmp_path), "--l4t", "36.4"]
    assert run([*argv, "--cc", "8.7", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "no case for the guide jetson" in err
    assert {s["state"] for s in json.loads(out)["sections"]} == {"unknown"}


def test_what_is_declared_for_a_named_kind_is_not_probed(capsys: Cap) -> None:
    assert run(["setup", "rhel", "--cc", "7.0", "--json"]) == 0
    guide = json.loads(capsys.readouterr().out)
    assert {s["state"] for s in guide["sections"]} == {"unknown"}
    assert "nothing of it was looked at" in " ".join(guide["about"])


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        (["setup", "wls2"], 2, "did you mean wsl2?"),
        (["setup", "--format", "bsh"], 2, "did you mean bash?"),
        (["setup", "--engine", "dokcer"], 2, "did you mean docker?"),
        (["setup", "--host", "HOST", "--check"], 2, "--check looks at this machine"),
        (["setup", "wsl2", "--cc", "3.7"], 3, "3.7"),
        (["setup", "wsl2", "--cc", "99.9"], 2, "not a compute capability"),
        (["setup", "--host", "/nonexistent"], 2, "cannot be read"),
    ],
)
def test_what_is_refused(
    argv: list[str], code: int, says: str, tmp_path: Path, capsys: Cap
) -> None:
    path = host("h200", tmp_path)
    assert run([path if word == "HOST" else word for word in argv]) == code
    out, err = capsys.readouterr()
    assert says in err
    assert out == ""


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made rented machine: driver 580 for a GTX 1080 Ti, a certificate, counters closed."""
    programs = tmp_path / "bin"
    program(programs, "nvidia-smi", "echo 580.95.05")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".envbuild").mkdir()
    proved = {"exit": 0, "suites": [{"name": "smoke", "required": True, "verdict": "pass"}]}
    (tmp_path / ".envbuild/certificate.json").write_text(json.dumps(proved, indent=2))
    return tmp_path


def test_check_passes_where_all_that_is_needed_holds(ready: Path, capsys: Cap) -> None:
    assert run(["setup", "rented", "--cc", "6.1", "--check"]) == 0
    out = capsys.readouterr().out
    assert "ok       The provider's driver serves the plan" in out
    assert "FAIL     The provider opens performance counters (for ncu) (only if you need it)" in out


def test_check_says_which_failed_and_ends_with_4(ready: Path, capsys: Cap) -> None:
    program(ready / "bin", "nvidia-smi", "echo 595.45.04")
    assert run(["setup", "rented", "--cc", "6.1", "--check"]) == 4
    out = capsys.readouterr().out
    assert "FAIL     The provider's driver is of R580 or older" in out
    assert "the card cannot be used there" in out
    assert run(["setup", "rented", "--cc", "6.1", "--check", "--json"]) == 4
    results = {one["id"]: one["ok"] for one in json.loads(capsys.readouterr().out)}
    assert results == {
        "driver": False,
        "local": True,
        "counters": False,
        "hold-provider": False,
    }


def test_check_changes_nothing(ready: Path) -> None:
    before = sorted(path.name for path in ready.rglob("*"))
    run(["setup", "rented", "--cc", "6.1", "--check"])
    assert sorted(path.name for path in ready.rglob("*")) == before


@pytest.mark.parametrize("written", ["terminal", "markdown", "bash", "powershell"])
def test_it_runs_on_the_python_of_windows(written: str) -> None:
    path = str(FOLDER / "windows-no-wsl.json")
    done = fresh(["setup", "--host", path, "--format", written], *UNIX)
    assert done.returncode == 0, done.stderr
    assert "blocked" not in done.stderr
    assert "WSL" in done.stdout
    if written == "terminal":
        assert "jinja2" not in done.stderr
