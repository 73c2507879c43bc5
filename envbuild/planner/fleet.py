"""Several images: the fewest that cover every card, and which card takes which."""

from itertools import combinations

from envbuild.matrix.model import Matrices
from envbuild.planner.cards import cpu_of
from envbuild.planner.choose import feasible
from envbuild.planner.one import matrix_id, plan_one
from envbuild.planner.resolve import resolve
from envbuild.planner.spell import as_request
from envbuild.planner.table import Table, table_of
from envbuild.planner.target import Target
from envbuild.values.codec import replace
from envbuild.values.finding import outcome
from envbuild.values.plan import Fleet, FleetEntry


def fleet(target: Target, matrices: Matrices) -> Fleet:
    """An exact minimum: no fewer images serve all the cards."""
    table = table_of(matrices)
    one = replace(target, split=False)
    # A card that has no plan by itself would make every cover fail: it keeps its own refusal.
    alone = tuple(cc for cc in target.cc if not feasible(table, only(table, one, (cc,))))
    rest = tuple(cc for cc in target.cc if cc not in alone)
    groups = (*_cover(table, one, rest), *((cc,) for cc in alone)) if target.cc else ((),)
    parts = [_own(only(table, one, group)) if group else one for group in groups]
    entries = tuple(
        FleetEntry(nodes=group, plan=plan_one(table, part))
        for group, part in zip(groups, parts, strict=True)
    )
    every = tuple(f for entry in entries for f in entry.plan.findings)
    return Fleet(outcome=outcome(every), entries=entries, matrix=matrix_id(matrices))


def only(table: Table, target: Target, cc: tuple[str, ...]) -> Target:
    """The target for some of its cards; a machine that nobody described follows from its cards."""
    part = replace(target, cards=tuple(card for card in target.cards if card.cc in cc))
    asked = target.request
    if not target.declared or asked.arch or asked.platform or asked.l4t:
        return part
    if {cpu_of(table, card) for card in part.cards} & {None, target.arch}:
        return part
    named = replace(asked, cc=cc, gpus=(), split=False)
    other = resolve(named, None, table.matrices)
    return replace(other, cards=part.cards, request=asked)


def _own(target: Target) -> Target:
    """With a request of its own, so that its plan says how to ask for it alone."""
    return replace(target, request=as_request(target))


def _cover(table: Table, target: Target, cc: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The fewest groups that each have a plan: combinations of largest groups, smallest first."""
    if not cc:
        return ()
    sets = _largest(table, target, cc)
    for size in range(1, len(cc) + 1):
        for chosen in combinations(sets, size):
            if set().union(*chosen) == set(cc):
                return _disjoint(chosen, cc)
    return tuple((one,) for one in cc)


def _largest(table: Table, target: Target, cc: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Sets of cards with a plan to which no further card can be added."""
    found: set[frozenset[str]] = set()

    def grow(inside: tuple[str, ...], left: tuple[str, ...]) -> None:
        open_ = tuple(c for c in left if feasible(table, only(table, target, (*inside, c))))
        if not open_:
            found.add(frozenset(inside))
            return
        for i, c in enumerate(open_):
            if not any({*inside, *open_[i:]} <= known for known in found):
                grow((*inside, c), open_[i + 1 :])

    grow((), cc)
    maximal = [s for s in found if not any(s < other for other in found)]
    return tuple(sorted(maximal, key=lambda s: sorted(cc.index(c) for c in s)))


def _disjoint(
    chosen: tuple[frozenset[str], ...], cc: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    """Each card in the newest group that can take it: an old card must not hold others back."""
    groups: list[tuple[str, ...]] = []
    placed: set[str] = set()
    newest_first = sorted(chosen, key=lambda group: max(cc.index(c) for c in group), reverse=True)
    for group in newest_first:
        mine = tuple(c for c in cc if c in group and c not in placed)
        placed |= set(mine)
        if mine:
            groups.append(mine)
    return tuple(reversed(groups))
