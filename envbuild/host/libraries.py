"""Which driver libraries a program gets: the loader's search, told from its own files."""

import os
import re
import struct

from envbuild.host.look import Look
from envbuild.values.host import Tool

_NAMES = ("libcuda.so.1", "libnvidia-ml.so.1", "libcuda.so")
_CACHE = "/etc/ld.so.cache"
_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_SIZE = 4 << 20
# ABI bits of a cache entry (glibc, sysdeps/generic/ldconfig.h): x86-64 and AArch64 with 64 bit.
_ABIS = {0x0300, 0x0A00}
_TRIPLETS = ("x86_64-linux-gnu", "aarch64-linux-gnu")
_DEFAULT = tuple(f"{usr}/lib/{triplet}" for triplet in _TRIPLETS for usr in ("", "/usr"))
_DEFAULT = (*_DEFAULT, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
# Where a driver's libraries lie while the loader may not know of it.
_ASIDE = (
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/compat",
    "/usr/local/cuda/lib64/stubs",
)
_MOST = 24


def probe(look: Look) -> tuple[Tool, ...]:
    """Each library by name, what the loader takes first, then what that one hides.

    ``source`` is LD_LIBRARY_PATH, ld.so.cache or default; ``folder`` is not searched at all.
    """
    own = look.environ.get("LD_LIBRARY_PATH", "").split(":")
    cached = parse_cache(look.data(_CACHE, _CACHE_SIZE) or b"")
    found: list[Tool] = []
    for name in _NAMES:
        places = [(f"{folder.rstrip('/')}/{name}", "LD_LIBRARY_PATH") for folder in own if folder]
        places += [(path, "ld.so.cache") for soname, path in cached if soname == name]
        places += [(f"{folder}/{name}", "default") for folder in _DEFAULT]
        places += [(f"{folder}/{name}", "folder") for folder in _ASIDE]
        seen: set[str] = set()
        for path, source in places:
            real = os.path.realpath(look.path(path)) if look.exists(path) else None
            if real is not None and real not in seen:
                seen.add(real)
                found.append(Tool(name=name, version=_version(real), path=path, source=source))
    return tuple(found[:_MOST])


def _version(real: str) -> str | None:
    """The driver that a file's name tells; WSL's ``libcuda.so.1.1`` and stubs tell none."""
    match = re.search(r"\.so\.(\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)$", real, re.ASCII)
    return match[1] if match else None


def parse_cache(data: bytes, names: tuple[str, ...] = _NAMES) -> tuple[tuple[str, str], ...]:
    """Name and path of these libraries in the loader's cache, in its order; empty if it is none.

    The layout is ``struct cache_file_new`` of glibc's ``dl-cache.h``: a header of 48 bytes, then
    entries of 24 (flags, offset of the name, offset of the path, ...), offsets from the header on.
    """
    start = data.find(_MAGIC)
    if start < 0 or len(data) < start + 48:
        return ()
    table = data[start:]
    (count,) = struct.unpack_from("=I", table, len(_MAGIC))
    found = []
    for index in range(min(count, (len(table) - 48) // 24)):
        flags, name, path = struct.unpack_from("=iII", table, 48 + 24 * index)
        if flags & 0xFF00 in _ABIS:
            found += [(n, _text(table, path)) for n in names if _is(table, name, n)]
    return tuple(found)


def _is(table: bytes, offset: int, name: str) -> bool:
    return table.startswith(name.encode() + b"\0", offset)


def _text(table: bytes, offset: int) -> str:
    return table[offset : table.find(b"\0", offset, offset + 4096)].decode("ascii", "replace")
