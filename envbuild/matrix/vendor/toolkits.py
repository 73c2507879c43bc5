"""Toolkits: targets, compilers and C library, measured in the wheels of every release."""

from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from envbuild.matrix.model import GlibcClash, Matrices, Row, Toolkit
from envbuild.matrix.vendor.compiler import ARCH, COMPILER, CompilerFacts, majors, projects
from envbuild.matrix.vendor.index import Index, Listed
from envbuild.matrix.vendor.model import Measurer, Part, Unmeasurable, Unreachable

_MEASURED = ("targets", "ptx", "gcc_max", "clang_max")
_OLDEST = "11.0"  # no wheel of the compiler is older


def _releases(major: int, index: Index) -> list[Listed]:
    """The compiler wheels of a major; 0.x are placeholders of the vendor's own index."""
    listed = (w for project in projects(major) for w in index.releases(project, ARCH))
    return [wheel for wheel in listed if wheel.version.major]


def _minor(version: Version) -> str:
    return f"{version.major}.{version.minor}"


def _toolkit_parts(row: Toolkit, index: Index) -> list[Part]:
    """The wheels of all patch releases of a minor."""
    major = int(row.cuda.partition(".")[0])
    found = [w for w in _releases(major, index) if _minor(w.version) == row.cuda]
    if not found:
        what = f"the index lists no Linux {ARCH} wheel of {projects(major)[0]} {row.cuda}"
        raise Unreachable(what)
    return [Part(wheel.file, COMPILER) for wheel in found]


def _toolkit(row: Toolkit, facts: Sequence[CompilerFacts]) -> Mapping[str, object]:  # noqa: ARG001
    """The values of the newest release of the minor: it is the one that plans take."""
    said = {field: _by_release(field, facts) for field in _MEASURED}
    return {field: list(values.values())[-1] for field, values in said.items() if values}


def _remark(row: Toolkit, facts: Sequence[CompilerFacts]) -> str:  # noqa: ARG001
    """Where an older release is not like the newest, or nvcc not like its ptxas."""
    found = []
    for field in _MEASURED:
        *older, newest = _by_release(field, facts).items() or [("", None)]
        found += [f"{field} of {v} is {value}" for v, value in older if value != newest[1]]
    for one in facts:
        plain = {target for target in one.targets if target.isdigit()}
        if one.nvcc and (odd := plain ^ set(one.nvcc)):
            found.append(f"of nvcc and ptxas {one.version} only one takes {', '.join(sorted(odd))}")
    return "; ".join(found)


def _by_release(field: str, facts: Sequence[CompilerFacts]) -> dict[str, object]:
    """The values of a field by wheel version, oldest first; wheels that do not tell left out."""
    told = sorted((f for f in facts if getattr(f, field)), key=lambda f: Version(f.version))
    return {f.version: getattr(f, field) for f in told}


def _new_toolkits(matrices: Matrices, index: Index) -> Iterable[Row]:
    known = {row.cuda for row in matrices.toolkits}
    wheels = [w for major in majors([_OLDEST, *known]) for w in _releases(major, index)]
    for cuda in sorted({_minor(w.version) for w in wheels} - known, key=Version):
        yield Toolkit(cuda=cuda, targets=(), gcc_max=0, source=(), status="measured")


def _clash_parts(row: GlibcClash, index: Index) -> list[Part]:
    """All header wheels: the row says where a run of releases ends."""
    wheels = (
        w for major in majors([_OLDEST, "12.0", row.cuda_below]) for w in _releases(major, index)
    )
    return [Part(wheel.file, COMPILER) for wheel in wheels]


def _clash(row: GlibcClash, facts: Sequence[CompilerFacts]) -> Mapping[str, object]:
    """Where the last bare declaration ends, and which glibc the first guard asks for.

    Raises:
        Unmeasurable: no header declares it bare, or all up to the newest do.
    """
    headed = sorted((f for f in facts if f.bare is not None), key=lambda f: Version(f.version))
    wrong = [f for f in headed if row.symbol in (f.bare or ())]
    after = [f for f in headed if wrong and Version(f.version) > Version(wrong[-1].version)]
    if not after:
        what = f"{row.symbol} is declared bare by {'the newest' if wrong else 'no'} header"
        raise Unmeasurable(what)
    asked = [glibc for glibc in after[0].glibc if glibc not in wrong[-1].glibc]
    below = {"cuda_below": _minor(Version(after[0].version))}
    return below | ({"glibc_from": asked[0]} if len(asked) == 1 else {})


TOOLKITS = Measurer(
    table="toolkits",
    group="toolkits",
    fields=_MEASURED,
    parts=_toolkit_parts,
    measured=_toolkit,
    remark=_remark,
    unknown=_new_toolkits,
)
CLASHES = Measurer(
    table="glibc_clashes",
    group="toolkits",
    fields=("glibc_from", "cuda_below"),
    parts=_clash_parts,
    measured=_clash,
)
