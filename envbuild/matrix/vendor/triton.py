"""What each Triton assembles: the targets of the ptxas programs that its wheel brings."""

import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from packaging.version import Version

from envbuild.matrix.load import load
from envbuild.matrix.model import Matrices, Row, TritonBuild
from envbuild.matrix.vendor import ptxas, wheel
from envbuild.matrix.vendor.index import Index, Listed
from envbuild.matrix.vendor.model import Measurer, Part, Reader, Unmeasurable, Unreadable
from envbuild.values.codec import Value

_PTXAS = r"triton/(?:.+/)?bin/ptxas"  # it moved with 2.2
_CHOICE = r"triton/backends/nvidia/compiler\.py"
# ``return ... if arch >= 100 else ...`` or ``if arch < 90``: from which target on it takes the
# second program.
_BOUNDARY = re.compile(r"def get_ptxas\(arch.*?\barch (?:>=|<) (\d+)", re.DOTALL)


class TritonFacts(Value):
    """What one wheel assembles.

    Attributes:
        version: of Triton.
        targets: real targets for which it calls a ptxas that knows them.
    """

    version: str
    targets: tuple[str, ...] = ()


def read(path: Path) -> TritonFacts:
    """The targets of a wheel of Triton.

    Raises:
        Unreadable: it holds no ptxas, or one that does not run here.
    """
    with wheel.opened(path) as archive:
        return TritonFacts(version=path.name.split("-")[1], targets=_targets(archive))


def _targets(archive: zipfile.ZipFile) -> tuple[str, ...]:
    names = archive.namelist()
    first = next((name for name in names if re.fullmatch(_PTXAS, name)), None)
    if first is None:
        what = "it brings no ptxas"
        raise Unreadable(what)
    old = ptxas.in_zip(archive, first).targets
    second = f"{first}-blackwell"
    if second not in names:
        return old
    match = _BOUNDARY.search(wheel.text(archive, _CHOICE))
    if match is None:
        what = f"it brings {first} and {second}, and does not say which it takes"
        raise Unreadable(what)
    boundary = int(match[1])
    new = ptxas.in_zip(archive, second).targets
    return (
        *(target for target in old if int(target.rstrip("af")) < boundary),
        *(target for target in new if int(target.rstrip("af")) >= boundary),
    )


TRITON_WHEEL = Reader("triton-1", TritonFacts, read)


def _parts(row: TritonBuild, index: Index) -> list[Part]:
    """All releases from this row to the next: the row is said of each.

    Of each the wheel of the newest interpreter is read: that of 2.0.0 for CPython 3.6 lacks ptxas.
    """
    later = [Version(one.triton) for one in load().triton]
    end = min((one for one in later if one > Version(row.triton)), default=None)
    newest: dict[Version, Listed] = {}
    for one in sorted(index.releases("triton"), key=_by_python, reverse=True):
        if Version(row.triton) <= one.version and (end is None or one.version < end):
            newest.setdefault(one.version, one)
    return [Part(one.file, TRITON_WHEEL) for _, one in sorted(newest.items())]


def _by_python(wheel: Listed) -> list[Version]:
    return [Version(python) for python in wheel.pythons]


def _measured(row: TritonBuild, facts: Sequence[TritonFacts]) -> Mapping[str, object]:
    if not facts:
        what = f"the index lists no triton {row.triton}"
        raise Unmeasurable(what)
    other = _other(row, facts)
    return {"triton": facts[0].version, "targets": (other or facts[0]).targets}


def _other(row: TritonBuild, facts: Sequence[TritonFacts]) -> TritonFacts | None:
    """The first release whose targets are not the row's."""
    return next((one for one in facts if set(one.targets) != set(row.targets)), None)


def _remark(row: TritonBuild, facts: Sequence[TritonFacts]) -> str:
    if other := _other(row, facts):
        return f"as measured in {other.version}"
    return f"{facts[0].version} to {facts[-1].version} alike" if len(facts) > 1 else ""


def _unknown(matrices: Matrices, index: Index) -> Iterable[Row]:
    """Releases after the newest that a package row names."""
    known = [
        Version(row.version) for row in matrices.packages if row.name == "triton" and row.version
    ]
    for version in sorted({one.version for one in index.releases("triton")}):
        if known and version > max(known):
            yield TritonBuild(
                triton=str(version),
                targets=(),
                cc_min="",
                inductor_min="",
                source=(),
                status="measured",
            )


TRITON = Measurer(
    table="triton",
    group="frameworks",
    fields=("triton", "targets"),
    parts=_parts,
    measured=_measured,
    remark=_remark,
    unknown=_unknown,
)
