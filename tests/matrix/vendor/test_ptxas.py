"""Real compilers, measured as in a wheel: the toolkit that tests compile with."""

import zipfile
from pathlib import Path

import pytest

from envbuild.matrix.load import load
from envbuild.matrix.vendor import compiler, probes, ptxas
from envbuild.matrix.vendor.model import Unreadable
from tests import toolkit

CUDA = toolkit.HOME


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel around the toolkit of this machine."""
    path = tmp_path_factory.mktemp("wheel") / "nvidia_cuda_nvcc-13.0.88-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("bin/ptxas", "bin/nvcc"):
            archive.write(CUDA / name, f"nvidia/cu13/{name}")
        for header in CUDA.rglob("crt/*.h"):
            archive.write(header, f"nvidia/cu13/include/crt/{header.name}")
    return path


@toolkit.needed
def test_a_real_wheel_says_what_the_row_of_its_toolkit_says(wheel: Path) -> None:
    row = next(row for row in load().toolkits if row.cuda == "13.0")
    facts = compiler.read(wheel)
    assert (facts.version, facts.root) == ("13.0.88", "nvidia/cu13")
    assert (facts.targets, facts.ptx) == (row.targets, row.ptx)
    assert facts.nvcc == tuple(target for target in row.targets if target.isdigit())
    if facts.gcc_max is not None:  # this machine's toolkit may be without its headers
        assert (facts.gcc_max, facts.clang_max) == (row.gcc_max, row.clang_max)
        assert facts.bare == ("rsqrt", "rsqrtf")


@toolkit.needed
@pytest.mark.parametrize("feature", ["tensor-cores", "int8", "fp4", "wgmma", "tcgen05", "dp4a"])
def test_real_probes_say_what_the_rows_of_features_say(feature: str) -> None:
    row = next(row for row in load().features if row.name == feature)
    targets = ("75", "90", "90a", "100f", "120f")
    has = [
        target
        for target in targets
        if any(
            probes.assembles(CUDA / "bin/ptxas", "9.0", target, text)
            for text in probes.PROBES[feature]
        )
    ]
    assert has == [target for target in targets if target in row.targets]


def test_every_feature_has_an_instruction_or_a_target_name() -> None:
    names = {row.name for row in load().features}
    assert names == {*probes.PROBES, "arch-specific"}


def script(folder: Path, text: str) -> Path:
    """A made ptxas."""
    path = folder / "ptxas"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_target_that_is_named_but_not_assembled_does_not_count(tmp_path: Path) -> None:
    made = script(
        tmp_path,
        """[ "$1" = --help ] && { echo "'sm_90a','sm_75','sm_100'"; exit; }
[ "$1" = -arch=sm_100 ] && exit 1
grep -q 'version 99.0' "$2" && { echo "current version is '9.9'" >&2; exit 1; }
exit 0""",
    )
    assert ptxas.measure(made) == ptxas.Assembler(("75", "90a"), "9.9")


@pytest.mark.parametrize("text", ["exit 1", "echo \"'sm_75'\"", "kill -9 $$"])
def test_what_does_not_answer_as_ptxas_is_unreadable(text: str, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="names no targets or no PTX version"):
        ptxas.measure(script(tmp_path, text))


def test_a_program_of_another_machine_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "ptxas"
    path.write_bytes(b"\x7fELF nothing")
    path.chmod(0o755)
    with pytest.raises(Unreadable, match="ptxas does not run on this machine"):
        ptxas.measure(path)
