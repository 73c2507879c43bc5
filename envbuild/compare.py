"""Two OCI archives side by side: which files differ, layer by layer."""

import hashlib
import json
import re
import tarfile
from collections.abc import Iterator
from typing import IO, NamedTuple

from envbuild.io.ociarchive import Archive, unpacked
from envbuild.values.reproduction import Difference

# What was measured to make two builds differ, by the files that it touches.
_CAUSES = (
    (r"\.pyc$", "compiled Python holds the time of its source: PYTHONDONTWRITEBYTECODE=1"),
    (r"^var/log/", "a log holds the time of the build: remove it in the step that writes it"),
    (r"^var/cache/ldconfig/aux-cache$", "ldconfig's cache holds inodes: remove it in that step"),
    (r"^var/(cache|lib)/apt/", "apt's caches hold times: remove them in the step that writes them"),
    (r"^var/(lib/dpkg|cache/debconf)/.*-old$", "a copy from before: remove it in that step"),
)
#: nvcc writes names of its temporary files, with its process id in them, into an executable.
_NVCC = b"tmpxft_"
_NVCC_SAYS = "nvcc left its process id in the symbols: strip it, or nvcc --keep --keep-dir DIR"


class _Entry(NamedTuple):
    """All that a layer says about one file; ``nvcc``: its temporary names are in it."""

    kind: str
    mode: int
    owner: tuple[int, int]
    mtime: float
    link: str
    device: tuple[int, int]
    extended: tuple[tuple[str, str], ...]
    sha256: str
    nvcc: bool


def differences(first: Archive, second: Archive) -> tuple[Difference, ...]:
    """Everything that differs, the lowest layer first; the config where all layers are equal."""
    found: list[Difference] = []
    if len(first.layers) != len(second.layers):
        counts = f"{len(first.layers)} / {len(second.layers)} layers"
        found.append(Difference(layer=0, step="", path="layers", what=(counts,)))
    with tarfile.open(first.path, "r:") as one, tarfile.open(second.path, "r:") as two:
        for number, (mine, theirs) in enumerate(zip(first.layers, second.layers, strict=False), 1):
            if mine.digest == theirs.digest:
                continue
            if mine.diff_id == theirs.diff_id:
                packed = "packed otherwise, the same bytes within"
                found.append(Difference(layer=number, step=mine.step, path="", what=(packed,)))
                continue
            a, b = (_entries(tar, layer.digest) for tar, layer in ((one, mine), (two, theirs)))
            found += _in_layer(number, mine.step, a, b)
    if not found and first.settings != second.settings:
        found += _in_config(first.settings, second.settings)
    return tuple(found)


def _entries(tar: tarfile.TarFile, digest: str) -> dict[str, _Entry]:
    found = {}
    with unpacked(tar, digest) as bare, tarfile.open(fileobj=bare, mode="r|") as layer:
        for member in layer:
            file = layer.extractfile(member) if member.isreg() else None
            sha256, nvcc = _content(file) if file else ("", False)
            found[member.name.rstrip("/")] = _Entry(
                member.type.decode("ascii", "replace"),
                member.mode,
                (member.uid, member.gid),
                member.mtime,
                member.linkname,
                (member.devmajor, member.devminor),
                tuple(sorted((k, v) for k, v in member.pax_headers.items() if "xattr" in k)),
                sha256,
                nvcc,
            )
    return found


def _content(file: IO[bytes]) -> tuple[str, bool]:
    seen, end, nvcc = hashlib.sha256(), b"", False
    while piece := file.read(1 << 20):
        seen.update(piece)
        nvcc = nvcc or _NVCC in end + piece
        end = piece[-len(_NVCC) :]
    return seen.hexdigest(), nvcc


def _in_layer(
    number: int, step: str, first: dict[str, _Entry], second: dict[str, _Entry]
) -> Iterator[Difference]:
    nothing = True
    for path in sorted({*first, *second}):
        mine, theirs = first.get(path), second.get(path)
        if mine == theirs:
            continue
        nothing = False
        what = _what(mine, theirs)
        why = _why(path, mine, theirs)
        yield Difference(layer=number, step=step, path=f"/{path}", what=what, why=why)
    if nothing:
        same = list(first) == list(second)
        form = "the headers of its tar" if same else "the order of its files"
        yield Difference(layer=number, step=step, path="", what=(form,))


def _what(mine: _Entry | None, theirs: _Entry | None) -> tuple[str, ...]:
    if mine is None or theirs is None:
        return ("only in the second" if mine is None else "only in the first",)
    pairs = (
        ("kind", mine.kind, theirs.kind),
        ("mode", f"{mine.mode:o}", f"{theirs.mode:o}"),
        ("owner", "{}:{}".format(*mine.owner), "{}:{}".format(*theirs.owner)),
        ("mtime", f"{mine.mtime:.0f}", f"{theirs.mtime:.0f}"),
        ("link", mine.link, theirs.link),
        ("device", str(mine.device), str(theirs.device)),
    )
    found = [f"{name} {a} / {b}" for name, a, b in pairs if a != b]
    found += ["attributes"] * (mine.extended != theirs.extended)
    return (*(["bytes"] * (mine.sha256 != theirs.sha256)), *found)


def _why(path: str, mine: _Entry | None, theirs: _Entry | None) -> str:
    if any(entry is not None and entry.nvcc for entry in (mine, theirs)):
        return _NVCC_SAYS
    return next((says for pattern, says in _CAUSES if re.search(pattern, path)), "")


def _in_config(first: bytes, second: bytes) -> Iterator[Difference]:
    mine, theirs = json.loads(first), json.loads(second)
    keys = [key for key in sorted({*mine, *theirs}) if mine.get(key) != theirs.get(key)]
    for key in keys or ["the order of its keys"]:
        yield Difference(layer=0, step="", path=key, what=("config",))
