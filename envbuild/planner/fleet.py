"""Several machines: the fewest images that cover them, and which machine takes which."""

from collections.abc import Sequence
from itertools import combinations

from envbuild.host.access import lack
from envbuild.matrix.model import Matrices
from envbuild.planner.alike import Kind, Node, alike, kinds, newest
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
    oldest = alike(table, nodes)
    # Of hundreds of drivers each rule judges a few; what is said of a machine names its own.
    table.alike = {driver: first for driver, first in oldest.items() if driver != first}
    try:
        return _cover(table, nodes, kinds(nodes, oldest), split=split, strict=strict)
    finally:
        table.alike = {}


def _cover(
    table: Table, nodes: Sequence[Node], every: list[Kind], *, split: bool, strict: bool
) -> Fleet:
    broken: list[tuple[Kind, tuple[str, str]]] = []
    served: list[Kind] = []
    alone: list[Kind] = []
    for kind in every:
        why = _impossible(table, kind.target)
        if why is not None:
            broken.append((kind, why))
        else:
            (served if feasible(table, kind.target) else alone).append(kind)
    groups = _groups(table, served)
    strict = strict or not (served or alone)
    findings = [_cannot_be(kind, why, strict=strict) for kind, why in broken]
    if len(groups) > 1 and not split:
        findings = [*_several(table, served), *findings]
        groups = []
    made = [(group, _together(table, group)) for group in groups]
    # A refusal says what to change of one machine: the first of its kind.
    made += [([kind], own(table, kind.first)) for kind in alone]
    entries = tuple(
        FleetEntry(nodes=_names(group), plan=plan_one(table, target)) for group, target in made
    )
    told: dict[str, FleetNode] = {}
    for number, (group, target) in enumerate(made, 1):
        choice = choose(table, target)
        for kind in group:
            need = _need(table, kind.target, choice.place) if choice is not None else DriverNeed()
            told |= {node.name: _node(node, number, need) for node in kind.nodes}
    for kind, (reason, _) in broken:
        told |= {node.name: _node(node, None, DriverNeed(), reason) for node in kind.nodes}
    said = (*(f for entry in entries for f in entry.plan.findings), *findings)
    return Fleet(
        outcome=outcome(said),
        entries=entries,
        findings=tuple(findings),
        nodes=tuple(told.get(n.name) or _node(n, None, DriverNeed()) for n in nodes if n.name),
        matrix=matrix_id(table.matrices),
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


def _groups(table: Table, every: list[Kind]) -> list[list[Kind]]:
    """The machines of each image, oldest cards first; an image is for one architecture."""
    by_target = {id(kind.target): kind for kind in every}
    classes: dict[object, list[Target]] = {}
    for kind in every:
        classes.setdefault(_class(kind.target), []).append(kind.target)
    return [
        [by_target[id(target)] for target in group]
        for same in classes.values()
        for group in Sharing(table, same).fewest()
    ]


def _together(table: Table, group: list[Kind]) -> Target:
    """The target of the image for these machines."""
    if len({node.target.driver for kind in group for node in kind.nodes}) == 1:
        return own(table, join([kind.first for kind in group]))
    # No one flag names their drivers, however alike they are.
    return own(table, join([kind.target for kind in group] + [newest(group)]))


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


def _several(table: Table, every: list[Kind]) -> tuple[Finding, ...]:
    """One image was asked for: machines that cannot share it, then why."""
    from envbuild.planner.refusal import deciding

    clash = _conflict(table, every)
    who = " and ".join(f"{_some(kind)} ({_facts(kind.target)})" for kind in clash)
    joined = join([kind.target for kind in clash])
    reasons = deciding(table, joined, parts(joined))
    if len({_class(kind.target) for kind in clash}) > 1:
        rows = [table.capability(cc) for kind in clash for cc in kind.target.cc]
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


def _conflict(table: Table, every: list[Kind]) -> list[Kind]:
    """The first two that cannot share an image, else the smallest set found by leaving out."""
    for one, other in combinations(every, 2):
        if _class(one.target) != _class(other.target):
            return [one, other]
    sharing = Sharing(table, [kind.target for kind in every])
    for i, j in combinations(range(len(every)), 2):
        if not sharing.share(1 << i | 1 << j):
            return [every[i], every[j]]
    left = (1 << len(every)) - 1
    for i in range(len(every)):
        if not sharing.share(left & ~(1 << i)):
            left &= ~(1 << i)
    return [kind for i, kind in enumerate(every) if left >> i & 1]


def _facts(target: Target) -> str:
    cards = [f"{c.name}, cc {c.cc}" if c.name else f"cc {c.cc}" for c in target.cards]
    driver = [f"driver {target.driver}"] if target.driver else []
    return ", ".join([*cards, *driver, *([target.arch] if target.arch else [])])


def _names(group: list[Kind]) -> tuple[str, ...]:
    return tuple(node.name for kind in group for node in kind.nodes if node.name)


def _some(kind: Kind) -> str:
    return some([node.name for node in kind.nodes])


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
        access=_access(target),
    )


def _access(target: Target) -> str | None:
    """How this machine's own engine gives a GPU: nodes of one image may differ in it."""
    here = target.containers
    if here is None or target.on_host:
        return None
    return "none" if lack(here) else target.access


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
