"""Driver branches and levels: what a driver version means."""

from typing import TYPE_CHECKING

from envbuild.matrix.model import Branch, Capability, DriverFloor, Toolkit
from envbuild.planner.cards import module_of
from envbuild.planner.ranges import numbers
from envbuild.planner.table import Table, cite
from envbuild.planner.target import Card, Target

if TYPE_CHECKING:
    from envbuild.values.finding import Step
    from envbuild.values.host import Module


UNREAD = "a driver is loaded here, and its version could not be read: whether it will do is open"


def branch_of(table: Table, driver: str) -> Branch | None:
    """The branch a driver belongs to: the newest that is not above it (581.42 is R580)."""
    major = numbers(driver)[0]
    below = [b for b in table.matrices.branches if b.branch <= major]
    return max(below, key=lambda b: b.branch, default=None)


def branch(table: Table, number: int) -> Branch | None:
    """The row of a branch."""
    return next((b for b in table.matrices.branches if b.branch == number), None)


def level(table: Table, driver: str, *, windows: bool) -> str | None:
    """The newest toolkit whose PTX this driver compiles (its CUDA level); None = unknown."""
    at = numbers(driver)
    known = []
    for toolkit in table.toolkits.values():
        shipped = toolkit.driver_windows if windows else toolkit.driver
        if shipped is not None and numbers(shipped) <= at:
            known.append(toolkit.cuda)
    row = branch_of(table, driver)
    if row is not None and row.cuda is not None:
        known.append(row.cuda)
    return max(known, key=numbers, default=None)


def own_level(table: Table, driver: str, told: str | None, *, windows: bool) -> str | None:
    """The CUDA level that was told of a driver, unless its branch has a lower one.

    Then another libcuda answered, one for forward compatibility: a container may not have it. A
    lower one than the branch's may be true of the tool that was asked.
    """
    if told is None:
        return level(table, driver, windows=windows)
    row = None if windows else branch(table, numbers(driver)[0])
    if row is not None and row.cuda is not None and numbers(told) > numbers(row.cuda):
        return row.cuda
    return told


def level_says(driver: str, told: str, own: str | None) -> tuple[str, str]:
    """What to say where the level that was told is not the driver's own, and why that is so."""
    says = f"the machine names CUDA {told}, and its driver {driver} compiles up to {own}: that is "
    why = "a libcuda for forward compatibility (LD_LIBRARY_PATH, cuda-compat) answered in its place"
    return says + "what counts", why


def floor(table: Table, cuda: str) -> DriverFloor | None:
    """Minor-version compatibility's lowest driver for a toolkit."""
    major = numbers(cuda)[0]
    return next((f for f in table.matrices.floors if f.major == major), None)


def floor_text(row: DriverFloor, *, windows: bool) -> str:
    """The lowest driver on this system; where no Windows figure is sourced, the Linux branch.

    Windows means its driver as WSL 2 sees it: the planner plans nothing for Windows itself.
    """
    branch = row.linux.split(".", maxsplit=1)[0]
    return (row.wsl or row.windows or branch) if windows else row.linux


def first_toolkit(table: Table, row: Capability) -> Toolkit | None:
    """The first toolkit with this target; None where older ones than the matrices hold have it."""
    # Before the oldest that is served to all, only those of Jetson lines are known.
    known = map(table.toolkits.__getitem__, table.served)
    first = next((toolkit for toolkit in known if row.target in toolkit.targets), None)
    if first is None or row.tegra or first.cuda == table.served[0]:
        return None
    return first


def newest_toolkit(table: Table, rows: list[Capability]) -> str:
    """The newest toolkit with code for all of these, as a plan without wishes takes it."""
    fit = [
        cuda
        for cuda in table.served
        if all(row.target in table.toolkits[cuda].targets for row in rows)
    ]
    return fit[-1] if fit else "0"


