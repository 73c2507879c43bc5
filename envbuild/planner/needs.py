"""What the plan needs of the machine's driver, and until when it stays supported."""

from envbuild.matrix.model import Capability, ImageTag
from envbuild.planner import drivers
from envbuild.planner.cards import module_of
from envbuild.planner.ranges import numbers
from envbuild.planner.table import Place, Table
from envbuild.planner.target import Card, Target
from envbuild.planner.window import apart
from envbuild.values.codec import replace
from envbuild.values.plan import DriverNeed, Lifetime


def driver_needs(
    table: Table, target: Target, place: Place, cc: tuple[str, ...]
) -> tuple[DriverNeed, ...]:
    """One entry a cc; without a cc, one entry."""
    return tuple(_need(table, target, place, one) for one in cc or (None,))


def of_machine(
    table: Table, target: Target, place: Place, cc: tuple[str, ...]
) -> tuple[DriverNeed, ...]:
    """The same for one machine that was looked at: one driver, in the window of all its cards."""
    needs = driver_needs(table, target, place, cc)
    one = not (target.declared or target.beside or target.windows)
    vgpu = any(card.vgpu for card in target.cards)
    if not one or vgpu or len(needs) < 2 or apart(table, target.cards):
        return needs
    branch = drivers.suited(table, target.cards, target.as_of, place.cuda)
    least = max((n.min for n in needs if n.min is not None), key=numbers, default=None)
    newest = branch.newest if branch is not None else None
    lasts = [n.last_branch for n in needs if n.last_branch is not None]
    window = {
        "min": least,
        "recommended": max(filter(None, (least, newest)), key=numbers, default=None),
        "last_branch": min(lasts, default=None),
        "module": drivers.modules(table, target.cards),
    }
    return tuple(replace(need, **window) for need in needs)


def _need(table: Table, target: Target, place: Place, cc: str | None) -> DriverNeed:
    windows = target.platform == "wsl2"
    if windows and target.arch == "aarch64":
        return DriverNeed(cc=cc)  # the rows about Windows drivers are about x86-64
    floor = drivers.floor(table, place.cuda)
    least = drivers.floor_text(floor, windows=windows) if floor is not None else None
    below = target.driver and least and numbers(target.driver) < numbers(least)
    if below and isinstance(place.row, ImageTag):
        # Only forward compatibility lets a tag start there: on the branches that it lists.
        least = str(min(place.row.require_branches, default=least))
    if cc is None or cc not in table.capabilities:
        branch = drivers.maintained(table, target.as_of, place.cuda)
        return DriverNeed(cc=cc, min=least, recommended=branch.newest if branch else None)
    row = table.capability(cc)
    if row.tegra or target.platform.startswith("jetson"):
        return DriverNeed(cc=cc)  # its driver is part of its L4T
    cards = [card for card in target.cards if card.cc == cc]
    # Of any card of the cc: a release that lists one product is no bound, others drove it before.
    # What first drove a card is known of Linux drivers alone; both follow from the toolkit.
    first = (None if windows else row.first_driver) or _of_first_toolkit(
        table, row, windows=windows
    )
    here = numbers(target.driver) if target.driver is not None else ()
    if first and here < numbers(first) and cards and all(card.driven for card in cards):
        first = None  # the driver in hand drives them, whatever the first was
    if first is not None and (least is None or numbers(first) > numbers(least)):
        least = first
    if any(card.vgpu for card in cards):
        return DriverNeed(cc=cc, min=least)  # which one it takes is decided by its hypervisor
    if row.last_branch is not None:
        branch = drivers.branch(table, row.last_branch)
    else:
        branch = drivers.maintained(table, target.as_of, place.cuda)
    newest = branch.newest if branch is not None else None
    if newest is not None and least is not None and numbers(newest) < numbers(least):
        newest = least
    return DriverNeed(
        cc=cc,
        min=least,
        # The newest release seen is a Linux one; Windows numbers its drivers differently.
        recommended=None if windows else newest,
        last_branch=row.last_branch,
        module=None if windows else _module(table, cards, row),
    )


def _module(table: Table, cards: list[Card], row: Capability) -> str:
    """What all cards of this cc take; one that is choosier decides."""
    needs = {module_of(table, card) for card in cards} - {"either"}
    return min(needs) if needs else row.module


def _of_first_toolkit(table: Table, row: Capability, *, windows: bool) -> str | None:
    """The driver level of the first toolkit with this target, where no first driver is sourced."""
    toolkit = drivers.first_toolkit(table, row)
    if toolkit is None:
        return None
    shipped = toolkit.driver_windows if windows else toolkit.driver
    if shipped is not None:
        return shipped
    serving = [
        b.branch
        for b in table.matrices.branches
        if b.cuda is not None and numbers(b.cuda) >= numbers(toolkit.cuda)
    ]
    return str(min(serving)) if serving else None


def lifetime(table: Table, target: Target, place: Place, cc: tuple[str, ...]) -> Lifetime:
    """The first of the ends that are known, and what ends: a last driver, toolkit, base system."""
    ends: list[tuple[str, str]] = []
    for one in cc:
        row = table.capabilities.get(one)
        last = drivers.branch(table, row.last_branch) if row and row.last_branch else None
        if row is not None and last is not None and last.ends is not None:
            ends.append((last.ends, f"R{last.branch}, the last driver for {row.arch}"))
    toolkit, os = table.toolkits.get(place.cuda), table.os_of(place)
    if toolkit is not None and toolkit.ends is not None:
        ends.append((toolkit.ends, f"the patches of CUDA {toolkit.cuda}"))
    if os is not None and os.ends is not None and target.where == "image":
        ends.append((os.ends, f"the updates of {os.id}"))
    if not ends:
        if place.os in table.oses or not isinstance(place.row, ImageTag):
            return Lifetime(why="no end is announced")
        return Lifetime(why=f"the end of {place.os} is not in the matrices")
    until, why = min(ends)
    return Lifetime(until=until, why=why)
