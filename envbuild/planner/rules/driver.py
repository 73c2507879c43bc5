"""The driver: which cards it drives, which toolkits run on it, what it can compile."""

from envbuild.matrix.model import Toolkit
from envbuild.planner import drivers
from envbuild.planner.ranges import numbers
from envbuild.planner.rules.base import error, rule
from envbuild.planner.table import Place, Table, cite
from envbuild.planner.target import Card, Target
from envbuild.values.finding import Finding


@rule("toolkit", "cards", "driver", "module", "platform")
def driver_drives_card(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """The driver in hand must drive each card: last branch, first release, kernel module."""
    del toolkit
    if target.platform.startswith("jetson"):
        return None
    for card in target.cards:
        finding = _last_branch(table, card, target) or _first_driver(table, card, target)
        finding = finding or _module(table, card, target)
        if finding is not None:
            return finding
    return None


def _last_branch(table: Table, card: Card, target: Target) -> Finding | None:
    row = table.capability(card.cc)
    if target.driver is None or row.last_branch is None:
        return None
    here = drivers.branch_of(table, target.driver)
    last = drivers.branch(table, row.last_branch)
    if here is None or last is None or here.branch <= last.branch:
        return None
    says = f"driver {target.driver} does not drive {row.arch} (cc {card.cc}): {drivers.name(last)} is the last branch that does"
    return error(
        "driver-last-branch", says, cite(last, str(last.branch)), "newer branches ignore the card"
    )


def _first_driver(table: Table, card: Card, target: Target) -> Finding | None:
    row = table.capability(card.cc)
    first = card.first_driver or row.first_driver
    if target.driver is None or first is None or target.platform == "wsl2":
        return None
    if numbers(target.driver) >= numbers(first):
        return None
    branch = drivers.branch_of(table, first)
    # A beta or a distribution's build of the same branch may list the card earlier.
    if branch is not None and numbers(target.driver)[0] >= branch.branch:
        return None
    says = f"driver {target.driver} is older than {card.name or row.arch} (cc {card.cc}): {first} is the first known to drive it"
    return error("driver-first", says, cite(row, row.cc))


def _module(table: Table, card: Card, target: Target) -> Finding | None:
    row = table.capability(card.cc)
    if (
        target.module is None
        or row.module in {"either", target.module}
        or target.platform == "wsl2"
    ):
        return None
    says = f"the {target.module} kernel modules are loaded, and {row.arch} (cc {card.cc}) needs the {row.module} ones"
    return error(
        "module-flavour",
        says,
        cite(row, row.cc),
        "with the wrong flavour the driver finds no device",
    )


@rule("toolkit", "driver", "platform")
def driver_floor(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """Minor-version compatibility: no toolkit of a major runs below that major's floor."""
    row = drivers.floor(table, toolkit.cuda)
    if target.driver is None or row is None:
        return None
    least = drivers.floor_text(row, windows=target.platform == "wsl2")
    if numbers(target.driver) >= numbers(least):
        return None
    says = f"CUDA {row.major}.x needs driver {least} or newer; {target.driver} is given"
    return error(
        "driver-floor", says, cite(row, str(row.major)), "nothing is compatible across majors"
    )


@rule("toolkit", "packages", "driver", "driver_cuda")
def package_jit(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """Packages that emit PTX need a driver at the toolkit's level."""
    if target.driver_cuda is None or numbers(toolkit.cuda) <= numbers(target.driver_cuda):
        return None
    for wanted in target.packages:
        for row in table.packages.get(wanted.name, ()):
            if row.needs_jit:
                says = f"{wanted.name} emits PTX that the driver must compile: driver {target.driver or ''} (CUDA {target.driver_cuda}) stops before CUDA {toolkit.cuda}"
                return error(
                    "package-jit",
                    says,
                    cite(row, row.name),
                    "minor-version compatibility covers finished code (SASS), not PTX: error 222",
                )
    return None


@rule("place", "driver", "driver_cuda")
def jit_on_driver(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred: a toolkit at or below the driver's level, whose PTX the driver can compile."""
    if target.driver_cuda is None or numbers(place.cuda) <= numbers(target.driver_cuda):
        return None
    toolkit = table.toolkits.get(place.cuda)
    if toolkit is None:
        return None
    says = f"CUDA {place.cuda} starts on this driver (CUDA {target.driver_cuda}) by minor-version compatibility, but the driver cannot compile its PTX"
    why = "finished code (SASS) for each card runs; PTX ends in error 222"
    return Finding(
        id="jit-above-driver",
        severity="watch",
        says=says,
        why=why,
        source=cite(toolkit, place.cuda),
    )
