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

MAGIC = struct.pack("<I", 0xBA55ED50)
HEADER = struct.Struct("<IHHQ")
ENTRY = struct.Struct("<HHIQIIHHIIIQ")
ELF_MACHINE_CUDA = 190
KIND_PTX, KIND_ELF = 1, 2
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
    if data[:4] == b"\x7fELF" and _machine(data) == ELF_MACHINE_CUDA:
        return (cubin_target(data),)
    found = dict.fromkeys(entry.target for entry in entries(data) if entry.elf)
    return tuple(found)


def lacking(data: bytes, kernel: str) -> tuple[str, ...]:
    """Targets whose machine code holds no kernel of this name; compressed code shows none.

    Raises:
        InputError: as `targets` does.
    """
    if data[:4] == b"\x7fELF" and _machine(data) == ELF_MACHINE_CUDA:
        found = [Entry(elf=True, target=cubin_target(data), payload=data)]
    else:
        found = [entry for entry in entries(data) if entry.elf]
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
    at = data.find(MAGIC)
    if at < 0:
        what = "there is no device code in this file"
        raise InputError(what, fix="give a fatbin, a cubin or a program made by nvcc")
    while at >= 0:
        end = at
        try:
            _, _, size, length = HEADER.unpack_from(data, at)
            end = at + size + length
            yield from _entries(data, at + size, end)
        except struct.error as e:
            what = "this fatbin ends too early"
            raise InputError(what, fix="it was cut: make it again") from e
        at = data.find(MAGIC, end)


def _entries(data: bytes, at: int, end: int) -> Iterator[Entry]:
    if end > len(data):
        raise struct.error
    while at < end:
        kind, _, header, size, _, _, _, _, number, _, _, flags = ENTRY.unpack_from(data, at)
        if header < ENTRY.size or at + header + size > end:
            raise struct.error
        payload = data[at + header : at + header + size]
        yield Entry(kind == KIND_ELF, target_name(number, flags), payload)
        at += header + size


def target_name(number: int, flags: int) -> str:
    """The target of an entry, ``90a``, from its header's number and flags."""
    if flags & _FLAG_FAMILY:
        return f"{number}f"
    return f"{number}a" if flags & _FLAG_SPECIFIC else str(number)


def _machine(data: bytes) -> int:
    return int(struct.unpack_from("<H", data, 18)[0]) if len(data) >= 64 else 0


def cubin_target(data: bytes) -> str:
    """The number of a cubin's target, without its letter, from its first 64 bytes."""
    flags = int(struct.unpack_from("<I", data, 48)[0])
    return str(flags >> 8 & 0xFF if data[8] >= 8 else flags & 0xFF)
