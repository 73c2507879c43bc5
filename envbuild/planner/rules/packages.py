"""Other Python packages: which cards and toolkits they serve."""

import re

from envbuild.matrix.model import PackageRule, TorchBuild
from envbuild.planner.ranges import Range, numbers, parse
from envbuild.planner.rules.base import about, error, rule
from envbuild.planner.rules.torch import key, system_of
from envbuild.planner.table import Place, Table, cite
from envbuild.planner.target import PINNED, Target, Wanted
from envbuild.values.codec import replace
from envbuild.values.finding import Finding


def rows_for(
    table: Table,
    wanted: Wanted,
    cuda: str,
    cc: tuple[str, ...],
    arch: str | None,
    *,
    build: TorchBuild | None = None,
    python: str | None = None,
) -> list[PackageRule]:
    """The package's rows that serve this toolkit and these cards, preferred first.

    A bare requirement comes before one with a bound, which is there for cards or a torch that need
    it; of those the first in the matrices. Without ``build`` beside any torch or none, without
    ``python`` for any interpreter; ``arch`` None = any.
    """
    rows = [
        row
        for row in table.packages.get(wanted.name, ())
        if not _against(row, cuda, cc, wanted, arch)
        and (build is None or not unfit_beside(table, row, build))
        and (python is None or not row.pythons or python in row.pythons)
    ]
    return sorted(rows, key=lambda row: "<" in row.requirement)


def row_for(
    table: Table,
    wanted: Wanted,
    cuda: str,
    cc: tuple[str, ...],
    arch: str | None,
    *,
    build: TorchBuild | None = None,
    python: str | None = None,
) -> PackageRule | None:
    """The row that is taken, of those of `rows_for`; None = there is none."""
    return next(iter(rows_for(table, wanted, cuda, cc, arch, build=build, python=python)), None)


def unfit_beside(table: Table, row: PackageRule, build: TorchBuild) -> str:
    """Why the package cannot be in one environment with this torch, empty = it can.

    What is not known of the torch speaks against nothing.
    """
    name = f"{row.name} {row.version or row.version_max or ''}".strip()
    if row.for_torch and build.torch not in parse(row.for_torch, row.name):
        return f"{name} is built for torch {row.for_torch}, not {build.torch}"
    for text in row.shares:
        library = re.match("[a-z]+", text, re.ASCII)
        field = library[0] if library is not None else text
        bound, has = text.removeprefix(field), _of(table, build, field)
        if has is not None and has not in parse(bound, row.name):
            what = "the libraries of CUDA" if field == "cuda" else field
            return f"{name} requires {what} {bound}, and torch {build.torch} requires {has}"
    return ""


def _of(table: Table, build: TorchBuild, library: str) -> str | None:
    """The version of a library that a torch requires, None = not known."""
    version: str | None = getattr(build, library)
    if version is None and library == "nccl" and build.cuda is not None:
        # One release requires one NCCL for all toolkits of a major.
        major = numbers(build.cuda)[0]
        same = (b for b in table.builds if b.torch == build.torch and b.nccl is not None)
        version = next((b.nccl for b in same if numbers(b.cuda or "0")[0] == major), None)
    return version


