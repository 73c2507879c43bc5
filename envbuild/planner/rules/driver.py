"""The driver: which cards it drives, which toolkits run on it, what it can compile."""

from envbuild.matrix.model import ImageTag, Toolkit
from envbuild.planner import drivers
from envbuild.planner.cards import module_of
from envbuild.planner.ranges import numbers
from envbuild.planner.rules.base import NOT_TAGS, NVCC, TAGS, about, error, rule
from envbuild.planner.rules.images import ON_MACHINE, forwarded
from envbuild.planner.table import Place, Table, cite
from envbuild.planner.target import Card, Target
from envbuild.values.finding import Finding


@rule("toolkit", "driver_cuda", "platform", asked=("driver", "module"), each="cards")
def driver_drives_card(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """The driver in hand must drive each card: last branch, first release, kernel module."""
    del toolkit
    if target.platform.startswith("jetson"):
        return None
    for card in target.cards:
        finding = (
            _last_branch(table, card, target)
            or _first_driver(table, card, target)
            or _module(table, card, target)
        )
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
    says = (
        f"driver {target.driver} does not drive {row.arch} (cc {card.cc}): "
        f"{drivers.name(last)} is the last branch that does"
    )
    why = "newer branches ignore the card"
    return error("driver-last-branch", says, cite(last, str(last.branch)), why)


def _first_driver(table: Table, card: Card, target: Target) -> Finding | None:
    """The driver in hand is older than any that could know the card."""
    row = table.capability(card.cc)
    if target.driver is None or card.driven:
        return None
    windows, level = target.windows, target.driver_cuda
    if not drivers.too_old(table, row, target.driver, level, windows=windows):
        return None
    first = drivers.first_toolkit(table, row)
    if first is None or level is None or numbers(level) >= numbers(first.cuda):
        says = (
            f"driver {target.driver} is older than {card.name or row.arch} (cc {card.cc}): "
            f"{row.first_driver} is the first known to drive it"
        )
        return error("driver-first", says, cite(row, row.cc))
    known = "" if windows or row.first_driver is None else f"; {row.first_driver} drives it"
    says = (
        f"driver {target.driver} (CUDA {level}) is older than the first toolkit that knows "
        f"{row.arch} (cc {card.cc}), CUDA {first.cuda}{known}"
    )
    return error("driver-first", says, cite(first, first.cuda))


def _module(table: Table, card: Card, target: Target) -> Finding | None:
    row, needs = table.capability(card.cc), module_of(table, card)
    if target.module is None or needs in {"either", target.module}:
        return None
    if target.platform == "wsl2":
        return None
    whose = f" of driver {target.driver}" if target.driver is not None else ""
    says = (
        f"the {target.module} kernel modules{whose} are loaded, "
        f"and {card.name or row.arch} (cc {card.cc}) needs the {needs} ones"
    )
    why = "with the wrong flavour a driver of the right version finds no device"
    return error("module-flavour", says, cite(row, row.cc), why)


@rule("toolkit", "platform", asked=("driver",), binds=NOT_TAGS)
def driver_floor(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """Minor-version compatibility: no toolkit of a major runs below that major's floor."""
    return _below_floor(table, toolkit.cuda, target)


@rule(("cuda", "release"), *ON_MACHINE, asked=("driver",), binds=TAGS, each="cards")
def tag_floor(table: Table, place: Place, target: Target) -> Finding | None:
    """The same, but for a tag whose own newer libcuda serves each card and this branch."""
    below = _below_floor(table, place.cuda, target)
    if below is None or (isinstance(place.row, ImageTag) and forwarded(table, place.row, target)):
        return None
    return below


def _below_floor(table: Table, cuda: str, target: Target) -> Finding | None:
    row = drivers.floor(table, cuda)
    if target.driver is None or row is None:
        return None
    least = drivers.floor_text(row, windows=target.windows)
    if numbers(target.driver) >= numbers(least):
        return None
    inside = " in WSL 2" if target.windows and row.wsl else ""
    says = f"CUDA {row.major}.x{inside} needs driver {least} or newer; {target.driver} is given"
    why = "across majors only a vendor tag's own libcuda helps, on data-centre cards"
    return error("driver-floor", says, cite(row, str(row.major)), why)


@rule("toolkit", "driver_cuda", asked=("packages",))
def package_jit(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """Packages that emit PTX need a driver at the toolkit's level."""
    level = target.driver_cuda
    if level is None or numbers(toolkit.cuda) <= numbers(level):
        return None
    for wanted in target.packages:
        for row in table.packages.get(wanted.name, ()):
            if row.needs_jit:
                says = about(
                    toolkit.cuda,
                    f"{wanted.name} emits PTX that the driver must compile, "
                    f"and the driver stops at CUDA {level}",
                )
                why = "minor-version compatibility covers finished code, not PTX: error 222"
                return error("package-jit", says, cite(row, row.name), why)
    return None


@rule(("cuda", "release", "source"), asked=("driver_cuda",), binds=NVCC, told=True)
def jit_on_driver(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred: a toolkit at or below the driver's level, whose PTX the driver can compile."""
    level, toolkit = target.driver_cuda, table.toolkits.get(place.cuda)
    if toolkit is None or level is None or numbers(toolkit.cuda) <= numbers(level):
        return None
    if isinstance(place.row, ImageTag) and forwarded(table, place.row, target):
        says = about(
            place.cuda,
            f"needs more than the driver (CUDA {level}): its PTX is compiled by a newer libcuda "
            "that the tag brings (forward compatibility)",
        )
        why = "forward compatibility: data-centre cards and the branches the tag lists, no others"
        return Finding(id="forward-compat", severity="info", says=says, why=why, source=place.cite)
    says = about(
        toolkit.cuda,
        f"starts on this driver (CUDA {level}) by minor-version compatibility, "
        "but the driver cannot compile its PTX",
    )
    why = "finished code (SASS) for each card runs; PTX ends in error 222"
    source = cite(toolkit, toolkit.cuda)
    return Finding(id="jit-above-driver", severity="watch", says=says, why=why, source=source)
