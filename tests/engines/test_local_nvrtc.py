"""The cubin header: which target the code is for."""

import struct

import pytest

from envbuild.engines import nvrtc


def header(flags: int, abi: int, machine: int = 190, magic: bytes = b"\x7fELF\x02") -> bytes:
    """A made ELF64 header; offsets from the System V ABI, EM_CUDA from binutils' elf/common.h."""
    data = bytearray(64)
    data[:5] = magic
    data[8] = abi
    struct.pack_into("<H", data, 18, machine)
    struct.pack_into("<I", data, 48, flags)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "target"),
    [
        (header(0x003D053D, 7), "61"),
        (header(0x06005A02, 8), "90"),
        (header(0x003D053D, 7, machine=62), None),
        (header(0x003D053D, 7, magic=b"\x7fELF\x01"), None),
        (b"\x7fELF\x02", None),
        (b"", None),
    ],
)
def test_the_target_of_a_cubin(data: bytes, target: str | None) -> None:
    assert nvrtc.cubin_target(data) == target


def test_a_folder_without_the_library_says_so(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert nvrtc.main(["--lib", str(tmp_path), "--version"]) == 1
    assert "no libnvrtc.so" in capsys.readouterr().err
