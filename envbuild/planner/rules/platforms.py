"""Where it runs: this machine or an image, architecture, Jetson, WSL, base system."""

from envbuild.matrix.model import DistroToolkit, JetsonRow, Repository, Toolkit
from envbuild.planner.ranges import numbers
from envbuild.planner.rules.base import error, rule
from envbuild.planner.table import Place, Table, cite
from envbuild.planner.target import Target
from envbuild.values.finding import Finding


@rule("place", "where", "host_os", "platform")
def on_this_side(table: Table, place: Place, target: Target) -> Finding | None:
    """Places of this machine for ``--where host``, bases of images otherwise."""
    del table
    if (place.os is None) != (target.where == "host"):
        return error(
            "where",
            f"{place.source} on {place.os or 'this machine'} is not where it was asked for",
            place.cite,
        )
    if place.os is not None:
        return None
    row = place.row
    if isinstance(row, DistroToolkit) and target.platform == "wsl2":
        says = "a distribution's own toolkit drags a Linux driver into WSL, which shadows the Windows one"
        return error("wsl-distro", says, place.cite)
    if isinstance(row, DistroToolkit) and target.host_os != row.os:
        says = (
            f"only {_title(row.os)}'s own archive has CUDA {row.cuda} (patched for its C library)"
        )
        return error("host-os", says, place.cite)
    if isinstance(row, Repository) and row.kind == "apt":
        wsl = row.platform == "wsl2"
        if wsl != (target.platform == "wsl2") or (not wsl and target.host_os not in row.oses):
            says = f"the repository {row.name} is for another system than this"
            return error("host-os", says, place.cite)
    return None


def _title(os: str) -> str:
    name = os.rstrip("0123456789.")
    return f"{name.capitalize()} {os[len(name) :]}"


@rule("place", "base_os", "where")
def base_os(table: Table, place: Place, target: Target) -> Finding | None:
    """The base system that was asked for."""
    if target.base_os is None or place.os in {target.base_os, None}:
        return None
    del table
    says = f"CUDA {place.cuda} from {place.source} is there on {place.os}, not on {target.base_os}"
    return error("base-os", says, place.cite)


@rule("place", "arch")
def place_arch(table: Table, place: Place, target: Target) -> Finding | None:
    """The CPU architecture."""
    del table
    if target.arch in place.arches:
        return None
    says = f"{place.source} {place.release} on {place.os or 'this machine'} is not made for {target.arch}"
    return error("arch", says, place.cite)


@rule("toolkit", "cc", "arch")
def card_arch(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """Integrated parts come with one CPU architecture."""
    del toolkit
    for cc in target.cc:
        row = table.capability(cc)
        if row.cpu is not None and row.cpu != target.arch:
            says = f"cc {cc} ({row.arch}) sits beside an {row.cpu} CPU: an image for {target.arch} does not run there"
            return error("card-arch", says, cite(row, cc))
    return None


@rule("place", "platform", "l4t", "cc")
def jetson(table: Table, place: Place, target: Target) -> Finding | None:
    """Up to L4T 36 the CUDA of a Jetson is that of its L4T; from 38 on it is a server platform."""
    here = isinstance(place.row, JetsonRow)
    if not target.platform.startswith("jetson"):
        return (
            error("jetson", f"{place.release} is an image for Jetsons", place.cite)
            if here
            else None
        )
    row = table.jetson[target.l4t or ""]
    source = cite(row, row.l4t)
    lacking = [cc for cc in target.cc if cc not in row.cc]
    if lacking:
        return error(
            "jetson",
            f"L4T {row.l4t} is not for cc {lacking[0]}, but for {', '.join(row.cc)}",
            source,
        )
    if row.platform == "jetson-l4t" and place.row is not row:
        says = f"on a Jetson with L4T {row.l4t} CUDA is {row.cuda}: it is part of L4T, and only images made for it see the GPU"
        return error("jetson", says, source)
    if row.platform == "jetson-sbsa" and (here or numbers(place.cuda)[0] != numbers(row.cuda)[0]):
        says = f"L4T {row.l4t} has a CUDA {row.cuda} driver; CUDA {place.cuda} does not run on it"
        return error("jetson", says, source)
    return None
