"""What a product's name leaves open."""

from collections.abc import Iterator

from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.table import cite
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step


def likely_die(chosen: Chosen) -> Iterator[Finding]:
    """A name that few cards share with another chip: the likelier one was taken."""
    for card in chosen.target.cards:
        if not card.unlikely:
            continue
        others = " or ".join(f"{die} (cc {cc})" for die, cc in card.unlikely)
        says = (
            f"{card.name} is planned for as cc {card.cc}, which nearly every one has; "
            f"few are {others}, for which this is no plan"
        )
        step = Step(
            why="the PCI id tells which it is, without a driver",
            argv=("lspci", "-nn", "-d", "10de:"),
            check="plan anew with the id that it shows: --gpu 10de:....",
        )
        source = cite(chosen.table.capability(card.cc), card.cc)
        yield replace(note("name-likely", "warn", says, source), steps=(step,))
