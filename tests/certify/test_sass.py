"""Our reader of device code against files that real compilers wrote."""

import struct
import subprocess
from pathlib import Path

import pytest

from envbuild import data
from envbuild.certify import sass
from envbuild.errors import InputError
from tests import toolkit

PREBUILT = data.folder("kernels") / "prebuilt" / "add.fatbin"


def test_the_prebuilt_code_covers_every_cc_of_the_matrices() -> None:
    from envbuild.matrix.load import load

    have = set(sass.targets(PREBUILT.read_bytes()))
    newest = {t for row in load().toolkits for t in row.targets if t.isdigit()}
    # 107: only toolkits newer than the newest used for the probes; 30, 32: no wheel of NVRTC.
    assert newest - have <= {"107", "30", "32"}
    assert have >= {"35", "61", "90", "103", "110", "121"}


def test_every_cubin_says_the_target_of_its_entry() -> None:
    found = list(sass.entries(PREBUILT.read_bytes()))
    assert len(found) == 23
    for entry in found:
        assert sass.targets(entry.payload) == (entry.target,)


def test_old_cards_get_the_old_cubin_form() -> None:
    # ELF ABI 7 up to CUDA 12, 8 from 13.0 on: older drivers do not read 8.
    for target in ("35", "61", "75", "90"):
        assert sass.extract(PREBUILT.read_bytes(), target)[8] == 7


def test_one_target_is_taken_out() -> None:
    assert sass.targets(sass.extract(PREBUILT.read_bytes(), "61")) == ("61",)
    with pytest.raises(InputError, match="sm_30"):
        sass.extract(PREBUILT.read_bytes(), "30")


def test_the_kernel_is_found_by_its_name() -> None:
    code = PREBUILT.read_bytes()
    assert sass.lacking(code, "envbuild_add") == ()
    assert sass.lacking(code, "envbuild_ad") == sass.targets(code)
    cubin = sass.extract(code, "90")
    assert sass.lacking(cubin, "envbuild_add") == ()
    assert sass.lacking(cubin, "envbuild_add_1") == ("90",)


def test_compressed_code_names_no_kernel() -> None:
    """Nobody can say of it that it was made in this run."""
    code = PREBUILT.read_bytes()
    first = next(sass.entries(code))
    packed = code.replace(first.payload, b"(\xb5/\xfd".ljust(len(first.payload)))
    assert sass.targets(packed) == sass.targets(code)
    assert sass.lacking(packed, "envbuild_add") == (first.target,)


@pytest.mark.parametrize("size", [0, 3, 17, 40, 500, -1, -2000])
def test_a_cut_file_is_an_error(size: int) -> None:
    with pytest.raises(InputError):
        sass.targets(PREBUILT.read_bytes()[:size])


def test_a_header_of_zeros_does_not_loop() -> None:
    with pytest.raises(InputError):
        sass.targets(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 128) + bytes(128))


@toolkit.needed
@pytest.mark.parametrize("form", ["-fatbin", "-cubin", "-c", "program"])
def test_real_nvcc_output(form: str, tmp_path: Path) -> None:
    source = data.folder("kernels") / "program.cu"
    codes = ["75"] if form == "-cubin" else ["75", "90a", "103f", "120"]
    flags = [f"-gencode=arch=compute_{c},code=sm_{c}" for c in codes]
    if form in {"-fatbin", "program"}:
        flags.append("-gencode=arch=compute_121,code=compute_121")  # PTX only: no machine code
    out = tmp_path / "out"
    mode = [] if form == "program" else [form]
    subprocess.run([toolkit.NVCC, *mode, *flags, "-o", out, source], check=True)
    assert set(sass.targets(out.read_bytes())) == set(codes)
