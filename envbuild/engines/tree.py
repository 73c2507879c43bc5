"""What a folder holds, as one hash, so that a changed file is noticed."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from envbuild.errors import MachineError
from envbuild.values.codec import Pairs

_SETTLED_NS = 2_000_000_000  # no file system that is in use here stamps more coarsely


class Known:
    """Files that were read, each to be read again only if it may have changed since.

    The kernel stamps a file with every change of its bytes or mode (ctime), and no program can set
    that stamp. A file stamped just before it was read may change again under the same stamp: it is
    not kept.
    """

    def __init__(self) -> None:
        self._hashes: dict[tuple[int, ...], str] = {}

    def sha256(self, path: Path) -> str:
        """Hash of the file's bytes, in hex."""
        with path.open("rb") as f:
            stamp = _stamp(f.fileno())
            if found := self._hashes.get(stamp):
                return found
            settled = time.time_ns() - _SETTLED_NS
            sha = hashlib.sha256()
            while block := f.read(1 << 20):
                sha.update(block)
            if stamp == _stamp(f.fileno()) and stamp[-1] < settled:
                self._hashes[stamp] = sha.hexdigest()
        return sha.hexdigest()


def _stamp(file: int) -> tuple[int, ...]:
    s = os.fstat(file)
    return s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns


def contents(
    root: Path, keep: Callable[[str], bool] = lambda _: True, known: Known | None = None
) -> Pairs:
    """``path -> what it is`` for every file and link below ``root``, sorted by path.

    Args:
        root: the folder.
        keep: takes a path relative to ``root`` (with slashes); False leaves the file out.
        known: what was read before; None = nothing.

    Raises:
        MachineError: a file cannot be read.
    """
    known = known or Known()
    try:
        names = sorted(_names(root, keep))
        return Pairs(tuple((name, _what(root / name, known)) for name in names))
    except OSError as e:
        what = f"{e.filename or root} cannot be read: {e.strerror or e}"
        raise MachineError(what, fix="check its permissions") from e


def digest(listing: Pairs) -> str:
    """``sha256:...`` of such a listing."""
    lines = "".join(f"{what}  {name}\n" for name, what in listing)
    return "sha256:" + hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def changed(before: Pairs, after: Pairs) -> list[str]:
    """Paths that were added, removed or changed, sorted."""
    return sorted({name for name, _ in set(before) ^ set(after)})


def _names(root: Path, keep: Callable[[str], bool]) -> Iterator[str]:
    for folder, folders, files in os.walk(root, onerror=_fail):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in files + links:
            path = Path(folder, name).relative_to(root).as_posix()
            if keep(path):
                yield path


def _fail(error: OSError) -> None:
    raise error


def _what(path: Path, known: Known) -> str:
    if path.is_symlink():
        return f"link {path.readlink()}"
    mode = "exe" if path.stat().st_mode & 0o111 else "file"
    return f"{mode} {known.sha256(path)}"
