"""Whether one machine can hold some cards: its driver's window, and its kernel modules."""

from envbuild.planner.cards import module_of
from envbuild.planner.ranges import numbers
from envbuild.planner.table import Table, cite
from envbuild.planner.target import Card


def apart(
    table: Table, cards: tuple[Card, ...], *, windows: bool = False
) -> tuple[str, str] | None:
    """Why no single machine drives all these cards, and its source; None = one can.

    A machine has one driver: at or above the first of each card, at or below the last branch of
    each, and on Linux with one flavour of kernel modules.
    """
    found = None if windows else _modules(table, cards)
    return found or _branches(table, cards)


def _modules(table: Table, cards: tuple[Card, ...]) -> tuple[str, str] | None:
    needs = {module_of(table, card): card for card in cards}
    old, new = needs.get("proprietary"), needs.get("open")
    if old is None or new is None:
        return None
    closed, opened = _name(table, old), _name(table, new)
    reason = f"{closed} needs the proprietary kernel modules, {opened} the open ones"
    return reason, _rows(table, old, new)


def _branches(table: Table, cards: tuple[Card, ...]) -> tuple[str, str] | None:
    """The window from the highest first driver to the lowest last branch is empty."""
    ending = [
        (row.last_branch, card) for card in cards if (row := table.capability(card.cc)).last_branch
    ]
    starting = [
        (first, card)
        for card in cards
        if (first := table.capability(card.cc).first_driver) is not None
    ]
    if not ending or not starting:
        return None
    last, old = min(ending, key=lambda pair: pair[0] or 0)
    first, new = max(starting, key=lambda pair: numbers(pair[0]))
    if numbers(first)[0] <= (last or 0):
        return None
    reason = f"{_name(table, old)} ends with R{last}, {_name(table, new)} begins with {first}"
    return reason, _rows(table, old, new)


def _name(table: Table, card: Card) -> str:
    return f"{card.name or table.capability(card.cc).arch} ({card.cc})"


def _rows(table: Table, *cards: Card) -> str:
    return " · ".join(cite(table.capability(card.cc), card.cc) for card in cards)
