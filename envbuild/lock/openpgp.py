"""The fingerprint of an OpenPGP public key, so that a file can be held against a pinned one."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator

from envbuild.errors import MachineError, StaleError

_ARMOR = re.compile(rb"-----BEGIN PGP PUBLIC KEY BLOCK-----(.*?)-----END PGP", re.DOTALL)
_PRIMARY_KEY = 6  # packet tag, RFC 9580


def check(data: bytes, fingerprint: str, name: str) -> None:
    """A key file holds the pinned key and no other primary key.

    Args:
        data: the file.
        fingerprint: 40 hex digits.
        name: what the error calls the file.

    Raises:
        MachineError: it is no key, or a cut one: somebody else's would be whole.
        StaleError: it holds another key, or several.
    """
    try:
        found, why = fingerprints(data), "it holds no primary key"
    except (ValueError, IndexError) as e:
        found, why = (), str(e)
    if not found:
        what = f"{name} is not an OpenPGP key"
        fix = "a proxy or a login page may have answered: check the network and the mirror"
        raise MachineError(what, why=why, fix=fix)
    if found != (fingerprint.upper(),):
        what = f"{name} is not the key that the matrices pin"
        why = f"it holds {', '.join(found)}; pinned is {fingerprint}"
        raise StaleError(
            what, why=why, fix="trust no other key; after a real rotation the row must change"
        )


def fingerprints(data: bytes) -> tuple[str, ...]:
    """The fingerprints (upper-case hex) of the primary keys of version 4 in an armored file.

    Raises:
        ValueError: a key is cut, or of another version.
    """
    found = []
    raw = b"".join(_unarmored(block) for block in _ARMOR.findall(data))
    for tag, body in _packets(raw):
        if tag == _PRIMARY_KEY:
            if body[0] != 4:
                what = f"a key of version {body[0]}"
                raise ValueError(what)
            framed = b"\x99" + len(body).to_bytes(2, "big") + body
            found.append(hashlib.sha1(framed, usedforsecurity=False).hexdigest().upper())
    return tuple(found)


def _unarmored(block: bytes) -> bytes:
    # Headers end with an empty line; the line that starts with "=" is a checksum.
    _, _, body = block.replace(b"\r", b"").strip(b" ").partition(b"\n\n")
    lines = [line for line in body.split(b"\n") if not line.startswith(b"=")]
    try:
        return base64.b64decode(b"".join(lines), validate=True)
    except binascii.Error as e:
        raise ValueError(str(e)) from e


def _packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and body of each packet, in both header formats."""
    at = 0
    while at < len(data):
        head = data[at]
        if head & 0x80 == 0:
            what = "it has no packet where one should be"
            raise ValueError(what)
        tag, at, size = _header(data, at + 1, head)
        if at + size > len(data):
            what = "it is cut"
            raise ValueError(what)
        yield tag, data[at : at + size]
        at += size


def _header(data: bytes, at: int, head: int) -> tuple[int, int, int]:
    """Tag, offset and size of a body; keys have no bodies of unknown length."""
    if head & 0x40:
        first = data[at]
        if first < 192:
            return head & 0x3F, at + 1, first
        if first < 224:
            return head & 0x3F, at + 2, ((first - 192) << 8) + data[at + 1] + 192
        if first == 255:
            return head & 0x3F, at + 5, int.from_bytes(data[at + 1 : at + 5], "big")
    elif head & 3 != 3:
        width = 1 << (head & 3)
        return (head >> 2) & 0xF, at + width, int.from_bytes(data[at : at + width], "big")
    what = "a packet of unknown length"
    raise ValueError(what)