@rule("build", "cc", "arch", asked=("packages",))
def package_torch(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """Each package can be in one environment with the torch."""
    for wanted in target.packages:
        if build.cuda is None or left_to_torch(table, target, wanted):
            continue
        rows = rows_for(table, wanted, build.cuda, target.cc, target.arch)
        against = [(says, row) for row in rows if (says := unfit_beside(table, row, build))]
        if rows and len(against) == len(rows):
            says, row = against[0]
            return error("package-torch", says, cite(row, row.name))
    return None


def lacks_wheel(table: Table, target: Target, build: TorchBuild, python: str | None) -> bool:
    """A package that can be beside this torch, but in no version with a wheel for this Python."""
    for wanted in target.packages if python is not None and build.cuda is not None else ():
        if left_to_torch(table, target, wanted):
            continue
        cuda = build.cuda or ""
        beside = rows_for(table, wanted, cuda, target.cc, target.arch, build=build)
        if beside and not any(not row.pythons or python in row.pythons for row in beside):
            return True
    return False


def own_range(row: PackageRule, wanted: Wanted) -> Range | None:
    """The range as far as it is about the row's package: numba's versions are not numba-cuda's."""
    return None if wanted.name in row.extra else wanted.range


def left_to_torch(table: Table, target: Target, wanted: Wanted) -> bool:
    """Its version is the one that torch's wheels require (`torch_pins`)."""
    rows = table.packages.get(wanted.name, ())
    return target.torch is not None and any(row.name in PINNED for row in rows)


@rule(("cuda",), "cc", "arch", "torch", asked=("packages",))
def package_served(table: Table, place: Place, target: Target) -> Finding | None:
    """Each package must serve the toolkit and every card."""
    for asked in target.packages:
        wanted = replace(asked, range=None) if left_to_torch(table, target, asked) else asked
        rows = table.packages.get(wanted.name)
        if rows and row_for(table, wanted, place.cuda, target.cc, target.arch) is None:
            against = [(_against(r, place.cuda, target.cc, wanted, target.arch), r) for r in rows]
            # The nearest row says most: of this toolkit, else of its major, else any.
            says, row = min(against, key=lambda pair: _distance(pair[1], place.cuda))
            return error("package", about(place.cuda, f"{wanted}: {says}"), cite(row, row.name))
    return None


@rule(("cuda", "os"), "cc", "arch", "python", "glibc", "torch", asked=("packages",))
def package_python(table: Table, place: Place, target: Target) -> Finding | None:
    """A pinned package needs a wheel for the base's own Python and C library."""
    python, glibc = system_of(table, target, place.os)
    where = place.os or "this machine"
    for wanted in target.packages:
        if left_to_torch(table, target, wanted):
            continue
        rows = rows_for(table, wanted, place.cuda, target.cc, target.arch)
        having = (r for r in rows if python is None or not r.pythons or python in r.pythons)
        row = next(iter((*having, *rows)), None)
        range = own_range(row, wanted) if row is not None else None
        if row is None or not (range is None or (row.version or "0") in range):
            continue
        says = ""
        if python is not None and row.pythons and python not in row.pythons:
            says = f"has no wheel for Python {python}, that of {where}"
        elif glibc is not None and row.glibc and numbers(glibc) < numbers(row.glibc):
            says = f"has wheels for glibc {row.glibc} and newer; {where} has {glibc}"
        if says:
            says = about(place.cuda, f"{row.name} {row.version or ''} {says}".replace("  ", " "))
            return error("package-python", says, cite(row, row.name))
    return None


@rule(("cuda",), "cc", "arch", "torch", asked=("packages",))
def package_beside(table: Table, place: Place, target: Target) -> Finding | None:
    """What a package needs beside it and does not state, against a version asked for."""
    for wanted in target.packages:
        row = row_for(table, wanted, place.cuda, target.cc, target.arch)
        other = excluded(row.beside, target) if row is not None else None
        if row is not None and other is not None:
            says = f"{row.name} {row.version or ''} needs {', '.join(row.beside)}, not {other}"
            return error("package-needs", about(place.cuda, says), cite(row, row.name))
    return None


@rule("build", asked=("packages",))
def torch_beside(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """What a torch needs beside it and does not state, against a version asked for."""
    del table
    other = excluded(build.beside, target)
    if other is None:
        return None
    says = f"torch {build.torch} needs {', '.join(build.beside)}, not {other}"
    return error("package-needs", says, cite(build, key(build)))


def excluded(needs: tuple[str, ...], target: Target) -> Wanted | None:
    """The wish that no version within these bounds (``numpy<2.5``) meets, if there is one."""
    for text in needs:
        name, _, bound = text.partition("<")
        below = parse(f"<{bound}", text)
        for wanted in target.packages:
            least = [
                ".".join(map(str, limit))
                for op, limit in (wanted.range.clauses if wanted.range else ())
                if op in {"==", ">=", ">"}
            ]
            if wanted.name == name and any(version not in below for version in least):
                return wanted
    return None


def _distance(row: PackageRule, cuda: str) -> int:
    """How far a row is from a toolkit: 0 = it is for it, 1 = for another minor of its major."""
    if row.cuda_major != numbers(cuda)[0]:
        return 2
    return int(bool(_off_toolkit(row, cuda)))


def _off_toolkit(row: PackageRule, cuda: str) -> str:
    """Why this row does not serve the toolkit, empty = it does."""
    if row.cuda_major != numbers(cuda)[0]:
        return f"{row.requirement} is for CUDA {row.cuda_major}"
    if row.cuda_min and numbers(cuda) < numbers(row.cuda_min):
        return f"{row.requirement} needs CUDA {row.cuda_min} or newer"
    if row.cuda_max and numbers(cuda)[: len(numbers(row.cuda_max))] > numbers(row.cuda_max):
        return f"{row.requirement} ends with CUDA {row.cuda_max}"
    return ""


def _against(
    row: PackageRule, cuda: str, cc: tuple[str, ...], wanted: Wanted, arch: str | None
) -> str:
    """Why this row does not serve, empty = it does."""
    if says := _off_toolkit(row, cuda):
        return says
    if row.arch is not None and arch not in {None, row.arch}:
        return f"{row.requirement} has wheels for the GPU on {row.arch} alone, not on {arch}"
    for one in cc:
        if row.cc_min and numbers(one) < numbers(row.cc_min):
            return f"{row.requirement} serves cc {row.cc_min} and newer, not {one}"
        if row.cc_max and numbers(one) > numbers(row.cc_max):
            why = f": {row.beyond}" if row.beyond else ""
            return f"{row.requirement} ends at cc {row.cc_max}, below {one}{why}"
        if one in row.cc_not:
            return f"{row.requirement} has no code for cc {one}"
    range = own_range(row, wanted)
    if range is not None and not _may_be(row, range):
        ends = filter(None, (row.version_min, row.version_max or row.version))
        return f"{row.requirement} is {' to '.join(dict.fromkeys(ends))} here, not {range.text}"
    return ""


def _may_be(row: PackageRule, range: Range) -> bool:
    """Some version under this requirement is in the range: a bound of either, or the row's own."""
    limits = [".".join(map(str, limit)) for _, limit in range.clauses]
    bound = row.requirement.partition("<")[2]
    for version in filter(None, (row.version, row.version_min, row.version_max, *limits)):
        at = numbers(version)
        least, most = numbers(row.version_min or "0"), row.version_max
        low = at >= least[: len(at)]
        high = most is None or at <= numbers(most)[: len(at)]
        if version in range and low and high and (not bound or at < numbers(bound)):
            return True
    return not (row.version or row.version_min)
