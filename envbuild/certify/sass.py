"""Which targets a fatbin, cubin or program holds machine code for, read without any toolkit.

The container is not documented by its vendor; what is used here was measured: a header
(magic ``0xBA55ED50``), then entries of a header and a payload each, whose header names the kind
(1 PTX, 2 ELF), the target's number and, in its flags, whether the target is an 'a' or 'f' one
(nvcc 11.8, 12.4 and 13.0, compressed and not). A cubin says its number in ``e_flags``: in the
second byte from ABI version 8 on, before that in the lowest.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from envbuild.errors import InputError

_MAGIC = struct.pack("<I", 0xBA55ED50)
_HEADER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQ")
_ELF_MACHINE_CUDA = 190
_KIND_ELF = 2
_FLAG_SPECIFIC = 0x100000
_FLAG_FAMILY = 0x200000


class Entry(NamedTuple):
    """One image of a fatbin: its target (``90a``), its bytes as stored."""

    elf: bool
    target: str
    payload: bytes


def targets(data: bytes) -> tuple[str, ...]:
    """Real targets with machine code in ``data``: a fatbin, a cubin, or a program with fatbins.

    Raises:
        InputError: neither of them, or cut short.
    """
    if data[:4] == b"\x7fELF" and _machine(data) == _ELF_MACHINE_CUDA:
        return (_cubin_target(data),)
    found = dict.fromkeys(entry.target for entry in entries(data) if entry.elf)
    return tuple(found)


def lacking(data: bytes, kernel: str) -> tuple[str, ...]:
    """Targets whose machine code, where it is not compressed, holds no kernel of this name.

    Raises:
        InputError: as `targets` does.
    """
    if data[:4] == b"\x7fELF" and _machine(data) == _ELF_MACHINE_CUDA:
        found = [Entry(elf=True, target=_cubin_target(data), payload=data)]
    else:
        found = [e for e in entries(data) if e.elf and e.payload[:4] == b"\x7fELF"]
    name = b"\0" + kernel.encode() + b"\0"
    return tuple(entry.target for entry in found if name not in entry.payload)


def extract(data: bytes, target: str) -> bytes:
    """The cubin of one target.

    Raises:
        InputError: it is not there, or stored compressed.
    """
    for entry in entries(data):
        if entry.elf and entry.target == target and entry.payload[:4] == b"\x7fELF":
            return entry.payload
    what = f"this fatbin holds no plain machine code for sm_{target}"
    raise InputError(what, fix=f"it has {', '.join(targets(data))}")


def entries(data: bytes) -> Iterator[Entry]:
    """All images of all fatbins in ``data``.

    Raises:
        InputError: no fatbin in it, or cut short.
    """
    at = data.find(_MAGIC)
    if at < 0:
        what = "there is no device code in this file"
        raise InputError(what, fix="give a fatbin, a cubin or a program made by nvcc")
    while at >= 0:
        end = at
        try:
            _, _, size, length = _HEADER.unpack_from(data, at)
            end = at + size + length
            yield from _entries(data, at + size, end)
        except struct.error as e:
            what = "this fatbin ends too early"
            raise InputError(what, fix="it was cut: make it again") from e
        at = data.find(_MAGIC, end)


def _entries(data: bytes, at: int, end: int) -> Iterator[Entry]:
    if end > len(data):
        raise struct.error
    while at < end:
        kind, _, header, size, _, _, _, _, number, _, _, flags = _ENTRY.unpack_from(data, at)
        if header < _ENTRY.size or at + header + size > end:
            raise struct.error
        suffix = ""
        if flags & _FLAG_FAMILY:
            suffix = "f"
        elif flags & _FLAG_SPECIFIC:
            suffix = "a"
        payload = data[at + header : at + header + size]
        yield Entry(kind == _KIND_ELF, f"{number}{suffix}", payload)
        at += header + size


def _machine(data: bytes) -> int:
    return int(struct.unpack_from("<H", data, 18)[0]) if len(data) >= 64 else 0


def _cubin_target(data: bytes) -> str:
    flags = int(struct.unpack_from("<I", data, 48)[0])
    return str(flags >> 8 & 0xFF if data[8] >= 8 else flags & 0xFF)
