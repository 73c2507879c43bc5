"""The floor of gcc, read in headers that are made here as the vendor writes them."""

import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from packaging.version import Version

from envbuild.matrix.model import CompilerFloor
from envbuild.matrix.vendor import cccl
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import Unmeasurable, Unreachable

ROW = CompilerFloor(cuda_from="13.0", gcc=7, says="made", source=("made",), status="measured")
GUARD = """#  ifndef CCCL_IGNORE_DEPRECATED_COMPILER
#    if _CCCL_COMPILER(GCC, <, {})
CUB_COMPILER_DEPRECATION(GCC {}.0);
#    elif _CCCL_COMPILER(CLANG, <, 7)
CUB_COMPILER_DEPRECATION(Clang 7.0);
#    endif
"""


def headers(folder: Path, version: str, text: str) -> cccl.HeaderFacts:
    path = folder / f"nvidia_cuda_cccl-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("nvidia/cu13/include/cccl/cub/util_cpp_dialect.cuh", text)
    return cccl.read(path)


def test_the_newest_headers_count_and_an_older_floor_is_a_remark(tmp_path: Path) -> None:
    old = headers(tmp_path, "13.0.85", GUARD.format(6, 6))
    new = headers(tmp_path, "13.10.1", GUARD.format(8, 8))
    assert (old.gcc, new.gcc) == (6, 8)
    assert cccl.FLOORS.measured(ROW, [new, old]) == {"gcc": 8}
    assert "headers 13.0.85 ask for gcc 6" in cccl.FLOORS.remark(ROW, [old, new])
    same = headers(tmp_path, "13.2.1", GUARD.format(7, 7))
    assert (cccl.FLOORS.measured(ROW, [same]), cccl.FLOORS.remark(ROW, [same])) == ({"gcc": 7}, "")


def test_headers_that_ask_for_no_gcc_measure_nothing(tmp_path: Path) -> None:
    silent = headers(tmp_path, "13.0.85", "#if _CCCL_COMPILER(GCC, <, 8)\n#define X\n#endif\n")
    assert silent.gcc is None
    with pytest.raises(Unmeasurable, match="ask for a gcc"):
        cccl.FLOORS.measured(ROW, [silent])


def test_which_wheels_are_read() -> None:
    """Made: an index with one wheel before and one after the row's first toolkit."""
    listed = [SimpleNamespace(version=Version(v), file=v) for v in ("13.0.85", "13.2.75")]
    index = cast("Index", SimpleNamespace(releases=lambda *_: listed))

    def parts(cuda: str) -> list[Any]:
        row = CompilerFloor(cuda_from=cuda, gcc=7, says="made", source=(), status="measured")
        return [part.file for part in cccl.FLOORS.parts(row, index)]

    assert parts("13.0") == ["13.0.85", "13.2.75"]
    assert parts("13.1") == ["13.2.75"]
    with pytest.raises(Unreachable, match=r"nvidia-cuda-cccl 13\.9"):
        parts("13.9")
    with pytest.raises(Unmeasurable, match="what the vendor supports"):
        parts("12.0")
