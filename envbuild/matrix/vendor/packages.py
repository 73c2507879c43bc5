"""Packages that care about CUDA, and where cuDNN's code ends: versions, interpreters, reach."""

from collections.abc import Iterable, Mapping, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from envbuild.matrix.load import load
from envbuild.matrix.model import CudnnFloor, Matrices, PackageRule, Row
from envbuild.matrix.vendor import metadata, reach
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import Measurer, Part, Unmeasurable, Unreachable
from envbuild.matrix.vendor.torch import known_pythons
from envbuild.matrix.vendor.wheel import WHEEL, WheelFacts

# Packages whose own device code decides where they run, and the projects of the same version that
# hold it beside their own. (What Triton reaches is its ptxas; numba compiles all of its code.)
_CODE: dict[str, tuple[str, ...]] = {
    "cudnn": (),
    "cupy": (),
    "jax": ("jax-cuda{major}-plugin", "jax-cuda{major}-pjrt"),
    "tensorflow": (),
}


def _projects(row: PackageRule) -> list[str]:
    """The project of the requirement, then those that hold its device code."""
    own = canonicalize_name(Requirement(row.requirement).name)
    return [own, *(name.format(major=row.cuda_major) for name in _CODE.get(row.name, ()))]


def _parts(row: PackageRule, index: Index) -> list[Part]:
    if row.version is None:
        what = "the row names no version"
        raise Unmeasurable(what)
    return [Part(index.one(project, row.version), WHEEL) for project in _projects(row)]


def _measured(row: PackageRule, facts: Sequence[WheelFacts]) -> Mapping[str, object]:
    values: dict[str, object] = {
        "glibc": reach.glibc(facts),
        "cudnn": any(metadata.leaves_open(one, r"nvidia-cudnn-cu\d+") for one in facts),
    }
    least = _floor(row, facts)
    if least and row.cc_min:
        # A vendor may promise less than its code reaches; it may not promise more.
        values["cc_min"] = max(least, row.cc_min, key=Version)
    return values


def _floor(row: PackageRule, facts: Sequence[WheelFacts]) -> str | None:
    if row.name not in _CODE:
        return None
    return reach.floor(library for one in facts for library in one.libraries)


def _remark(row: PackageRule, facts: Sequence[WheelFacts]) -> str:
    least = _floor(row, facts)
    if least and row.cc_min and Version(least) < Version(row.cc_min):
        return f"its code reaches down to {least}"
    return ""


def _listed(row: PackageRule, facts: Sequence[WheelFacts], index: Index) -> Mapping[str, object]:
    taken = _versions(row, index, load().date)
    values: dict[str, object] = {"version": taken[-1] if taken else None}
    # The ends of a requirement's range are compared where the row states them.
    if taken and row.version_min:
        values["version_min"] = taken[0]
        if Requirement(row.requirement).extras:
            # An extra is younger than its project, and the index does not say by how much.
            least = Version(row.version_min)
            values["version_min"] = next((v for v in taken if Version(v) >= least), taken[0])
    if taken and row.version_max:
        values["version_max"] = taken[-1]
    takes = known_pythons()
    for project, one in zip(_projects(row), facts, strict=True):
        wheels = [
            wheel
            for wheel in index.wheels(project)
            if wheel.version == Version(one.version) and wheel.fits("x86_64")
        ]
        takes = metadata.pythons(wheels, one.python, takes)
    return values | ({"pythons": takes} if row.pythons else {})


def _versions(row: PackageRule, index: Index, day: str) -> list[str]:
    """The final releases that the requirement takes, oldest first, as of a day (YYYY-MM-DD)."""
    requirement = Requirement(row.requirement)
    versions = {
        wheel.version
        for wheel in index.releases(canonicalize_name(requirement.name))
        if requirement.specifier.contains(wheel.version) and wheel.uploaded <= day
    }
    return [str(version) for version in sorted(versions)]


def _unknown(matrices: Matrices, index: Index) -> Iterable[Row]:
    """The rows of packages that have a newer release, with it."""
    for row in matrices.packages:
        newest = next(reversed(_versions(row, index, "9999")), None)
        if newest and row.version and Version(newest) > Version(row.version):
            yield row.__class__(
                name=row.name,
                requirement=row.requirement,
                cuda_major=row.cuda_major,
                version=newest,
                source=(),
                status="measured",
            )


PACKAGES = Measurer(
    table="packages",
    group="frameworks",
    fields=("version", "version_min", "version_max", "pythons", "glibc", "cc_min", "cudnn"),
    parts=_parts,
    measured=_measured,
    remark=_remark,
    listed=_listed,
    unknown=_unknown,
)

_CUDNN = ("nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")


def _cudnn_parts(row: CudnnFloor, index: Index) -> list[Part]:
    """The last release before the floor, the first with it, and the last before the next floor.

    All of one CUDA major, the oldest that has them: with it the toolkit's own floor is the lowest.
    """
    start = Version(row.cudnn_from)
    floors = (Version(one.cudnn_from) for one in load().cudnn)
    end = min((one for one in floors if one > start), default=None)
    for project in _CUDNN:
        versions = sorted({wheel.version for wheel in index.releases(project)})
        before = [one for one in versions if one < start]
        after = [one for one in versions if start <= one and (end is None or one < end)]
        if before and after:
            wanted = dict.fromkeys((before[-1], after[0], after[-1]))
            return [Part(index.one(project, str(version)), WHEEL) for version in wanted]
    what = f"the index lists no cuDNN on both sides of {row.cudnn_from}"
    raise Unreachable(what)


def _cudnn(row: CudnnFloor, facts: Sequence[WheelFacts]) -> Mapping[str, object]:
    before, first, last = (reach.floor(facts[i].libraries) for i in (0, 1, -1))
    if first != last:
        what = f"{facts[1].version} reaches down to {first}, {facts[-1].version} to {last}"
        raise Unmeasurable(what)
    start = facts[0].version if before == first else row.cudnn_from
    return {"cudnn_from": start, "cc_min": first}


def _cudnn_remark(_row: CudnnFloor, facts: Sequence[WheelFacts]) -> str:
    return ", ".join(f"{one.version} from {reach.floor(one.libraries)} on" for one in facts)


CUDNN = Measurer(
    table="cudnn",
    group="frameworks",
    fields=("cudnn_from", "cc_min"),
    parts=_cudnn_parts,
    measured=_cudnn,
    remark=_cudnn_remark,
)
