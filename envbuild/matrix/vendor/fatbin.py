"""Which targets a shared library holds device code for, read as its bytes stream by.

A library of a framework is up to two gigabytes large and lies compressed inside a wheel, so it is
read once, front to back, a piece at a time. Fatbins are found by their first eight bytes, not by
section headers: they stand in ``.nv_fatbin`` and ``__nv_relfatbin``, and a stripped library may
have no headers. Each entry's header names kind and target, compressed or not; where the code is
not compressed, its own header must say the same target.
"""

import re
import struct
from collections import Counter
from typing import IO, NoReturn

from envbuild.certify import sass
from envbuild.matrix.vendor.model import Unreadable
from envbuild.values.codec import Value

# Magic, version 1, header of 16 bytes: the only form that nvcc 11.7 to 13.5 write.
_SIGNATURE = sass.MAGIC + struct.pack("<HH", 1, sass.HEADER.size)
# Stands after the kind of a fatbin's first entry.
_ENTRY_VERSION = struct.pack("<H", 0x101)
_PIECE = 1 << 20
#: What a search keeps of one piece for the next: longer than anything it looks for.
_OVERLAP = 64
_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_MACHINES = {62: "x86_64", 183: "aarch64"}
# As .dynstr names the versions of the C library that a library needs.
_GLIBC = re.compile(rb"GLIBC_2\.(\d{1,3})(?:\.\d{1,3})?\0")


class Library(Value):
    """What one shared library holds.

    Attributes:
        name: its path in the wheel.
        machine: the CPU it is for.
        fatbins: how many fatbins with device code it holds.
        sass: targets with machine code, and in how many of the fatbins; ``ptx`` the same of PTX.
        glibc: newest version of the C library that it asks for, ``2.17``.
    """

    name: str
    machine: str
    fatbins: int = 0
    sass: tuple[tuple[str, int], ...] = ()
    ptx: tuple[tuple[str, int], ...] = ()
    glibc: str | None = None


def read(name: str, stream: IO[bytes]) -> Library | None:
    """What a library holds; None where the bytes are no 64-bit ELF file.

    Args:
        name: its path, for the result and for errors.
        stream: its bytes; read once and in pieces.

    Raises:
        Unreadable: the file or a fatbin in it is cut short, or contradicts itself.
    """
    source = _Stream(name, stream)
    head = source.peek(_ELF_HEADER.size)
    if len(head) < _ELF_HEADER.size or head[:6] != b"\x7fELF\x02\x01":
        return None
    _, _, machine, *_, sections, _, _, _, _, size, count, _ = _ELF_HEADER.unpack(head)
    found: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    fatbins = 0
    while source.find():
        entries = _fatbin(source)
        fatbins += bool(entries)
        for elf, target in entries:
            found[elf][target] += 1
    if sections and source.position < sections + size * count:
        what = f"{name} is cut short: its section headers are missing"
        raise Unreadable(what)
    return Library(
        name=name,
        machine=_MACHINES.get(machine, str(machine)),
        fatbins=fatbins,
        sass=_sorted(found[True]),
        ptx=_sorted(found[False]),
        glibc=f"2.{max(source.glibc)}" if source.glibc else None,
    )


def _fatbin(source: "_Stream") -> set[tuple[bool, str]]:
    """The entries of the fatbin that the stream stands at: machine code or PTX, and the target."""
    _, _, _, length = sass.HEADER.unpack(source.take(sass.HEADER.size))
    found = set()
    while length:
        if length < sass.ENTRY.size:
            source.broken("ends inside an entry")
        kind, _, header, size, _, _, _, _, number, _, _, flags = sass.ENTRY.unpack(
            source.take(sass.ENTRY.size)
        )
        length -= header + size
        if header < sass.ENTRY.size or length < 0:
            source.broken("has an entry larger than itself")
        source.skip(header - sass.ENTRY.size)
        target = sass.target_name(number, flags)
        if kind == sass.KIND_ELF:
            _check(source, source.peek(min(size, _ELF_HEADER.size)), number)
        if kind in {sass.KIND_ELF, sass.KIND_PTX}:
            found.add((kind == sass.KIND_ELF, target))
        source.skip(size)
    return found


def _check(source: "_Stream", code: bytes, number: int) -> None:
    """Machine code that is not compressed names the target that its entry names."""
    if code[:4] == b"\x7fELF" and (len(code) < 64 or sass.cubin_target(code) != str(number)):
        source.broken(f"names sm_{number} for code of another target")


def _sorted(found: Counter[str]) -> tuple[tuple[str, int], ...]:
    def order(item: tuple[str, int]) -> tuple[int, str]:
        digits = item[0].rstrip("af")
        return int(digits), item[0].removeprefix(digits)

    return tuple(sorted(found.items(), key=order))


class _Stream:
    """A window that moves over a file and holds little more than one piece of it."""

    def __init__(self, name: str, raw: IO[bytes]) -> None:
        self._name = name
        self._raw = raw
        self._data = b""
        self._at = 0
        self._passed = 0
        self.glibc: set[int] = set()

    @property
    def position(self) -> int:
        """Offset of the window in the file."""
        return self._passed + self._at

    def find(self) -> bool:
        """Go to the next fatbin; False at the end of the file."""
        while True:
            found = self._data.find(_SIGNATURE, self._at)
            end = len(self._data) if found < 0 else found
            versions = _GLIBC.finditer(self._data, self._at, end)
            self.glibc.update(int(match[1]) for match in versions)
            if found >= 0:
                self._at = found
                if self._is_fatbin():
                    return True
                self._at += len(_SIGNATURE)
                continue
            self._at = max(end - _OVERLAP, self._at)
            if not self._more():
                self._at = len(self._data)
                return False

    def _is_fatbin(self) -> bool:
        """Not the constant in the code of a program that writes fatbins.

        Compilers place fatbins at multiples of 8; what stands elsewhere must go on as one does.
        """
        return self.position % 8 == 0 or self.peek(sass.HEADER.size + 4)[-2:] == _ENTRY_VERSION

    def peek(self, size: int) -> bytes:
        """The next bytes, fewer at the end of the file; the window stays."""
        while len(self._data) - self._at < size and self._more():
            pass
        return self._data[self._at : self._at + size]

    def take(self, size: int) -> bytes:
        """The next bytes; the window moves past them."""
        data = self.peek(size)
        if len(data) < size:
            self.broken("is cut short")
        self._at += size
        return data

    def skip(self, size: int) -> None:
        """Move the window, without keeping what lies between."""
        while size > (here := len(self._data) - self._at):
            size -= here
            self._at += here
            if not self._more():
                self.broken("is cut short")
        self._at += size

    def broken(self, how: str) -> NoReturn:
        """Raise `Unreadable` for the fatbin at the window."""
        what = f"a fatbin of {self._name} near byte {self.position} {how}"
        raise Unreadable(what)

    def _more(self) -> bool:
        piece = self._raw.read(_PIECE)
        self._passed += self._at
        self._data = self._data[self._at :] + piece
        self._at = 0
        return bool(piece)
