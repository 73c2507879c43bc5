"""Several machines: the fewest images that cover them, and which machine takes which."""

from collections.abc import Sequence
from itertools import combinations

import msgspec

from envbuild.matrix.model import Matrices
from envbuild.planner.cards import cpu_of
from envbuild.planner.choose import choose, feasible
from envbuild.planner.join import join, own
from envbuild.planner.needs import driver_needs
from envbuild.planner.one import matrix_id, plan_one
from envbuild.planner.ranges import numbers
from envbuild.planner.resolve import resolve
from envbuild.planner.rules.base import error, some
from envbuild.planner.share import Sharing
from envbuild.planner.table import Place, Table, cite, table_of
from envbuild.planner.target import Card, Target, parts
from envbuild.planner.window import apart
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step, outcome
from envbuild.values.plan import DriverNeed, Fleet, FleetEntry, FleetNode
from envbuild.values.request import Request


class Node(msgspec.Struct, frozen=True):
    """A machine with a name, or ``count`` machines that are alike."""

    name: str
    target: Target
    count: int = 1


Kind = tuple[Target, list[Node]]
"""Machines that no rule tells apart."""


def fleet(target: Target, matrices: Matrices) -> Fleet:
    """The fewest images for the cards of one request, each in a machine of its own."""
    table = table_of(matrices)
    one = replace(target, split=False)
    nodes = [Node(card.name or card.cc, _with(table, one, (card,))) for card in target.cards]
    return cover(nodes or [Node("", one)], matrices, split=True)


def cover(nodes: Sequence[Node], matrices: Matrices, *, split: bool, strict: bool = False) -> Fleet:
    """The fewest images for all nodes: an exact minimum.

    Args:
        nodes: machines; their wishes are the same.
        matrices: the rows.
        split: several images are allowed; without it, needing more than one is a refusal.
        strict: a node that cannot exist is a refusal too, not only a warning; where there is no
            other node, it always is.
    """
    table = table_of(matrices)
    kinds = _kinds(nodes)
    broken = [(kind, why) for kind in kinds if (why := _impossible(table, kind[0])) is not None]
    whole = [kind for kind in kinds if all(kind is not one for one, _ in broken)]
    alone = [kind for kind in whole if not feasible(table, kind[0])]
    served = [kind for kind in whole if all(kind is not one for one in alone)]
    groups = _groups(table, served)
    findings = [_cannot_be(kind, why, strict=strict or not whole) for kind, why in broken]
    if len(groups) > 1 and not split:
        findings = [*_several(table, served), *findings]
        groups = []
    made = [*groups, *([kind] for kind in alone)]
    targets = [own(table, join([target for target, _ in group])) for group in made]
    entries = tuple(
        FleetEntry(nodes=_names(group), plan=plan_one(table, target))
        for group, target in zip(made, targets, strict=True)
    )
    told: dict[str, FleetNode] = {}
    for number, (group, target) in enumerate(zip(made, targets, strict=True), 1):
        choice = choose(table, target)
        for kind in group:
            need = _need(table, kind[0], choice.place) if choice is not None else DriverNeed()
            told |= {node.name: _node(node, number, need) for node in kind[1]}
    for kind, (reason, _) in broken:
        told |= {node.name: _node(node, None, DriverNeed(), reason) for node in kind[1]}
    every = (*(f for entry in entries for f in entry.plan.findings), *findings)
    return Fleet(
        outcome=outcome(every),
        entries=entries,
        findings=tuple(findings),
        nodes=tuple(told.get(n.name) or _node(n, None, DriverNeed()) for n in nodes if n.name),
        matrix=matrix_id(matrices),
    )


def only(table: Table, target: Target, cc: tuple[str, ...]) -> Target:
    """The target for the cards of some cc."""
    return _with(table, target, tuple(card for card in target.cards if card.cc in cc))


def _with(table: Table, target: Target, cards: tuple[Card, ...]) -> Target:
    """For some of its cards; a machine that nobody described follows from its cards."""
    part = replace(target, cards=cards)
    asked = target.request
    if not target.declared or asked.arch or asked.platform or asked.l4t:
        return part
    if {cpu_of(table, card) for card in part.cards} & {None, target.arch}:
        return part
    cc = tuple(dict.fromkeys(card.cc for card in cards))
    named = replace(asked, cc=cc, gpus=(), split=False)
    other = resolve(named, None, table.matrices)
    return replace(other, cards=cards, request=asked)


def _kinds(nodes: Sequence[Node]) -> list[Kind]:
    """Equal machines together, by their cards, then as they come.

    Products that differ in nothing but the name are one; the first of them stands for all.
    """
    cards: dict[Card, Card] = {}
    known: dict[int, Kind] = {}
    found: dict[Target, Kind] = {}
    for node in nodes:
        target = node.target
        kind = known.get(id(target))
        if kind is None:
            same = [cards.setdefault(replace(card, name=None), card) for card in target.cards]
            target = replace(target, cards=tuple(dict.fromkeys(same)))
            facts = {} if target.on_host else dict.fromkeys(("glibc", "gcc", "python", "host_os"))
            key = replace(target, request=Request(), provenance=(), **facts)
            kind = known[id(node.target)] = found.setdefault(key, (target, []))
        kind[1].append(node)
    return sorted(found.values(), key=lambda kind: [numbers(cc) for cc in kind[0].cc])


