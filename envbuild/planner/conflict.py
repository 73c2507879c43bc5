"""Why there is no plan: the smallest conflict, and every smallest correction."""

from collections.abc import Callable
from itertools import combinations

import msgspec

from envbuild.planner.choose import feasible
from envbuild.planner.table import Table
from envbuild.planner.target import Part, Target, parts, without
from envbuild.values.codec import replace

Parts = tuple[Part, ...]

_ENOUGH = 20_000  # subsets looked at; ten wishes have 1,024


class Conflict(msgspec.Struct, frozen=True):
    """The smallest set of parts that exclude each other, and what cures it.

    Attributes:
        core: parts of which no plan meets all, while any fewer can be met.
        corrections: every smallest set of wishes without which there is a plan.
        changes: every smallest set of facts of which other values would do, the cards (some of
            them on another image) apart from the rest; a fact is changed, never dropped.
        mixed: every smallest set of wishes to drop and facts to change together, where nothing
            smaller is enough.
    """

    core: Parts
    corrections: tuple[Parts, ...]
    changes: tuple[Parts, ...]
    mixed: tuple[Parts, ...]


def conflict(table: Table, target: Target) -> Conflict:
    """Explain a target that has no plan."""

    def cured(dropped: Parts) -> bool:
        return feasible(table, eased(target, dropped))

    every = parts(target)
    wishes = tuple(p for p in every if p.kind == "wish")
    facts = changeable(table, target)
    cards = tuple(p for p in every if p.field == "cards")
    corrections = smallest(wishes, cured)
    fewer = tuple(c for c in smallest(cards, cured) if len(c) < len(cards))
    changes = (*smallest(facts, cured), *fewer)
    most = min(map(len, (*corrections, *changes)), default=len(every))
    return Conflict(
        core=_core(table, target, every),
        corrections=corrections,
        changes=changes,
        mixed=smallest((*wishes, *facts), cured, both=True, most=most),
    )


def eased(target: Target, dropped: Parts) -> Target:
    """Without these wishes, and with other values of these facts: another machine is a real one."""
    free = without(target, dropped)
    if free.arch is not None:
        return free
    return replace(free, arch="aarch64" if target.arch == "x86_64" else "x86_64")


def changeable(table: Table, target: Target) -> Parts:
    """Facts that could be others; who owns one card does not own another.

    A part of a Jetson runs with an L4T alone.
    """
    fixed = {"cards"}
    if any(table.capability(cc).tegra for cc in target.cc):
        fixed.add("l4t")
    return tuple(p for p in parts(target) if p.kind == "fact" and p.field not in fixed)


def smallest(
    droppable: Parts, cured: Callable[[Parts], bool], *, both: bool = False, most: int | None = None
) -> tuple[Parts, ...]:
    """Every smallest set that cures when it is dropped.

    Args:
        droppable: what may be dropped or changed, in the order in which sets are shown.
        cured: there is a plan without these.
        both: only sets that hold a wish and a fact.
        most: only sets of at most so many parts.
    """
    looked = 0
    for size in range(1, (len(droppable) if most is None else most) + 1):
        found: list[Parts] = []
        for dropped in combinations(droppable, size):
            if both and len({p.kind for p in dropped}) == 1:
                continue
            looked += 1
            if looked > _ENOUGH:
                return tuple(found)
            if cured(dropped):
                found.append(dropped)
        if found:
            return tuple(found)
    return ()


def _core(table: Table, target: Target, every: Parts) -> Parts:
    """The smallest set of parts that alone has no plan, by size, then in their order."""
    looked = 0
    for size in range(len(every) + 1):
        for kept in combinations(every, size):
            looked += 1
            if looked > _ENOUGH:
                return _shrunk(table, target, every)
            if not feasible(table, without(target, _others(every, kept))):
                return kept
    return every


def _shrunk(table: Table, target: Target, every: Parts) -> Parts:
    """A conflict from which nothing can be left out; for requests too long to try all sets."""
    kept = every
    for part in every:
        fewer = tuple(p for p in kept if p != part)
        if not feasible(table, without(target, _others(every, fewer))):
            kept = fewer
    return kept


def _others(every: Parts, kept: Parts) -> Parts:
    return tuple(p for p in every if p not in kept)
