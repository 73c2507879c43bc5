"""Unpack a toolkit's archives, each checked against its hash, into one prefix.

It runs as a program inside a build, too, with any Python from 3.8 on and nothing beside it:
``unpack.py LIST FOLDER PREFIX``. A line of LIST is ``sha256 path``; FOLDER holds the files by
their last names. A redist archive is a tar with one folder in it; a conda package is a zip of
zstd tars (``.conda``) or a tar (``.tar.bz2``), whose ``info/`` is about the package.
"""

# ruff: noqa: EM102, PTH115 (short texts, and Path.readlink is of Python 3.9)

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import json
import os
import posixpath
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

_BLOCK = 1 << 20
# Members that stand in each other's way, or name what is not there: the archive's own fault.
_CLASH = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError)


class Refused(Exception):
    """An archive that is not the locked one, or that must not be unpacked."""


def main(argv: list[str]) -> int:
    """Unpack what the list names, in its order; 1 and a line of text where one is refused."""
    listed, folder, prefix = map(Path, argv)
    rows = [line.split() for line in listed.read_text(encoding="ascii").splitlines() if line]
    try:
        unpack([(folder / path.split("/")[-1], sha256) for sha256, path in rows], prefix)
    except Refused as e:
        sys.stderr.write(f"REFUSED: {e}\n")
        return 1
    return 0


def unpack(files: Iterable[tuple[Path, str]], prefix: Path) -> None:
    """Lay archives over each other in a new prefix, which is made whole or not at all.

    Args:
        files: each archive and its sha256 (hex), in order.
        prefix: the folder; what it will be called is written into files that want to know.

    Raises:
        Refused: a hash differs, a file is no archive, something in it leads out of the prefix, or
            two archives hold different files of one name.
        OSError: no space, no permission, or the prefix is there.
    """
    prefix.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpack-", dir=str(prefix.parent)) as name:
        work = Path(name).resolve()
        whole = work / "whole"
        whole.mkdir(mode=0o755)
        for path, sha256 in files:
            check(path, sha256)
            part = work / "part"
            part.mkdir()
            try:
                kind = _conda if path.name.endswith((".conda", ".tar.bz2")) else _redist
                _merge(kind(path, part, prefix.absolute()), whole)
            except _CLASH as e:
                clash = f"cannot be unpacked: {e.strerror}: {Path(e.filename).name}"
                raise _refused(path.name, clash) from e
            except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as e:
                if isinstance(e, OSError) and e.errno is not None:
                    raise
                raise _refused(path.name, f"cannot be unpacked: {e}") from e
            except Refused as e:
                raise _refused(path.name, str(e)) from None
            shutil.rmtree(str(part))
        _check_links(whole)
        _link_lib64(whole)
        whole.rename(prefix)


def check(path: Path, sha256: str) -> None:
    """The file has this hash (hex); Refused where it has another."""
    digest = hashlib.sha256()
    with path.open("rb") as f:
        for block in iter(lambda: f.read(_BLOCK), b""):
            digest.update(block)
    if digest.hexdigest() != sha256:
        raise _refused(path.name, f"has sha256 {digest.hexdigest()}, and {sha256} is locked")


def _refused(name: str, why: str) -> Refused:
    return Refused(f"{name} {why}")


def _redist(path: Path, folder: Path, prefix: Path) -> Path:
    """The one folder in a vendor's archive; its licences lie apart from those of other parts."""
    del prefix  # nothing in these archives knows where it is
    with tarfile.open(str(path), "r|*") as tar:
        _extract(tar, folder)
    inside = list(folder.iterdir())
    if len(inside) != 1 or not inside[0].is_dir():
        raise Refused(f"holds not one folder, but {', '.join(sorted(p.name for p in inside))}")
    _keep(sorted(inside[0].glob("LICENSE*")), inside[0], path.name.split("-")[0])
    return inside[0]


def _conda(path: Path, folder: Path, prefix: Path) -> Path:
    """The files of a conda package, made for this prefix; its licences lie apart."""
    if path.name.endswith(".conda"):
        for kind in ("pkg", "info"):
            member = f"{kind}-{path.name[: -len('.conda')]}.tar.zst"
            packed = folder.parent / "packed"
            with (
                _zstd_member(path, member, packed) as stream,
                tarfile.open(fileobj=stream, mode="r|") as tar,
            ):
                _extract(tar, folder)
    else:
        with tarfile.open(str(path), "r|bz2") as tar:
            _extract(tar, folder)
    info = folder / "info"
    try:
        for entry in _said(info / "paths.json").get("paths", ()):
            if "prefix_placeholder" in entry:
                _rewrite(folder, entry, prefix)
    except (AttributeError, KeyError, TypeError) as e:
        raise Refused("says nothing of use in info/paths.json") from e
    _keep(sorted(info.glob("licenses/*")), folder, str(_said(info / "index.json").get("name")))
    shutil.rmtree(str(info))
    return folder


