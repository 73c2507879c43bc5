"""The reader of device code against what nvcc was asked for, and against broken files."""

import random
import struct
import subprocess
import tracemalloc
from pathlib import Path
from typing import IO, cast

import pytest

from envbuild import data
from envbuild.certify import sass
from envbuild.matrix.vendor import fatbin
from envbuild.matrix.vendor.model import Unreadable
from tests.matrix.vendor import made

NVCC = Path("/usr/local/cuda/bin/nvcc")
PREBUILT = data.folder("kernels") / "prebuilt" / "add.fatbin"


def names(counted: tuple[tuple[str, int], ...]) -> list[str]:
    return [target for target, _ in counted]


def read(content: bytes) -> fatbin.Library:
    library = fatbin.read("lib.so", made.stream(content))
    assert library is not None
    return library


def test_real_device_code_from_four_compilers() -> None:
    code = PREBUILT.read_bytes()
    library = read(made.elf(code))
    assert library.ptx == ()
    assert names(library.sass)[0] == "35"
    assert set(names(library.sass)) == set(sass.targets(code))


@pytest.mark.skipif(not NVCC.exists(), reason="no nvcc on this machine")
@pytest.mark.parametrize(
    "form",
    [
        ["-Xfatbin", "-compress-all"],
        ["--compress-mode=none"],
        ["--compress-mode=size"],
        ["--compress-mode=speed"],
        ["-rdc=true"],
    ],
    ids=" ".join,
)
def test_a_library_that_nvcc_made(form: list[str], tmp_path: Path) -> None:
    flags = [f"-gencode=arch=compute_{c},code=sm_{c}" for c in ("75", "90a", "100f", "103a", "120")]
    flags += [f"-gencode=arch=compute_{c},code=compute_{c}" for c in ("90a", "120", "121f")]
    out = tmp_path / "lib.so"
    source = data.folder("kernels") / "program.cu"
    # -rdc: an object, whose code stands in __nv_relfatbin.
    kind = ["-c"] if "-rdc=true" in form else ["--shared", "-Xcompiler", "-fPIC"]
    subprocess.run([NVCC, *kind, *form, *flags, "-o", out, source], check=True)
    with out.open("rb") as f:
        library = fatbin.read("lib.so", f)
    assert library is not None
    assert library.machine == "x86_64"
    assert names(library.sass) == ["75", "90a", "100f", "103a", "120"]
    assert names(library.ptx) == ["90a", "120", "121f"]


@pytest.mark.skipif(not NVCC.exists(), reason="no nvcc on this machine")
def test_a_library_with_ptx_only(tmp_path: Path) -> None:
    out = tmp_path / "lib.so"
    source = data.folder("kernels") / "program.cu"
    flags = ["-gencode=arch=compute_80,code=compute_80", "--shared", "-Xcompiler", "-fPIC"]
    subprocess.run([NVCC, *flags, "-o", out, source], check=True)
    library = read(out.read_bytes())
    assert library.sass == ()
    assert names(library.ptx) == ["80"]
    assert library.glibc is not None


def test_how_many_fatbins_hold_a_target_is_counted() -> None:
    general = made.fatbin(made.entry(made.ELF, 80), made.entry(made.ELF, 90))
    special = made.fatbin(
        made.entry(made.ELF, 90, flags=made.A), made.entry(made.PTX, 121, flags=made.F)
    )
    library = read(made.elf(b"text" + general + b"gap" + special + general))
    assert library.fatbins == 3
    assert library.sass == (("80", 2), ("90", 2), ("90a", 1))
    assert library.ptx == (("121f", 1),)


def test_the_newest_c_library_asked_for() -> None:
    strings = b"\0libc.so.6\0GLIBC_2.2.5\0GLIBC_2.17\0GLIBC_2.4\0GLIBC_PRIVATE\0"
    assert read(made.elf(strings)).glibc == "2.17"
    assert read(made.elf(b"no strings")).glibc is None
    assert read(made.elf(strings, machine=183)).machine == "aarch64"


@pytest.mark.parametrize("offset", range(-20, 20))
def test_a_fatbin_may_lie_across_two_pieces(offset: int) -> None:
    start = (1 << 20) - 64 + offset
    body = bytes(start) + made.fatbin(made.entry(made.ELF, 90, bytes(3 << 20))) + b"\0GLIBC_2.30\0"
    library = read(made.elf(body))
    assert library.sass == (("90", 1),)
    assert library.glibc == "2.30"


