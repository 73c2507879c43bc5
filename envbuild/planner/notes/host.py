"""What a plan for this machine itself has to say."""

from collections.abc import Iterator

from envbuild.matrix.model import DistroToolkit, JetsonRow, Repository
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.planner.tools import toolkit_of
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step


def glibc_unknown(chosen: Chosen) -> Iterator[Finding]:
    """The C library was not looked at, and newer ones clash with this toolkit."""
    target, place = chosen.target, chosen.choice.place
    if not target.on_host or target.glibc or place.own or place.kind != "compiler":
        return
    for row in chosen.table.matrices.glibc_clashes:
        if numbers(place.cuda) < numbers(row.cuda_below):
            says = (
                f"on glibc {row.glibc_from} and newer the headers of CUDA {place.cuda} do not "
                "compile: give --glibc, or build in a container (--where image)"
            )
            source = cite(row, f"{row.glibc_from}-{row.cuda_below}")
            yield note("glibc-unknown", "warn", says, source)
            return


def not_of_image(chosen: Chosen) -> Iterator[Finding]:
    """What is said of this machine's C library or compiler does not change an image."""
    request, place = chosen.target.request, chosen.choice.place
    said = [f"--{name}" for name in ("glibc", "gcc") if getattr(request, name) is not None]
    if said and not chosen.target.on_host:
        says = (
            f"{' and '.join(said)} count for --where host alone: "
            f"an image has those of its base, {place.os}"
        )
        yield note("not-of-image", "watch", says, place.cite)


def installed(chosen: Chosen) -> Iterator[Finding]:
    """How the toolkit comes to this machine from the source that was taken."""
    row, place = chosen.choice.place.row, chosen.choice.place
    if not chosen.target.on_host:
        return
    from envbuild.planner.notes import native, rpm, tools

    yield from tools.others_here(chosen)
    yield from tools.compiler_missing(chosen)
    if toolkit_of(chosen.target, place) is not None:
        yield from tools.here(chosen)
        return
    if isinstance(row, Repository):
        says, steps = _from_repository(chosen, row)
    elif isinstance(row, DistroToolkit):
        says = f"install {row.packages[0]} {row.version} of the distribution's own archive"
        steps = native.archive(row)
    elif isinstance(row, JetsonRow):
        says = f"CUDA {row.cuda} comes with JetPack {row.jetpack}, and stays that of its L4T"
        steps = native.jetson(row)
    else:
        says = "install the wheels into a folder of their own, or a virtual environment"
        steps = native.wheels(chosen)
    yield replace(note("host-install", "info", says, place.cite), steps=steps)
    yield from rpm.vendor_rpm(chosen)


def _from_repository(chosen: Chosen, row: Repository) -> tuple[str, tuple[Step, ...]]:
    """What to install from a vendor's archive, and what never."""
    from envbuild.planner.notes import install

    place = chosen.choice.place
    major, minor = numbers(place.cuda)[:2]
    package = row.package.format(major=major, minor=minor, release=place.release)
    says = f"install {package} from {row.name}{f' ({row.url})' if row.url else ''}"
    if row.kind == "apt":
        says += ", never `cuda` or `cuda-drivers`, which bring a driver"
    elif row.kind == "redist":
        says = f"unpack the archives that {row.url}{package} lists with their sha256"
    return says, install.steps(chosen, row, package)
