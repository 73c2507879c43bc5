"""What a folder holds, as one hash, so that a changed file is noticed."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from envbuild.errors import MachineError
from envbuild.values.codec import Pairs


def contents(root: Path, keep: Callable[[str], bool] = lambda _: True) -> Pairs:
    """``path -> what it is`` for every file and link below ``root``, sorted by path.

    Args:
        root: the folder.
        keep: takes a path relative to ``root`` (with slashes); False leaves the file out.

    Raises:
        MachineError: a file cannot be read.
    """
    try:
        return Pairs(tuple((name, _what(root / name)) for name in sorted(_names(root, keep))))
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


def _what(path: Path) -> str:
    if path.is_symlink():
        return f"link {path.readlink()}"
    mode = "exe" if path.stat().st_mode & 0o111 else "file"
    sha = hashlib.sha256()
    with path.open("rb") as f:
        while block := f.read(1 << 20):
            sha.update(block)
    return f"{mode} {sha.hexdigest()}"