def _groups(table: Table, kinds: list[Kind]) -> list[list[Kind]]:
    """The machines of each image, oldest cards first; an image is for one architecture."""
    nodes = {id(target): kind for kind in kinds for target in [kind[0]]}
    classes: dict[object, list[Target]] = {}
    for target, _ in kinds:
        classes.setdefault(_class(target), []).append(target)
    return [
        [nodes[id(target)] for target in group]
        for same in classes.values()
        for group in Sharing(table, same).fewest()
    ]


def _class(target: Target) -> object:
    """What machines must have in common; a plan for a machine itself is for that system alone."""
    if not target.on_host:
        return target.arch
    here = (target.host_os, target.glibc, target.gcc, target.python)
    return target.arch, target.platform, target.l4t, here


def _impossible(table: Table, target: Target) -> tuple[str, str] | None:
    """Why no such machine can work with all its cards, and the source."""
    if target.l4t is not None:
        return None
    return apart(table, target.cards, windows=target.windows)


def _cannot_be(kind: Kind, why: tuple[str, str], *, strict: bool) -> Finding:
    reason, source = why
    return Finding(
        id="host-impossible",
        severity="error" if strict else "warn",
        says=f"{_some(kind)}: no single machine can drive all its cards: {reason}",
        why="one driver, with one flavour of kernel modules, serves all cards of a machine",
        steps=(Step(why="one of the cards is idle whatever is installed", text="move it"),),
        source=source,
    )


def _several(table: Table, kinds: list[Kind]) -> tuple[Finding, ...]:
    """One image was asked for: machines that cannot share it, then why."""
    from envbuild.planner.refusal import deciding

    clash = _conflict(table, kinds)
    who = " and ".join(f"{_some(kind)} ({_facts(kind[0])})" for kind in clash)
    joined = join([target for target, _ in clash])
    reasons = deciding(table, joined, parts(joined))
    if len({_class(target) for target, _ in clash}) > 1:
        rows = [table.capability(cc) for target, _ in clash for cc in target.cc]
        source = " · ".join(dict.fromkeys(cite(row, row.cc) for row in rows))
        reasons = (error("arch", "an image is for one kind of machine", source),)
    several = "several images instead of one, and which node takes which"
    conflict = Finding(
        id="conflict",
        severity="error",
        says=f"{who} cannot share an image",
        why="; ".join(finding.says for finding in reasons[:2]),
        steps=(Step(why=several, text="the same command with --split"),),
        source=" · ".join(dict.fromkeys(finding.source for finding in reasons)),
    )
    return conflict, *reasons


def _conflict(table: Table, kinds: list[Kind]) -> list[Kind]:
    """The first two that cannot share an image, else the smallest set found by leaving out."""
    for one, other in combinations(kinds, 2):
        if _class(one[0]) != _class(other[0]):
            return [one, other]
    sharing = Sharing(table, [target for target, _ in kinds])
    for i, j in combinations(range(len(kinds)), 2):
        if not sharing.share(1 << i | 1 << j):
            return [kinds[i], kinds[j]]
    left = (1 << len(kinds)) - 1
    for i in range(len(kinds)):
        if not sharing.share(left & ~(1 << i)):
            left &= ~(1 << i)
    return [kind for i, kind in enumerate(kinds) if left >> i & 1]


def _facts(target: Target) -> str:
    cards = [f"{c.name}, cc {c.cc}" if c.name else f"cc {c.cc}" for c in target.cards]
    driver = [f"driver {target.driver}"] if target.driver else []
    return ", ".join([*cards, *driver, *([target.arch] if target.arch else [])])


def _names(group: list[Kind]) -> tuple[str, ...]:
    return tuple(node.name for _, nodes in group for node in nodes if node.name)


def _some(kind: Kind) -> str:
    return some([node.name for node in kind[1]])


def _node(node: Node, entry: int | None, need: DriverNeed, says: str = "") -> FleetNode:
    target = node.target
    return FleetNode(
        name=node.name,
        count=node.count,
        cc=target.cc,
        gpus=tuple(dict.fromkeys(card.name for card in target.cards if card.name)),
        entry=entry,
        given=target.driver,
        driver=need,
        says=says,
    )


def _need(table: Table, target: Target, place: Place) -> DriverNeed:
    """What all cards of a machine need of its one driver."""
    needs = driver_needs(table, target, place, target.cc)
    first = min(needs, key=lambda need: need.last_branch or 10_000)
    least = max((need.min for need in needs if need.min), key=numbers, default=None)
    newest = first.recommended
    if newest is not None and least is not None and numbers(newest) < numbers(least):
        newest = least
    modules = {need.module for need in needs if need.module} - {"either"}
    module = min(modules) if modules else first.module
    return replace(first, cc=None, min=least, recommended=newest, module=module)
