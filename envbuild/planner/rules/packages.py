"""Other Python packages: which cards and toolkits they serve."""

from envbuild.matrix.model import PackageRule
from envbuild.planner.ranges import Range, numbers, parse
from envbuild.planner.rules.base import about, error, rule
from envbuild.planner.rules.torch import system_of
from envbuild.planner.table import Place, Table, cite
from envbuild.planner.target import PINNED, Target, Wanted
from envbuild.values.codec import replace
from envbuild.values.finding import Finding


def row_for(table: Table, wanted: Wanted, cuda: str, cc: tuple[str, ...]) -> PackageRule | None:
    """The package's row that serves this toolkit and these cards; None = none does."""
    rows = [r for r in table.packages.get(wanted.name, ()) if not _against(r, cuda, cc, wanted)]
    # A bare requirement before one with a bound, which is there for cards that need it; of those
    # the first in the matrices.
    return min(rows, key=lambda r: "<" in r.requirement, default=None)


def own_range(row: PackageRule, wanted: Wanted) -> Range | None:
    """The range as far as it is about the row's package: numba's versions are not numba-cuda's."""
    return None if wanted.name in row.extra else wanted.range


def left_to_torch(table: Table, target: Target, wanted: Wanted) -> bool:
    """Its version is the one that torch's wheels require (`torch_pins`)."""
    rows = table.packages.get(wanted.name, ())
    return target.torch is not None and any(row.name in PINNED for row in rows)


@rule(("cuda",), "cc", "torch", asked=("packages",))
def package_served(table: Table, place: Place, target: Target) -> Finding | None:
    """Each package must serve the toolkit and every card."""
    for asked in target.packages:
        wanted = replace(asked, range=None) if left_to_torch(table, target, asked) else asked
        rows = table.packages.get(wanted.name)
        if rows and row_for(table, wanted, place.cuda, target.cc) is None:
            against = [(_against(r, place.cuda, target.cc, wanted), r) for r in rows]
            # The nearest row says most: of this major, else any.
            major = numbers(place.cuda)[0]
            says, row = min(against, key=lambda pair: pair[1].cuda_major != major)
            return error("package", about(place.cuda, f"{wanted}: {says}"), cite(row, row.name))
    return None


@rule(("cuda", "os"), "cc", "python", "glibc", "torch", asked=("packages",))
def package_python(table: Table, place: Place, target: Target) -> Finding | None:
    """A pinned package needs a wheel for the base's own Python and C library."""
    python, glibc = system_of(table, target, place.os)
    where = place.os or "this machine"
    for wanted in target.packages:
        if left_to_torch(table, target, wanted):
            continue
        row = row_for(table, wanted, place.cuda, target.cc)
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


@rule(("cuda",), "cc", "torch", asked=("packages",))
def package_beside(table: Table, place: Place, target: Target) -> Finding | None:
    """What a package needs beside it and does not state, against a version asked for."""
    for wanted in target.packages:
        row = row_for(table, wanted, place.cuda, target.cc)
        other = excluded(row.beside, target) if row is not None else None
        if row is not None and other is not None:
            says = f"{row.name} {row.version or ''} needs {', '.join(row.beside)}, not {other}"
            return error("package-needs", about(place.cuda, says), cite(row, row.name))
    return None


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


def _against(row: PackageRule, cuda: str, cc: tuple[str, ...], wanted: Wanted) -> str:
    """Why this row does not serve, empty = it does."""
    if row.cuda_major != numbers(cuda)[0]:
        return f"{row.requirement} is for CUDA {row.cuda_major}"
    if row.cuda_min and numbers(cuda) < numbers(row.cuda_min):
        return f"{row.requirement} needs CUDA {row.cuda_min} or newer"
    if row.cuda_max and numbers(cuda)[: len(numbers(row.cuda_max))] > numbers(row.cuda_max):
        return f"{row.requirement} ends with CUDA {row.cuda_max}"
    for one in cc:
        if row.cc_min and numbers(one) < numbers(row.cc_min):
            return f"{row.requirement} serves cc {row.cc_min} and newer, not {one}"
        if row.cc_max and numbers(one) > numbers(row.cc_max):
            return f"{row.requirement} ends at cc {row.cc_max}, below {one}"
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
