"""Folders that are gone, links, names in no encoding: what a command says of where it works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parents[2])
PLAN = ("plan", "--cc", "9.0", "--json")


def envbuild(
    cwd: Path | bytes, *argv: str | bytes, before: str = "", **env: str | None
) -> "subprocess.CompletedProcess[str]":
    """A command as a user starts it; ``before`` is run in its process first."""
    code = f"import os, sys\n{before}\nfrom envbuild.cli import main\nmain(sys.argv[1:])"
    own = {k: v for k, v in ({**os.environ, "PYTHONPATH": ROOT} | env).items() if v is not None}
    return subprocess.run(
        [sys.executable, "-c", code, *argv], cwd=cwd, env=own, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "link"),
    [
        (("build", "x", "--engine", "docker"), ".envbuild"),
        (("run", "x"), ".envbuild"),
        (("up", "--cc", "9.0"), ".envbuild"),
        (("render", "--cc", "9.0", "--no-lock"), ".envbuild"),
        (("certify", "x"), ".envbuild"),
        (("certify", "x"), ".envbuild/lock"),
        (("certify", "x"), ".envbuild/context"),
    ],
)
def test_a_workspace_that_leads_out_of_the_folder_is_refused(
    link: str, argv: tuple[str, ...], tmp_path: Path
) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    (work / link).parent.mkdir(parents=True)
    other.mkdir()
    target = other if link != ".envbuild/lock" else other / "not-there-yet"
    (work / link).symlink_to(target)
    done = envbuild(work, *argv)
    assert done.returncode == 2, done.stderr
    assert f"error {link} is a link that leads out of this folder" in done.stderr
    assert list(other.iterdir()) == []


def test_a_workspace_that_leads_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".envbuild").symlink_to(".envbuild")
    assert "is a link that leads out" in envbuild(tmp_path, "run", "x").stderr


def test_a_link_within_the_folder_is_no_way_out(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / ".envbuild").symlink_to("real")
    (tmp_path / "link").symlink_to(tmp_path)
    assert "leads out" not in envbuild(tmp_path / "link", "run", "x").stderr


@pytest.mark.parametrize(
    "argv",
    [
        ("render", "--cc", "9.0", "--no-lock", "-o", "c"),
        ("init", "--cc", "9.0"),
        ("up", "--cc", "9.0"),
        ("certify", "x"),
    ],
)
def test_a_folder_that_was_removed_is_said(argv: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = envbuild(tmp_path / "gone", *argv, before="os.rmdir(os.getcwd())")
    assert done.returncode == 4, done.stderr
    assert "error the folder that this was started in is gone" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_needs_no_folder_works_without_one(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = envbuild(tmp_path / "gone", *PLAN, before="os.rmdir(os.getcwd())")
    assert done.returncode == 0, done.stderr


def test_a_user_without_home_and_name(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    for argv in (PLAN, ("detect", "--json")):
        done = envbuild(tmp_path, *argv, before="os.getuid = lambda: 54321", HOME=None)
        assert done.returncode == 0, done.stderr


def test_names_in_no_encoding(tmp_path: Path) -> None:
    odd = os.path.join(os.fsencode(tmp_path), b"\xff\x1b[1m")  # noqa: PTH118
    os.mkdir(odd)  # noqa: PTH102
    assert envbuild(odd, *PLAN, "-o", b"p\xfe.json").returncode == 0
    rendered = envbuild(odd, "render", b"p\xfe.json", "--no-lock", "-o", b"c\xfe")
    assert rendered.returncode == 0, rendered.stderr
    assert (Path(os.fsdecode(odd + b"/c\xfe")) / "Dockerfile").is_file()
    for argv in (("plan", b"n\xfe.json"), ("plan", "--cc", b"\xfe"), ("verify", b"\xfe:1")):
        done = envbuild(odd, *argv)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert "\x1b" not in done.stderr


def test_nowhere_for_temporary_files(tmp_path: Path) -> None:
    none = "import tempfile; tempfile._candidate_tempdir_list = lambda: ['/proc/none']"
    before = f"{none}\nimport envbuild.io.workspace as w\nw.private_folder().__enter__()"
    done = envbuild(tmp_path, *PLAN, before=before)
    assert "MachineError: there is no folder for temporary files that can be written" in done.stderr
