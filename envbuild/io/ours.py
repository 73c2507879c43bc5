"""Which images this user built here, kept apart from folders that could come from elsewhere."""

import contextlib
import os
import re
from pathlib import Path

from envbuild.errors import EnvbuildError
from envbuild.io import files


def _note(config: str) -> Path | None:
    """The file that stands for an image; None where this user has no home, or it is no digest."""
    said = os.environ.get("XDG_STATE_HOME", "")
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", config):
        return None
    try:
        root = Path(said) if Path(said).is_absolute() else Path.home() / ".local/state"
    except RuntimeError:
        return None
    return root / "envbuild/built" / config.partition(":")[2]


def remember(config: str) -> None:
    """Note that this user built the image of this config digest, where that can be written."""
    if note := _note(config):
        with contextlib.suppress(EnvbuildError, OSError):
            files.write(note, b"")


def built(config: str) -> bool:
    """Whether this user built it on this machine; a folder that was copied here says nothing."""
    note = _note(config)
    return note is not None and note.is_file()
