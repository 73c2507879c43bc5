"""Toolkits: targets, compilers and C library, read out of the wheels of every release."""

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from packaging.version import Version

from envbuild.matrix.model import GlibcClash, Matrices, Row, Toolkit
from envbuild.matrix.vendor import headers, ptxas
from envbuild.matrix.vendor.index import Index, Listed
from envbuild.matrix.vendor.model import (
    Measurer,
    Part,
    Reader,
    Unmeasurable,
    Unreachable,
    Unreadable,
)
from envbuild.values.codec import Value

_MEASURED = ("targets", "ptx", "gcc_max", "clang_max")
_FIRST_ALL = 13  # from this major on, wheel names carry no -cuN and the headers are apart


class CompilerFacts(Value):
    """What one wheel of the compiler says; None or empty where the wheel has no such file.

    Attributes:
        version: of the wheel.
        targets, ptx: what its ptxas assembles.
        nvcc: it holds the compiler driver.
        gcc_max, clang_max: newest host compilers.
        bare, glibc: functions declared bare, and glibc versions asked for; None = no header.
    """

    version: str
    targets: tuple[str, ...] = ()
    ptx: str | None = None
    nvcc: bool = False
    gcc_max: int | None = None
    clang_max: int | None = None
    bare: tuple[str, ...] | None = None
    glibc: tuple[str, ...] = ()


def read_compiler(wheel: Path) -> CompilerFacts:
    """The facts of an nvcc or crt wheel.

    Raises:
        Unreadable: no zip file, or a ptxas that does not run here.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            return _compiler(archive, wheel.name.split("-")[1])
    except (zipfile.BadZipFile, NotImplementedError) as e:
        what = f"{wheel.name} is no wheel: {e}"
        raise Unreadable(what) from e


def _compiler(archive: zipfile.ZipFile, version: str) -> CompilerFacts:
    names = archive.namelist()
    assembler = member(names, "bin/ptxas")
    config = member(names, "crt/host_config.h")
    functions = member(names, "crt/math_functions.h")
    can = ptxas.in_zip(archive, assembler) if assembler else ptxas.Assembler((), "")
    most = headers.ceilings(_text(archive, config)) if config else headers.Ceilings(None, None)
    declared = _text(archive, functions) if functions else None
    return CompilerFacts(
        version=version,
        targets=can.targets,
        ptx=can.ptx or None,
        nvcc=member(names, "bin/nvcc") is not None,
        gcc_max=most.gcc,
        clang_max=most.clang,
        bare=None if declared is None else headers.bare(declared),
        glibc=() if declared is None else headers.prerequisites(declared),
    )


def member(names: Sequence[str], end: str) -> str | None:
    """The member whose path ends so."""
    return next((name for name in names if name.endswith(f"/{end}")), None)


def _text(archive: zipfile.ZipFile, name: str) -> str:
    return archive.read(name).decode("utf-8", "replace")


COMPILER = Reader("compiler-1", CompilerFacts, read_compiler)


def projects(major: int) -> tuple[str, ...]:
    """The projects that hold ptxas and the headers of a CUDA major."""
    if major >= _FIRST_ALL:
        return "nvidia-cuda-nvcc", "nvidia-cuda-crt"
    return (f"nvidia-cuda-nvcc-cu{major}",)


def _releases(major: int, index: Index) -> list[Listed]:
    return [wheel for project in projects(major) for wheel in index.releases(project)]


def _parts(cuda: str, index: Index) -> list[Part]:
    """The wheels of all patch releases of a minor: the row is said of each."""
    major = int(cuda.split(".", maxsplit=1)[0])
    found = [w for w in _releases(major, index) if f"{w.version.major}.{w.version.minor}" == cuda]
    if not found:
        what = f"the index lists no wheel of {projects(major)[0]} {cuda}"
        raise Unreachable(what)
    return [Part(wheel.file, COMPILER) for wheel in found]


def _toolkit_parts(row: Toolkit, index: Index) -> list[Part]:
    return _parts(row.cuda, index)


def _toolkit(row: Toolkit, facts: Sequence[CompilerFacts]) -> Mapping[str, object]:  # noqa: ARG001
    """The values of the newest release of the minor: it is the one that plans take."""
    said = {field: _by_release(field, facts) for field in _MEASURED}
    return {field: list(values.values())[-1] for field, values in said.items() if values}


def _older(row: Toolkit, facts: Sequence[CompilerFacts]) -> str:  # noqa: ARG001
    """Where an older release of the minor is not like the newest."""
    found = []
    for field in _MEASURED:
        *older, newest = _by_release(field, facts).items() or [("", None)]
        found += [f"{field} of {v} is {value}" for v, value in older if value != newest[1]]
    return ", ".join(found)


def _by_release(field: str, facts: Sequence[CompilerFacts]) -> dict[str, object]:
    """The values of a field by wheel version, oldest first; wheels that do not tell left out."""
    told = sorted((f for f in facts if getattr(f, field)), key=lambda f: Version(f.version))
    return {f.version: getattr(f, field) for f in told}


def _new_toolkits(matrices: Matrices, index: Index) -> Iterable[Row]:
    known = {row.cuda for row in matrices.toolkits}
    majors = {int(cuda.split(".")[0]) for cuda in known}
    seen: dict[str, None] = {}
    for major in [*sorted(major for major in majors if major < _FIRST_ALL), _FIRST_ALL]:
        for wheel in _releases(major, index):
            seen[f"{wheel.version.major}.{wheel.version.minor}"] = None
    for cuda in sorted(seen.keys() - known, key=Version):
        if Version(cuda).major:  # 0.x are placeholders
            yield Toolkit(cuda=cuda, targets=(), gcc_max=0, source=(), status="measured")


def _clash_parts(row: GlibcClash, index: Index) -> list[Part]:
    """All header wheels: the row says where a run of releases ends."""
    below = Version(row.cuda_below)
    majors = sorted({11, 12, *range(_FIRST_ALL, max(below.major, _FIRST_ALL) + 1)})
    wheels = {w.file.sha256: w for major in majors for w in _releases(major, index)}
    return [Part(w.file, COMPILER) for w in wheels.values() if w.version.major]


def _clash(row: GlibcClash, facts: Sequence[CompilerFacts]) -> Mapping[str, object]:
    """Where the last bare declaration ends, and which glibc the first guard asks for."""
    headed = sorted((f for f in facts if f.bare is not None), key=lambda f: Version(f.version))
    wrong = [f for f in headed if row.symbol in (f.bare or ())]
    if not wrong:
        what = f"no header declares {row.symbol} bare"
        raise Unmeasurable(what)
    last = Version(wrong[-1].version)
    after = [f for f in headed if Version(f.version) > last]
    if not after:
        what = f"the newest header still declares {row.symbol} bare"
        raise Unmeasurable(what)
    first = Version(after[0].version)
    asked = [glibc for glibc in after[0].glibc if glibc not in wrong[-1].glibc]
    values: dict[str, object] = {"cuda_below": f"{first.major}.{first.minor}"}
    return values | ({"glibc_from": asked[0]} if len(asked) == 1 else {})


TOOLKITS = Measurer(
    table="toolkits",
    group="toolkits",
    fields=_MEASURED,
    parts=_toolkit_parts,
    measured=_toolkit,
    remark=_older,
    unknown=_new_toolkits,
)
CLASHES = Measurer(
    table="glibc_clashes",
    group="toolkits",
    fields=("glibc_from", "cuda_below"),
    parts=_clash_parts,
    measured=_clash,
)