def too_old(
    table: Table, row: Capability, driver: str, level: str | None, *, windows: bool
) -> bool:
    """No driver of that age knows the card.

    A driver serves no card that its own toolkit does not know, nor one of which every product
    came with a later branch. The first driver whose documents list one product is no bound:
    others drove it before.
    """
    first = first_toolkit(table, row)
    if first is not None and level is not None and numbers(level) < numbers(first.cuda):
        return True
    known = None if windows else row.first_driver
    return known is not None and numbers(driver)[0] < numbers(known)[0]


def last_compiles(table: Table, row: Capability, cuda: str) -> bool:
    """Some driver of this card compiles PTX of that toolkit: its last branch is at the level."""
    last = branch(table, row.last_branch) if row.last_branch is not None else None
    level = last.cuda if last is not None else None
    return row.ptx_jit and (level is None or numbers(cuda) <= numbers(level))


def name(row: Branch) -> str:
    """``R580 (580.173.02)``."""
    return f"R{row.branch}" + (f" ({row.newest})" if row.newest else "")


def maintained(table: Table, as_of: str, at_least: str) -> Branch | None:
    """The branch to recommend for a toolkit: long-term before production, then the oldest.

    It must serve the toolkit's level where any maintained branch does, else the newest. A branch
    whose end is not known is none that anybody promised to maintain.
    """
    alive = [
        b
        for b in table.matrices.branches
        if b.cuda is not None and b.newest is not None and (b.ends or "") >= as_of[:7]
    ]
    fit = [b for b in alive if numbers(b.cuda or "0") >= numbers(at_least)]
    if not fit:
        return max(alive, key=lambda b: b.branch, default=None)
    return min(fit, key=lambda b: ("long-term" not in b.kind, "production" not in b.kind, b.branch))


def suited(table: Table, cards: tuple[Card, ...], as_of: str, at_least: str) -> Branch | None:
    """The branch for a machine with these cards: the last of the oldest, else as `maintained`."""
    lasts = [n for card in cards if (n := table.capability(card.cc).last_branch) is not None]
    return branch(table, min(lasts)) if lasts else maintained(table, as_of, at_least)


def modules(table: Table, cards: tuple[Card, ...]) -> str:
    """The kernel modules that all these cards take: open, proprietary or either."""
    needs = {module_of(table, card) for card in cards} - {"either"}
    return min(needs, default="either")


def by_maker(table: Table, cards: tuple[Card, ...]) -> "tuple[tuple[Step, ...], str]":
    """Steps before packages where the maker's own system brings the driver, and their source."""
    from envbuild.advice.fixes.driver import of_maker

    ccs = {card.cc for card in cards}
    row = next((s for s in table.matrices.situations if ccs.intersection(s.cc)), None)
    return ((of_maker(row.says),), cite(row, row.what)) if row is not None else ((), "")


def installation(
    table: Table, target: Target, row: Branch
) -> "tuple[Module, tuple[Step, ...], str]":
    """How a branch comes to the machine that was looked at.

    Returns:
        the flavour of its kernel modules, the steps, and the rows of its packages as a source.
    """
    from envbuild.advice.fixes import driver as fixes
    from envbuild.matrix.load import load_reference
    from envbuild.values.host import Os

    os, rows = Os(id=target.system, arch=target.arch), load_reference()
    module = fixes.flavour(rows, os, row, modules(table, target.cards))
    packed = fixes.package(rows, os, row.branch, module)
    older = target.driver is not None and numbers(target.driver)[0] > row.branch
    if target.inside is not None:
        wish = f"a driver of R{row.branch}, with its {module} kernel modules"
        return module, (fixes.owner(wish),), ""
    first, maker = by_maker(table, target.cards)
    steps = (*first, *fixes.steps(table.matrices, rows, os, row.branch, module, older=older))
    source = f"driver_packages/{packed.os} {packed.status}" if packed is not None else ""
    return module, steps, " · ".join(filter(None, (maker, source)))
