"""What a command line ends with: the exit code and the words for each kind of fault."""

from pathlib import Path

import pytest

from envbuild.cli import show
from envbuild.cli.app import run
from envbuild.io import trace


def test_a_file_of_this_machine_is_no_bug_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run(["build", "--cc", "9.0", "--engine", "local", "--dry-run"]) == 4
    said = capsys.readouterr().err
    assert "No such file or directory" in said
    assert "is a bug" not in said


def test_a_flag_that_is_none_shows_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--nonsense", "--debug"]) == 2
    assert "--nonsense" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["build", "--cc", "9.0", "--lock", "x", "--no-lock"], "give one of them"),
        (["up", "--cc", "9.0", "--engine", "local", "--require", "moon"], "no suite moon"),
        (["build", "--cc", "9.0", "--engine", "local", "--target", "moon"], "no stage 'moon'"),
        (["up", "--cc", "9.0", "--engine", "local", "--tag", "A B"], "not an image reference"),
    ],
)
def test_nonsense_is_said_before_anything_is_done(
    argv: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(argv) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.lock"))


def test_a_finished_context_takes_no_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ctx").mkdir()
    (tmp_path / "ctx" / "Dockerfile").write_text("FROM scratch AS devel\n")
    assert run(["build", "ctx", "--cc", "9.0", "--engine", "local"]) == 2
    assert "finished context" in capsys.readouterr().err
    (tmp_path / "ctx" / "secret").symlink_to("/etc/hostname")
    assert run(["build", "ctx", "--engine", "local"]) == 2
    assert "leads out of the folder" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["-q", "-v"])
def test_what_one_run_was_told_of_its_output_is_not_told_to_the_next(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["build", "--cc", "9.0", "--toolkit-source", "wheels", "--engine", "local", "--dry-run"]
    assert run([*argv, flag, "--registry-mirror", "h:1"]) == 0
    capsys.readouterr()
    trace.say("asked")
    show.note("h:1 answers")
    assert capsys.readouterr().err == "h:1 answers\n"
