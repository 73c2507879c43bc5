"""Host compilers and the C library: what the toolkit's headers accept."""

from envbuild.matrix.model import CompilerFloor, DistroToolkit, JetsonRow, Os, Toolkit
from envbuild.planner.ranges import numbers
from envbuild.planner.rules.base import NVCC, about, error, rule
from envbuild.planner.table import Place, Table, cite
from envbuild.planner.target import Target
from envbuild.values.finding import Finding


def gcc_for(table: Table, place: Place, target: Target) -> int | None:
    """Major of the gcc that this place compiles with; None = not known.

    The system's own where it fits, else the newest of its archive that does.
    """
    if isinstance(place.row, DistroToolkit):
        return place.row.gcc
    toolkit = table.toolkits.get(place.cuda)
    if toolkit is None:
        return None
    if place.os is None:
        gcc = numbers(target.gcc)[0] if target.gcc else None
        floor = floor_of(table, place.cuda)
        if gcc is None or (floor is not None and gcc < floor.gcc):
            return None
        return min(gcc, toolkit.gcc_max)
    os = table.oses.get(place.os)
    if os is None or os.gcc is None:
        return None
    floor = floor_of(table, place.cuda)
    least = floor.gcc if floor is not None else 0
    fit = [gcc for gcc in (os.gcc, *os.gccs) if least <= gcc <= toolkit.gcc_max]
    return os.gcc if os.gcc in fit else max(fit, default=None)


def floor_of(table: Table, cuda: str) -> CompilerFloor | None:
    """The row of the oldest gcc that a toolkit takes; None = not known."""
    rows = [r for r in table.matrices.compiler_floors if numbers(r.cuda_from) <= numbers(cuda)]
    return max(rows, key=lambda row: numbers(row.cuda_from), default=None)


@rule(("cuda", "os", "own"), "needs_compiler", binds=NVCC)
def compiler_there(table: Table, place: Place, target: Target) -> Finding | None:
    """Some gcc of the base's own archive must be between the toolkit's floor and ceiling.

    A base whose compilers are too old still runs what was built elsewhere.
    """
    toolkit, os = table.toolkits.get(place.cuda), table.os_of(place)
    if toolkit is None or os is None or os.gcc is None:
        return None
    if gcc_for(table, place, target) is not None:
        return None
    every = os.gccs or (os.gcc,)
    has, floor = ", ".join(map(str, every)), floor_of(table, place.cuda)
    if floor is not None and max(every) < floor.gcc:
        if not target.needs_compiler:
            return None
        says = f"takes gcc {floor.gcc} to {toolkit.gcc_max}; {os.id} has gcc {has}"
        source = cite(floor, floor.cuda_from)
        return error("host-compiler", about(place.cuda, says), source, floor.says)
    says = about(place.cuda, f"takes gcc up to {toolkit.gcc_max}; {os.id} has gcc {has}")
    return error("host-compiler", says, cite(toolkit, place.cuda))


@rule(("cuda", "os", "own"), "glibc", binds=NVCC)
def glibc_clash(table: Table, place: Place, target: Target) -> Finding | None:
    """Headers of older toolkits do not compile against a newer C library, under any gcc."""
    if isinstance(place.row, DistroToolkit) and place.row.patched_glibc:
        return None
    os = table.os_of(place)
    glibc = target.glibc if place.os is None else os.glibc if os is not None else None
    if glibc is None:
        return None
    for row in table.matrices.glibc_clashes:
        old = numbers(place.cuda) < numbers(row.cuda_below)
        if old and numbers(glibc) >= numbers(row.glibc_from):
            on = f"{os.id} (glibc {glibc})" if os is not None else f"glibc {glibc}"
            says = (
                f"its headers do not compile on {on}: both declare {row.symbol}; "
                f"CUDA {row.cuda_below} and newer do, or a container with an older base"
            )
            why = "no other gcc helps: it is the C library's own header that clashes"
            source = cite(row, f"{row.glibc_from}-{row.cuda_below}")
            return error("glibc-clash", about(place.cuda, says), source, why)
    return None


@rule(("cuda", "os", "own"), "gcc", "needs_compiler", binds=NVCC)
def own_compiler(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred: the system's default gcc is between floor and ceiling."""
    toolkit, os = table.toolkits.get(place.cuda), table.os_of(place)
    if toolkit is None:
        return None
    most, source = toolkit.gcc_max, cite(toolkit, place.cuda)
    if place.os is None:
        return _here(table, toolkit, target.gcc) if target.gcc is not None else None
    if os is None or os.gcc is None:
        # The vendor built its image with that system's compiler; which one is not sourced.
        base = table.oses.get(place.row.os or "") if isinstance(place.row, JetsonRow) else None
        if base is not None and base.gcc is not None:
            says = f"the image compiles with gcc {base.gcc}, that of {base.id}"
            return Finding(id="host-compiler", severity="info", says=says, source=place.cite)
        says = (
            f"the compiler of {place.os} is not in the matrices: whether CUDA {place.cuda} takes "
            "it is not known"
        )
        return Finding(id="host-compiler", severity="warn", says=says, source=place.cite)
    chosen = gcc_for(table, place, target)
    if chosen == os.gcc or chosen is None:
        return _untried(table, toolkit, os) if target.needs_compiler else None
    says = (
        f"CUDA {place.cuda} takes gcc up to {most}, the default of {os.id} is {os.gcc}: "
        f"g++-{chosen} is installed and NVCC_CCBIN names it"
    )
    return Finding(id="host-compiler", severity="info", says=says, source=source)


def _untried(table: Table, toolkit: Toolkit, os: Os) -> Finding | None:
    """A base's gcc is older than all that is known, and the toolkit's own floor is not."""
    least = _oldest(table) if floor_of(table, toolkit.cuda) is None else None
    if least is None or os.gcc is None or os.gcc >= least.gcc:
        return None
    says = (
        f"whether CUDA {toolkit.cuda} takes gcc {os.gcc}, that of {os.id}, is not known: "
        f"{least.cuda_from} and newer take {least.gcc} and up"
    )
    source = cite(least, least.cuda_from)
    return Finding(id="host-compiler", severity="warn", says=says, source=source)


def _oldest(table: Table) -> CompilerFloor | None:
    """The floor of the oldest toolkit whose floor is known."""
    rows = table.matrices.compiler_floors
    return min(rows, key=lambda row: numbers(row.cuda_from), default=None)


def _here(table: Table, toolkit: Toolkit, gcc: str) -> Finding | None:
    """This machine's gcc is too new, too old, or older than anything that is known to work."""
    cuda, most, major = toolkit.cuda, toolkit.gcc_max, numbers(gcc)[0]
    floor = floor_of(table, cuda)
    least = floor or _oldest(table)
    out = "or build in a container (--where image)"
    if major > most:
        says = (
            f"CUDA {cuda} takes gcc up to {most}, here is {gcc}: install g++-{most} "
            f"and set NVCC_CCBIN=g++-{most}, {out}"
        )
        source = cite(toolkit, cuda)
    elif least is not None and major < least.gcc:
        says = (
            f"CUDA {cuda} needs gcc {least.gcc} or newer, here is {gcc}: {least.says}; install "
            f"g++-{least.gcc} to g++-{most} and set NVCC_CCBIN, {out}"
        )
        if floor is None:
            says = (
                f"whether CUDA {cuda} takes gcc {gcc} is not known: {least.cuda_from} and newer "
                f"take {least.gcc} and up; try it, {out}"
            )
        source = cite(least, least.cuda_from)
    else:
        return None
    return Finding(id="host-compiler", severity="warn", says=says, source=source)
