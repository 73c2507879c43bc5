"""The oldest gcc that the C++ headers of a toolkit ask for."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.version import Version

from envbuild.matrix.model import CompilerFloor
from envbuild.matrix.vendor.compiler import ARCH, member
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import Measurer, Part, Reader, Unmeasurable, Unreachable
from envbuild.matrix.vendor.wheel import opened
from envbuild.values.codec import Value

_PROJECT = "nvidia-cuda-cccl"
_FIRST = "13.0"  # wheels before are of other projects, whose headers ask for less than the vendor
_ASKED = re.compile(r"#\s*if _CCCL_COMPILER\(GCC, <, (\d+)\)\s*\n\s*CUB_COMPILER_DEPRECATION\(GCC")


class HeaderFacts(Value):
    """What one wheel says; None = its headers do not ask for a gcc."""

    version: str
    gcc: int | None = None


def read(wheel: Path) -> HeaderFacts:
    """The gcc below which CUB calls the compiler too old.

    Raises:
        Unreadable: no zip file.
    """
    with opened(wheel) as archive:
        name = member(archive.namelist(), "cub/util_cpp_dialect.cuh")
        text = archive.read(name).decode() if name is not None else ""
    asked = _ASKED.search(text)
    return HeaderFacts(version=wheel.name.split("-")[1], gcc=int(asked[1]) if asked else None)


HEADERS = Reader("cccl-1", HeaderFacts, read)


def _parts(row: CompilerFloor, index: Index) -> list[Part]:
    """All wheels of headers: the row says from which on the floor holds."""
    if Version(row.cuda_from) < Version(_FIRST):
        what = "it is what the vendor supports: the headers before 13.0 ask for less"
        raise Unmeasurable(what)
    found = [w for w in index.releases(_PROJECT, ARCH) if w.version >= Version(row.cuda_from)]
    if not found:
        what = f"the index lists no Linux {ARCH} wheel of {_PROJECT} {row.cuda_from}"
        raise Unreachable(what)
    return [Part(wheel.file, HEADERS) for wheel in found]


def _measured(row: CompilerFloor, facts: Sequence[HeaderFacts]) -> Mapping[str, object]:
    """The floor of the newest headers; an older one that differs is a remark."""
    told = sorted((f for f in facts if f.gcc), key=lambda f: Version(f.version))
    if not told:
        what = f"no headers since {row.cuda_from} ask for a gcc"
        raise Unmeasurable(what)
    return {"gcc": told[-1].gcc}


def _remark(row: CompilerFloor, facts: Sequence[HeaderFacts]) -> str:
    odd = [f for f in facts if f.gcc != row.gcc]
    return "; ".join(f"headers {f.version} ask for gcc {f.gcc or 'none'}" for f in odd)


FLOORS = Measurer(
    table="compiler_floors",
    group="toolkits",
    fields=("gcc",),
    parts=_parts,
    measured=_measured,
    remark=_remark,
)
