"""What a rule is, and how it becomes a mask over places or builds."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Literal

import msgspec

from envbuild.planner.table import Table, bits, lowest, remember
from envbuild.planner.target import Card, Target
from envbuild.values.codec import replace
from envbuild.values.finding import Finding

Axis = Literal["toolkit", "build"] | tuple[str, ...]
Judge = Callable[[Table, Any, Target], Finding | None]

NVCC = ("compiler",)
TAGS = ("image",)
NOT_TAGS = ("wheels", "distro", "apt", "redist", "conda")


class Rule(msgspec.Struct, frozen=True):
    """One kind of constraint: judged once per row of its axis.

    Attributes:
        axis: ``toolkit`` and ``build`` are judged by their rows; a tuple of fields of `Place`
            is judged by one place of each group that is equal in them, () by every place.
        reads: the fields of the target that it looks at; equal fields, equal verdicts.
        told: its verdict follows from those alone, but what it says names more of the target.
        values: those fields of a target.
        judge: a finding speaks against the row.
        asked: it has nothing to say unless one of these fields is set; None = it always may.
        binds: kinds or sources of places that it can speak against, () = all.
        each: judged for each card by itself, so that sets of cards share what is known of each.
    """

    id: str
    axis: Axis
    reads: tuple[str, ...]
    values: Callable[[Target], object]
    judge: Judge
    asked: Callable[[Target], bool] | None
    binds: tuple[str, ...]
    each: Literal["", "cc", "cards"]
    told: bool


class Verdict(msgspec.Struct, frozen=True):
    """Rows that a rule lets pass, as a mask, and what it says: (mask, finding) pairs.

    Attributes:
        parts: the verdicts on each card, where it is made of them.
        anew: says it of the target in hand, where another one was judged in its place.
    """

    mask: int
    says: tuple[tuple[int, Finding], ...] = ()
    parts: "tuple[Verdict, ...]" = ()
    anew: Callable[[int], Finding | None] | None = None

    def about(self, index: int) -> Finding | None:
        """What it says about one place (or build)."""
        for part in self.parts:
            if (finding := part.about(index)) is not None:
                return finding
        for mask, finding in self.says:
            if mask >> index & 1:
                return finding if self.anew is None else self.anew(mask)
        return None


def rule(
    axis: Axis,
    *reads: str,
    asked: tuple[str, ...] = (),
    binds: tuple[str, ...] = (),
    each: Literal["", "cc", "cards"] = "",
    told: bool = False,
) -> Callable[[Judge], Rule]:
    """Make a Rule of a function; its id is the function's name."""

    def make(judge: Judge) -> Rule:
        name = judge.__name__.replace("_", "-")
        every = (*asked, *reads)
        return Rule(name, axis, every, _values(every), judge, _asked(asked), binds, each, told)

    return make


def _values(fields: tuple[str, ...]) -> Callable[[Target], object]:
    return attrgetter(*fields) if fields else lambda _: None


def _asked(fields: tuple[str, ...]) -> Callable[[Target], bool] | None:
    if not fields:
        return None
    one = attrgetter(*fields)
    return (
        (lambda target: any(one(target))) if len(fields) > 1 else lambda target: bool(one(target))
    )


def stand_in(table: Table, target: Target) -> Target:
    """What is judged in its place: with the oldest driver that no rule tells from its own."""
    driver = table.alike.get(target.driver)
    return target if driver is None else replace(target, driver=driver)


def verdict(rule: Rule, table: Table, target: Target) -> Verdict:
    """The rule's verdict on every row, remembered per table and per what the rule reads.

    Of drivers that are alike (`Table.alike`) one is judged; what is said names the one in hand.
    """
    if rule.asked is not None and not rule.asked(target):
        return _silent(table, rule.axis == "build")
    judged = stand_in(table, target) if "driver" in rule.reads else target
    key = (rule.id, rule.values(judged))
    if not rule.each or not target.cards:
        return _of(rule, table, judged, target, key)
    by_cc = rule.each == "cc"
    one = tuple(
        _of(rule, table, judged, target, (key, card.cc if by_cc else card), card=card)
        for card in target.cards
    )
    if len(one) == 1:
        return one[0]
    mask = _every(rule, table)
    for made in one:
        mask &= made.mask
    return Verdict(mask, parts=one)


def _silent(table: Table, build: bool) -> Verdict:
    known = table.memo.get(build)
    if not isinstance(known, Verdict):
        known = Verdict(table.all_builds if build else table.all_places, ())
        remember(table, build, known)
    return known


def _of(
    rule: Rule,
    table: Table,
    judged: Target,
    target: Target,
    key: object,
    *,
    card: Card | None = None,
) -> Verdict:
    """The verdict on a target, or on one of its cards; ``judged`` differs in its driver alone."""
    known = table.memo.get(key)
    if not isinstance(known, Verdict):
        known = _judge(rule, table, judged if card is None else replace(judged, cards=(card,)))
        remember(table, key, known)
    if (judged is target and not rule.told) or not known.says:
        return known

    def anew(mask: int) -> Finding | None:
        own = target if card is None else replace(target, cards=(card,))
        return rule.judge(table, _row(rule, table, mask), own)

    return Verdict(known.mask, known.says, anew=anew)


def _judge(rule: Rule, table: Table, target: Target) -> Verdict:
    says = []
    against = 0
    for row, mask in _rows(rule, table):
        finding = rule.judge(table, row, target) if mask else None
        if finding is not None:
            says.append((mask, finding))
            against |= mask
    return Verdict(_every(rule, table) & ~against, tuple(says))


def _every(rule: Rule, table: Table) -> int:
    return table.all_builds if rule.axis == "build" else table.all_places


def _rows(rule: Rule, table: Table) -> Iterable[tuple[object, int]]:
    """What is judged, and the mask of what each stands for."""
    if rule.axis == "build":
        return ((build, 1 << i) for i, build in enumerate(table.builds))
    scope = table.all_places
    if rule.binds:
        scope = 0
        for name in rule.binds:
            scope |= table.of_kind.get(name, 0) | table.of_source.get(name, 0)
    if rule.axis == "toolkit":
        rows = table.toolkits.items()
        return ((row, table.of_cuda.get(cuda, 0) & scope) for cuda, row in rows)
    if not rule.axis:
        return ((table.places[i], 1 << i) for i in bits(scope))
    groups = table.groups(rule.axis, scope)
    return ((table.places[lowest(mask)], mask) for mask in groups.values())


def _row(rule: Rule, table: Table, mask: int) -> object:
    """The row that was judged for all that a mask stands for."""
    first = lowest(mask)
    if rule.axis == "build":
        return table.builds[first]
    place = table.places[first]
    return table.toolkits[place.cuda] if rule.axis == "toolkit" else place


def about(cuda: str, says: str) -> str:
    """A sentence about one toolkit; lists of toolkits leave its name out (`without_name`)."""
    return f"CUDA {cuda}: {says}"


def without_name(cuda: str, says: str) -> str:
    """The sentence of `about`, so that equal reasons of several toolkits are equal texts."""
    return says.removeprefix(f"CUDA {cuda}: ")


def some(names: list[str]) -> str:
    """The first three of a list, and how many more there are."""
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


def error(id: str, says: str, source: str, why: str = "") -> Finding:
    """A finding that takes a row away."""
    return Finding(id=id, severity="error", says=says, why=why, source=source)
