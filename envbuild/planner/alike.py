"""Machines that no rule tells apart are one kind: a fleet is planned for kinds, not for nodes."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from envbuild.planner.ranges import numbers
from envbuild.planner.table import Table, remember
from envbuild.planner.target import Card, Target
from envbuild.values.codec import replace
from envbuild.values.request import Request

_VERSION = re.compile(r"\d{3,}(\.\d+){0,3}", re.ASCII)

Version = tuple[int, ...]


class Node(msgspec.Struct, frozen=True):
    """A machine with a name, or ``count`` machines that are alike."""

    name: str
    target: Target
    count: int = 1


class Kind(NamedTuple):
    """Machines that no rule tells apart; the first of them stands for all."""

    target: Target
    nodes: list[Node]

    @property
    def ends(self) -> list[Target]:
        """The machines of the oldest and the newest driver: what all share is what these do."""
        given = [node.target for node in self.nodes if node.target.driver is not None]
        if not given:
            return [self.target]
        by_age = sorted(given, key=lambda target: numbers(target.driver or ""))
        first, last = by_age[0], by_age[-1]
        return (
            [self.target]
            if first.driver == last.driver
            else [
                replace(self.target, **{name: getattr(one, name) for name in _OF_DRIVER})
                for one in (first, last)
            ]
        )


_OF_DRIVER = ("driver", "request", "provenance")


def kinds(table: Table, nodes: Sequence[Node]) -> list[Kind]:
    """The kinds of these machines, by their cards, then as they come.

    Products that differ in nothing but the name are one, and so are drivers between which no row
    names another: whatever a rule compares a driver with is in the rows.
    """
    cards: dict[Card, Card] = {}
    known: dict[int, Kind] = {}
    found: dict[Target, Kind] = {}
    steps = _steps(table, {card for node in nodes for card in node.target.cards})
    for node in nodes:
        target = node.target
        kind = known.get(id(target))
        if kind is None:
            same = [cards.setdefault(replace(card, name=None), card) for card in target.cards]
            target = replace(target, cards=tuple(dict.fromkeys(same)))
            facts = {} if target.on_host else dict.fromkeys(("glibc", "gcc", "python", "host_os"))
            driver = _step(steps, target.driver)
            key = replace(target, request=Request(), provenance=(), driver=driver, **facts)
            kind = known[id(node.target)] = found.setdefault(key, Kind(target, []))
        kind.nodes.append(node)
    return sorted(found.values(), key=lambda kind: [numbers(cc) for cc in kind.target.cc])


def _step(steps: list[Version], driver: str | None) -> str | None:
    """Where a driver stands: its branch, and between which versions of the rows, or on which."""
    if driver is None:
        return None
    at = numbers(driver)
    return f"{at[0]} {bisect_left(steps, at)} {bisect_right(steps, at)}"


def _steps(table: Table, cards: Iterable[Card]) -> list[Version]:
    """Every version in the rows, and of these cards, that can be one of a driver, ascending."""
    known = table.memo.get("driver-steps")
    if not isinstance(known, frozenset):
        rows = msgspec.to_builtins(table.matrices)
        known = frozenset(text for text in _texts(rows) if _VERSION.fullmatch(text))
        remember(table, "driver-steps", known)
    own = {card.first_driver for card in cards if card.first_driver}
    return sorted({numbers(text) for text in known | own})


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
