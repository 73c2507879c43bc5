"""Single files of an image, read from its layers without any engine."""

import io
import posixpath
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envbuild.errors import MachineError
from envbuild.io import oci
from envbuild.io.net import Net

_LINKS = 8  # hops that a link may take


class _Pieces(io.RawIOBase):
    """A file object over pieces of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401
        self._rest = self._rest or next((piece for piece in self._pieces if piece), b"")
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


def extract(ref: str, platform: str, wanted: tuple[str, ...], folder: Path, net: Net) -> None:
    """Write the wanted files of an image below ``folder``; links become copies.

    Args:
        ref: the image, pinned.
        platform: ``linux/amd64``.
        wanted: paths without a leading slash; one that ends in ``/`` is a whole folder.
        folder: where they go; nothing is written outside of it.
        net: mirror, CA.

    Raises:
        MachineError: the registry fails, or a layer is packed in a way that cannot be read.
        StaleError: a layer is not what its digest says.
    """
    manifest = oci.resolve(ref, platform, net)
    found: dict[str, bytes | str] = {}
    for media_type, digest in manifest.layers:
        pieces = oci.blob(manifest.reference, digest, net)
        _apply(pieces, media_type, wanted, found)
    for path in found:
        data = _follow(path, found)
        if data is not None:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


def _apply(
    pieces: Iterator[bytes],
    media_type: str,
    wanted: tuple[str, ...],
    found: dict[str, bytes | str],
) -> None:
    """Lay one layer over what was found in those below; a link's value is its target."""
    try:
        with tarfile.open(fileobj=io.BufferedReader(_Pieces(pieces)), mode="r|*") as tar:
            for member in tar:
                path = _inside(member.name)
                head, name = posixpath.split(path)
                if name.startswith(".wh."):
                    _white_out(head, name, found)
                elif not any(path == w or (w[-1] == "/" and path.startswith(w)) for w in wanted):
                    continue
                elif member.isreg():
                    file = tar.extractfile(member)
                    found[path] = file.read() if file else b""
                elif member.issym():
                    found[path] = _inside(posixpath.join("/", head, member.linkname))
                elif member.islnk():
                    found[path] = _inside(member.linkname)
    except tarfile.TarError as e:
        what = f"a layer of the base cannot be unpacked here ({media_type}): {e}"
        raise MachineError(what, fix="use an engine for the lock: --engine docker") from e
    for _ in pieces:  # the digest is checked at the end of the blob
        pass


def _inside(name: str) -> str:
    """The path below the root of the image that a name means; ``..`` ends at the root."""
    return posixpath.normpath("/" + name.lstrip("/"))[1:]


def _white_out(head: str, name: str, found: dict[str, bytes | str]) -> None:
    gone = head if name == ".wh..wh..opq" else posixpath.join(head, name.removeprefix(".wh."))
    for path in [p for p in found if p == gone or p.startswith(f"{gone}/")]:
        del found[path]


def _follow(path: str, found: dict[str, bytes | str]) -> bytes | None:
    for _ in range(_LINKS):
        entry = found.get(path)
        if not isinstance(entry, str):
            return entry
        path = entry
    return None
