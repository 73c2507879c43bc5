"""What the user would like: toolkit range, source, what is still maintained."""

from envbuild.matrix.model import JetsonRow, Toolkit
from envbuild.planner.rules.base import about, error, rule
from envbuild.planner.table import PROVEN, Place, Table, cite
from envbuild.planner.target import Target
from envbuild.values.finding import Finding


@rule(("cuda", "release"), asked=("cuda",))
def cuda_range(table: Table, place: Place, target: Target) -> Finding | None:
    """The range of toolkits asked for."""
    if target.cuda is None or place.release in target.cuda:
        return None
    toolkit = table.toolkits.get(place.cuda)
    source = cite(toolkit, place.cuda) if toolkit is not None else place.cite
    return error("cuda-range", about(place.cuda, f"not in --cuda {target.cuda.text}"), source)


@rule(("source",), asked=("source",))
def source_asked_for(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred: the toolkit source that was asked for."""
    del table
    if target.source in {None, place.source}:
        return None
    says = f"{place.source} has it, and --toolkit-source asks for {target.source}"
    return Finding(id="toolkit-source", severity="warn", says=says, source=place.cite)


@rule(("source",), "where")
def source_proven(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred for images: a source whose builds were run for real."""
    del table
    if target.where == "host" or place.source in PROVEN:
        return None
    says = (
        f"source {place.source}: not run against the vendor, "
        "proven with stand-in packages from a local server alone"
    )
    return Finding(id="source-unproven", severity="warn", says=says, source=place.cite)


@rule("toolkit", "as_of")
def toolkit_released(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """What came after the date that counts is not there yet."""
    del table
    if not _later(toolkit.released, target.as_of):
        return None
    says = about(toolkit.cuda, f"it came after {target.as_of}")
    return error("toolkit-later", says, cite(toolkit, toolkit.cuda))


@rule(("os",), "as_of")
def base_released(table: Table, place: Place, target: Target) -> Finding | None:
    """The same of a base system."""
    row = table.os_of(place)
    if row is None or not _later(row.released, target.as_of):
        return None
    says = about(place.cuda, f"{row.id} came after {target.as_of}")
    return error("os-later", says, cite(row, row.id))


def _later(released: str | None, as_of: str) -> bool:
    """A month counts as a whole; an empty date leaves nothing out."""
    return bool(released and as_of) and (released or "") > as_of[: len(released or "")]


@rule("toolkit", "as_of")
def toolkit_maintained(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """Preferred: a toolkit that still gets patches at the date that counts."""
    del table
    if toolkit.ends is None or toolkit.ends >= target.as_of[:7]:
        return None
    says = about(toolkit.cuda, f"it gets no patches since {toolkit.ends}")
    return Finding(
        id="toolkit-ended", severity="watch", says=says, source=cite(toolkit, toolkit.cuda)
    )


@rule(("os",), "as_of")
def base_supported(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred: a base system that still gets security updates at that date."""
    row = table.os_of(place)
    if place.os is None or isinstance(place.row, JetsonRow):
        return None  # a machine is what it is, and L4T's image goes with its L4T
    if row is None or row.ends is None:
        says = f"until when {place.os} gets updates is not in the matrices"
        return Finding(id="os-end-unknown", severity="warn", says=says, source=place.cite)
    if row.ends >= target.as_of[:7]:
        return None
    says = f"{row.id} gets no updates since {row.ends}"
    return Finding(id="os-ended", severity="watch", says=says, source=cite(row, row.id))