def test_the_constant_of_a_program_that_writes_fatbins_is_none() -> None:
    """As in the code of cuDNN's engines_tensor_ir: a move of the eight bytes, at an odd offset."""
    constant = made.fatbin()[:8] + bytes.fromhex("49c78424b0020000 49c78424b8020000")
    real = made.fatbin(made.entry(made.ELF, 90))
    for offset in range(1, 8):
        library = read(made.elf(bytes(offset) + constant + bytes(8 - offset) + real))
        assert library.sass == (("90", 1),)
        assert read(made.elf(bytes(offset) + real)).sass == (("90", 1),)
        assert read(made.elf(bytes(offset) + constant[:9])).sass == ()
    with pytest.raises(Unreadable):  # where a fatbin may stand it is not passed over
        read(made.elf(bytes(8) + constant))


def test_what_is_no_library_is_passed_over() -> None:
    for content in (b"", b"\x7fELF", b"!<arch>\n" + bytes(100), b"\x7fELF\x01\x01" + bytes(100)):
        assert fatbin.read("lib.so", made.stream(content)) is None


def test_a_cut_library_is_never_read_as_a_whole_one() -> None:
    whole = made.fatbin(
        made.entry(made.ELF, 80, made.cubin(80)), made.entry(made.PTX, 90, bytes(100))
    )
    content = made.elf(whole, sections=64 + len(whole)) + bytes(3 * 64)
    assert names(read(content).sass) == ["80"]
    for end in range(64, len(content)):
        with pytest.raises(Unreadable):
            fatbin.read("lib.so", made.stream(content[:end]))


@pytest.mark.parametrize(
    "broken",
    [
        made.fatbin(made.entry(made.ELF, 80, made.cubin(90))),
        made.fatbin(made.entry(made.ELF, 80, made.cubin(80)[:32])),
        made.fatbin(bytes(64)),
        made.fatbin(bytes(63)),
        made.fatbin() [:-8] + struct.pack("<Q", 1 << 63) + bytes(200),
        made.fatbin(made.entry(made.ELF, 80))[:-24],
        made.fatbin(struct.pack("<HHIQ", 2, 0x101, 64, (1 << 64) - 1) + bytes(48)),
        made.fatbin(struct.pack("<HHIQ", 2, 0x101, (1 << 32) - 1, 0) + bytes(48)),
    ],
)  # fmt: skip
def test_a_fatbin_that_contradicts_itself_is_named(broken: bytes) -> None:
    with pytest.raises(Unreadable, match=r"a fatbin of lib\.so near byte \d+"):
        fatbin.read("lib.so", made.stream(made.elf(broken)))


def test_garbage_is_read_or_refused_and_never_falls_over() -> None:
    dice = random.Random(20261202)  # noqa: S311 - not for secrets
    whole = made.elf(b"text" + PREBUILT.read_bytes())
    good = fatbin.read("lib.so", made.stream(whole))
    read, refused = [], 0
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(dice.randrange(1, 30)):
            content[dice.randrange(64, 4000)] = dice.randrange(256)
        try:
            read.append(fatbin.read("lib.so", made.stream(bytes(content))))
        except Unreadable:
            refused += 1
    assert refused + len(read) == 300
    assert refused
    assert any(library == good for library in read)


class Endless:
    """A file of two gigabytes, made as it is read: zeros, with one fatbin at half."""

    def __init__(self) -> None:
        self.left = 2 << 30
        self.head = made.elf(b"")

    def read(self, size: int) -> bytes:
        if self.head:
            head, self.head = self.head, b""
            return head
        before, self.left = self.left, max(self.left - size, 0)
        if before > 1 << 30 >= self.left:
            return made.fatbin(made.entry(made.ELF, 61, bytes(size)))
        return bytes(before - self.left)


@pytest.mark.slow
def test_two_gigabytes_take_a_few_megabytes_of_memory() -> None:
    tracemalloc.start()
    try:
        library = fatbin.read("lib.so", cast("IO[bytes]", Endless()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert library is not None
    assert library.sass == (("61", 1),)
    assert peak < 8 << 20
