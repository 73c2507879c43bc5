"""Devices and pipes are written to, never replaced."""

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
