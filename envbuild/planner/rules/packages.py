"""Other Python packages: which cards and toolkits they serve."""

from envbuild.matrix.model import PackageRule
from envbuild.planner.ranges import numbers
from envbuild.planner.rules.base import about, error, rule
from envbuild.planner.table import Place, Table, cite
from envbuild.planner.target import Target, Wanted
from envbuild.values.finding import Finding


def row_for(table: Table, wanted: Wanted, cuda: str, cc: tuple[str, ...]) -> PackageRule | None:
    """The package's row that serves this toolkit and these cards; None = none does."""
    rows = [r for r in table.packages.get(wanted.name, ()) if not _against(r, cuda, cc, wanted)]
    # A bare requirement before one with a bound: the bound is there for cards that need it.
    return min(rows, key=lambda r: ("<" in r.requirement, r.requirement), default=None)


@rule(("cuda",), "cc", asked=("packages",))
def package_served(table: Table, place: Place, target: Target) -> Finding | None:
    """Each package must serve the toolkit and every card."""
    for wanted in target.packages:
        rows = table.packages.get(wanted.name)
        if rows and row_for(table, wanted, place.cuda, target.cc) is None:
            against = [(_against(r, place.cuda, target.cc, wanted), r) for r in rows]
            # The nearest row says most: of this major, else any.
            major = numbers(place.cuda)[0]
            says, row = min(against, key=lambda pair: pair[1].cuda_major != major)
            return error("package", about(place.cuda, f"{wanted}: {says}"), cite(row, row.name))
    return None


@rule(("cuda", "os"), "cc", "python", asked=("packages",))
def package_python(table: Table, place: Place, target: Target) -> Finding | None:
    """A pinned package needs a wheel for the base's own Python."""
    os = table.os_of(place)
    python = os.python if os is not None else target.python
    for wanted in target.packages:
        row = row_for(table, wanted, place.cuda, target.cc)
        if row is None or python is None or not row.pythons or python in row.pythons:
            continue
        if wanted.range is None or (row.version is not None and row.version in wanted.range):
            where = os.id if os is not None else "this machine"
            says = f"{row.name} {row.version} has no wheel for Python {python}, that of {where}"
            return error("package-python", about(place.cuda, says), cite(row, row.name))
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
    bound = row.requirement.partition("<")[2]
    if bound and wanted.range is not None and row.version and row.version not in wanted.range:
        return f"{row.requirement} cannot be {wanted.range.text}"
    return ""