def _said(path: Path) -> dict[str, Any]:
    """What a conda package says of itself in one file."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as e:
        raise Refused(f"has no readable info/{path.name}") from e
    if not isinstance(found, dict):
        raise Refused(f"says nothing in info/{path.name}")
    return found


@contextlib.contextmanager
def _zstd_member(path: Path, member: str, packed: Path) -> Iterator[IO[bytes]]:
    """A zstd member of a zip, unpacked by the program zstd: Python before 3.14 cannot."""
    with zipfile.ZipFile(str(path)) as archive:
        if member not in archive.namelist():
            raise Refused(f"has no {member}")
        with archive.open(member) as source, packed.open("wb") as f:
            shutil.copyfileobj(source, f, _BLOCK)
    argv = ["zstd", "--decompress", "--stdout", "--quiet", str(packed)]
    try:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE)
    except FileNotFoundError:
        raise Refused("needs the program zstd, which is not here") from None
    with process:
        assert process.stdout is not None  # noqa: S101
        yield process.stdout
        process.stdout.read()
    packed.unlink()
    if process.returncode:
        raise Refused(f"is damaged in {member}")


def _rewrite(folder: Path, entry: dict[str, str], prefix: Path) -> None:
    """Put this prefix where the package's builder had its own; in text alone."""
    path = folder / _inside(entry["_path"])
    if entry.get("file_mode", "text") != "text":
        raise Refused(f"has the prefix of its builder inside the program {entry['_path']}")
    if path.is_symlink():
        raise Refused(f"wants text changed in the link {entry['_path']}")
    data = path.read_bytes()
    path.write_bytes(data.replace(entry["prefix_placeholder"].encode(), str(prefix).encode()))


def _keep(licenses: list[Path], top: Path, name: str) -> None:
    """Move licence files to where those of other parts do not lie over them."""
    target = top / "licenses" / _inside(name)
    for path in licenses:
        target.mkdir(parents=True, exist_ok=True)
        path.rename(target / path.name)


def _inside(name: str) -> str:
    """A path of an archive, if it stays in its folder."""
    path = posixpath.normpath(name)
    if path.startswith("/") or path.split("/")[0] == "..":
        raise Refused(f"holds {name!r}, which leads out of the prefix")
    return path


def _place(folder: Path, name: str) -> Path:
    """Where a member lies; nothing is written or linked to through a link, wherever that leads."""
    path = folder / _inside(name)
    if path != folder and _end(path.parent) != path.parent:
        raise Refused(f"holds {name!r} below a link")
    return path


def _end(path: Path) -> Path:
    """Where links lead; a loop of links leads nowhere, and is its own end."""
    return Path(os.path.realpath(str(path)))


def _extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Files, folders and links of a tar, none of them outside the folder; owners are not kept."""
    for member in tar:
        path = _place(folder, member.name)
        if path == folder:
            continue
        (path if member.isdir() else path.parent).mkdir(parents=True, exist_ok=True)
        if member.isreg():
            source = tar.extractfile(member)
            assert source is not None  # noqa: S101
            with source, path.open("xb") as f:
                shutil.copyfileobj(source, f, _BLOCK)
            path.chmod(0o755 if member.mode & 0o111 else 0o644)
        elif member.issym():
            path.symlink_to(member.linkname)
        elif member.islnk():
            os.link(str(_place(folder, member.linkname)), str(path), follow_symlinks=False)
        elif not member.isdir():
            raise Refused(f"holds {member.name!r}, which is neither file, folder nor link")


def _merge(source: Path, target: Path) -> None:
    """Move a part into the prefix; a file that two parts hold must be the same in both."""
    target.mkdir(exist_ok=True)
    for new in sorted(source.iterdir()):
        old = target / new.name
        if new.is_dir() and not new.is_symlink():
            if old.is_symlink() or (old.exists() and not old.is_dir()):
                raise Refused(f"holds the folder {new.name!r}, which is a file in another part")
            _merge(new, old)
        elif not (old.exists() or old.is_symlink()):
            new.rename(old)
        elif not _same(new, old):
            raise Refused(f"holds another {new.name!r} than a part before it")


def _same(one: Path, other: Path) -> bool:
    if one.is_symlink() and other.is_symlink():
        return os.readlink(str(one)) == os.readlink(str(other))
    plain = one.is_file() and other.is_file() and not (one.is_symlink() or other.is_symlink())
    return plain and filecmp.cmp(str(one), str(other), shallow=False)


def _check_links(whole: Path) -> None:
    """No link of the prefix leads out of it, by however many hops."""
    for path in sorted(whole.rglob("*")):
        if path.is_symlink():
            end = _end(path)
            if end != whole and whole not in end.parents:
                where = path.relative_to(whole)
                raise _refused(str(where), f"is a link to {os.readlink(str(path))!r}, outside")


def _link_lib64(whole: Path) -> None:
    """Nvcc and build tools look in ``lib64``; these archives have ``lib`` or ``targets/*/lib``."""
    homes = [*sorted(whole.glob("targets/*/lib")), whole / "lib"]
    home = next((home for home in homes if home.is_dir()), None)
    if home and not (whole / "lib64").exists():
        (whole / "lib64").symlink_to(home.relative_to(whole))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
