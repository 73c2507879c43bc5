"""Why there is no plan: the smallest conflict, and every smallest correction."""

from itertools import combinations

import msgspec

from envbuild.planner.choose import feasible
from envbuild.planner.table import Table
from envbuild.planner.target import Part, Target, parts, without

_ENOUGH = 20_000  # subsets looked at; ten wishes have 1,024


class Conflict(msgspec.Struct, frozen=True):
    """The smallest set of parts that exclude each other, and what cures it.

    Attributes:
        core: parts of which no plan meets all, while any fewer can be met.
        corrections: every smallest set of wishes without which there is a plan.
        changes: facts of which another value would do; a fact is changed, never dropped.
        mixed: where neither is enough by itself, wishes to drop and facts to change together.
    """

    core: tuple[Part, ...]
    corrections: tuple[tuple[Part, ...], ...]
    changes: tuple[tuple[Part, ...], ...]
    mixed: tuple[tuple[Part, ...], ...]


def conflict(table: Table, target: Target) -> Conflict:
    """Explain a target that has no plan."""
    every = parts(target)
    wishes = tuple(p for p in every if p.kind == "wish")
    facts = tuple(p for p in every if p.kind == "fact")
    # A part of a Jetson runs with an L4T alone, and who owns one card does not own another.
    fixed = {"l4t"} if any(table.capability(cc).tegra for cc in target.cc) else set()
    movable = tuple(p for p in facts if p.field not in fixed)
    others = tuple(p for p in movable if p.field != "cards")
    corrections = _smallest(table, target, wishes)
    cards = tuple(p for p in movable if p.field == "cards")
    fewer = [c for c in _smallest(table, target, cards) if len(c) < len(cards)]
    changes = (*_smallest(table, target, others), *fewer)
    return Conflict(
        core=_core(table, target, every),
        corrections=corrections,
        changes=changes,
        mixed=() if corrections or changes else _smallest(table, target, (*wishes, *others)),
    )


def _core(table: Table, target: Target, every: tuple[Part, ...]) -> tuple[Part, ...]:
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


def _shrunk(table: Table, target: Target, every: tuple[Part, ...]) -> tuple[Part, ...]:
    """A conflict from which nothing can be left out; for requests too long to try all sets."""
    kept = every
    for part in every:
        fewer = tuple(p for p in kept if p != part)
        if not feasible(table, without(target, _others(every, fewer))):
            kept = fewer
    return kept


def _smallest(
    table: Table, target: Target, droppable: tuple[Part, ...]
) -> tuple[tuple[Part, ...], ...]:
    looked = 0
    for size in range(1, len(droppable) + 1):
        found: list[tuple[Part, ...]] = []
        for dropped in combinations(droppable, size):
            looked += 1
            if looked > _ENOUGH:
                return tuple(found)
            if feasible(table, without(target, dropped)):
                found.append(dropped)
        if found:
            return tuple(found)
    return ()


def _others(every: tuple[Part, ...], kept: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(p for p in every if p not in kept)
