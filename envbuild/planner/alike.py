"""Machines that no rule tells apart are one kind: a fleet is planned for kinds, not for nodes."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
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
    """Machines that no rule tells apart.

    Attributes:
        target: what stands for all; of drivers that are alike it has the fleet's oldest, so that
            kinds share what the rules say of a driver.
        first: the first of them as it is, for what is said of one machine.
    """

    target: Target
    first: Target
    nodes: list[Node]


def kinds(nodes: Sequence[Node], oldest: Mapping[str, str]) -> list[Kind]:
    """The kinds of these machines, by their cards, then as they come.

    Products that differ in nothing but the name are one, and so are drivers between which no row
    names another: whatever a rule compares a driver with is in the rows. ``oldest`` is what `alike`
    found of these machines.
    """
    cards: dict[Card, Card] = {}
    known: dict[int, Kind] = {}
    found: dict[Target, Kind] = {}
    for node in nodes:
        kind = known.get(id(node.target))
        if kind is None:
            same = [cards.setdefault(replace(card, name=None), card) for card in node.target.cards]
            # How one machine is to be set up is no matter of a plan for many.
            own: dict[str, object] = dict.fromkeys(
                ("containers", "fabric", "tools", "inside", "claim"), None
            )
            own["away"] = False
            first = replace(node.target, cards=tuple(dict.fromkeys(same)), **own)
            target = first if first.driver is None else on_driver(first, oldest[first.driver])
            facts = {} if target.on_host else dict.fromkeys(("glibc", "gcc", "python", "host_os"))
            key = replace(target, request=Request(), provenance=(), **facts)
            kind = known[id(node.target)] = found.setdefault(key, Kind(target, first, []))
        kind.nodes.append(node)
    return sorted(found.values(), key=lambda kind: [numbers(cc) for cc in kind.target.cc])


def on_driver(target: Target, driver: str) -> Target:
    """The machine with another driver of the same level."""
    facts = [replace(p, value=driver) if p.fact == "driver" else p for p in target.provenance]
    named = target.request.driver and driver
    request = replace(target.request, driver=named)
    return replace(target, driver=driver, request=request, provenance=tuple(facts))


def newest(group: Sequence[Kind]) -> Target:
    """The machine with the newest driver, where one is known."""
    drivers = [
        (numbers(node.target.driver), node.target.driver, kind)
        for kind in group
        for node in kind.nodes
        if node.target.driver is not None
    ]
    _, driver, kind = max(drivers, key=itemgetter(0))
    return on_driver(kind.first, driver)


def alike(table: Table, nodes: Sequence[Node]) -> dict[str, str]:
    """For each driver of these machines the oldest that is alike.

    That is the same branch, and the same place among the versions in the rows: between two of
    them, or on one.
    """
    steps = _steps(table, {card for node in nodes for card in node.target.cards})
    given = {node.target.driver for node in nodes if node.target.driver is not None}
    found: dict[str, str] = {}
    first: dict[tuple[int, int, int], str] = {}
    for driver in sorted(given, key=numbers):
        at = numbers(driver)
        here = (at[0], bisect_left(steps, at), bisect_right(steps, at))
        found[driver] = first.setdefault(here, driver)
    return found


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
