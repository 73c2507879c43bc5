"""A folder's contents as one hash: every change is noticed, and nothing is read twice in vain."""

import hashlib
import os
from pathlib import Path

import pytest

from envbuild.engines import tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/nvcc").write_bytes(b"code")
    (tmp_path / "bin/nvcc").chmod(0o755)
    (tmp_path / "lib64").symlink_to("bin")
    return tmp_path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """One entry for each file that was read."""
    found: list[bool] = []
    make = hashlib.sha256

    def sha256() -> object:
        found.append(True)
        return make()

    monkeypatch.setattr(hashlib, "sha256", sha256)
    return found


def settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of this moment count as old ones."""
    monkeypatch.setattr(tree, "_SETTLED_NS", -1_000_000_000)


def test_what_is_known_is_not_read_again(
    folder: Path, read: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    known = tree.Known()
    first = tree.contents(folder, known=known)
    assert tree.contents(folder, known=known) == first
    assert len(read) == 1
    assert tree.contents(folder) == first
    assert len(read) == 2


def test_a_file_of_this_moment_is_read_each_time(folder: Path, read: list[bool]) -> None:
    known = tree.Known()
    assert tree.contents(folder, known=known) == tree.contents(folder, known=known)
    assert len(read) == 2


def test_a_change_under_the_same_size_and_time_is_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    known, nvcc = tree.Known(), folder / "bin/nvcc"
    before, then = tree.contents(folder, known=known), nvcc.stat()
    nvcc.write_bytes(b"edoc")
    os.utime(nvcc, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert nvcc.stat().st_mtime_ns == then.st_mtime_ns
    assert tree.changed(before, tree.contents(folder, known=known)) == ["bin/nvcc"]


def test_a_mode_and_a_link_are_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    known = tree.Known()
    before = tree.contents(folder, known=known)
    (folder / "bin/nvcc").chmod(0o644)
    (folder / "lib64").unlink()
    (folder / "lib64").symlink_to("lib")
    assert tree.changed(before, tree.contents(folder, known=known)) == ["bin/nvcc", "lib64"]


def test_a_file_in_the_place_of_another_is_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    known, nvcc = tree.Known(), folder / "bin/nvcc"
    before = tree.contents(folder, known=known)
    other = folder / "other"
    other.write_bytes(b"edoc")
    other.chmod(0o755)
    other.replace(nvcc)
    assert tree.changed(before, tree.contents(folder, known=known)) == ["bin/nvcc"]
