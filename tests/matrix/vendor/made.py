"""Libraries and wheels made here, byte by byte; nothing in them is recorded.

The ELF header is the least that the format asks for: 64 bit, little endian, for x86_64, without
section headers unless said. Fatbins are laid out as nvcc 13.0 was seen to write them: a header of
16 bytes, entries with headers of 64 bytes.
"""

import io
import struct
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ELF, PTX = 2, 1
A, F = 0x100000, 0x200000


def elf(body: bytes, *, machine: int = 62, sections: int = 0) -> bytes:
    """A shared library with this after its header; ``sections``: where it says they start."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    count = 3 if sections else 0
    return struct.pack(
        "<16sHHIQQQIHHHHHH", ident, 3, machine, 1, 0, 0, sections, 0, 64, 56, 0, 64, count, 0
    ) + body  # fmt: skip


def cubin(number: int) -> bytes:
    """The first bytes of machine code in the newer form, which names its target."""
    ident = b"\x7fELF\x02\x01\x01A\x08" + bytes(7)
    return struct.pack("<16sHHIQQQI", ident, 2, 190, 1, 0, 0, 0, number << 8) + bytes(12)


def entry(kind: int, number: int, payload: bytes = bytes(24), flags: int = 0x11) -> bytes:
    """One image of a fatbin."""
    fields = (kind, 0x101, 64, len(payload), 0, 0, 0, 0, number, 0, 0, flags)
    return struct.pack("<HHIQIIHHIIIQ16x", *fields) + payload


def fatbin(*entries: bytes) -> bytes:
    """A fatbin of these entries."""
    data = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(data)) + data


def code(targets: Iterable[int], count: int = 1) -> bytes:
    """A library whose ``count`` fatbins all hold compressed machine code for these targets."""
    return elf(fatbin(*(entry(ELF, number, flags=0x8011) for number in targets)) * count)


def wheel(
    folder: Path,
    name: str,
    members: Mapping[str, bytes] | None = None,
    *,
    requires: Sequence[str] = (),
    python: str = ">=3.10",
) -> Path:
    """A wheel file of this name (``torch-2.15.0-cp312-cp312-manylinux_2_28_x86_64.whl``)."""
    project, version = name.split("-")[:2]
    lines = ["Metadata-Version: 2.1", f"Name: {project}", f"Version: {version}"]
    lines += [f"Requires-Python: {python}", *(f"Requires-Dist: {one}" for one in requires)]
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in (members or {}).items():
            archive.writestr(member, data)
        about = f"{project}-{version}.dist-info"
        archive.writestr(f"{about}/METADATA", "\n".join(lines) + "\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n")
        archive.writestr(f"{about}/RECORD", "")
    return path


def stream(data: bytes) -> io.BytesIO:
    return io.BytesIO(data)
