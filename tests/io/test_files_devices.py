"""Devices and pipes are written to, never replaced, and not read without end."""

import os
import stat
import threading
from pathlib import Path

import pytest

from envbuild.errors import InputError
from envbuild.io import files


def test_a_pipe_gets_the_bytes_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    files.write(pipe, b"text")
    reader.join(10)
    assert got == [b"text"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_no_place_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        files.write(tmp_path, b"text")


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(InputError, match=r"^/dev/zero is too long: at most 67108864"):
        files.read("/dev/zero")
    assert files.read("/dev/null") == b""


def test_a_file_may_be_as_long_as_allowed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert files.read(path, 5) == b"12345"
    with pytest.raises(InputError, match="at most 4 bytes"):
        files.read(path, 4)
