"""A context as a folder: whole or not at all, and never over a stranger's files."""

from pathlib import Path

import pytest

from envbuild.errors import InputError
from envbuild.render.context import render
from envbuild.render.folder import save
from tests.render import locks, plans

CONTEXT = render(plans.WHEELS, locks.WHEELS)


def held(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def test_a_new_folder_holds_the_context(tmp_path: Path) -> None:
    save(CONTEXT, tmp_path / "a" / "b")
    assert held(tmp_path / "a" / "b") == {file.path: file.data for file in CONTEXT.files}


def test_an_older_context_is_replaced_whole(tmp_path: Path) -> None:
    save(CONTEXT, tmp_path / "c")
    save(render(plans.IMAGE, locks.IMAGE), tmp_path / "c")
    assert "requirements.txt" not in held(tmp_path / "c")
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


def test_a_strangers_file_is_named_and_kept(tmp_path: Path) -> None:
    save(CONTEXT, tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt"):
        save(CONTEXT, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_strangers_readme_is_kept(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(InputError, match="no build context"):
        save(CONTEXT, tmp_path)
    assert held(tmp_path) == {"README.md": b"mine"}


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        save(CONTEXT, tmp_path / "f")


def test_not_the_folder_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="not ours"):
        save(CONTEXT, Path())
