"""What to know of the cards and of the machine that holds them."""

from collections.abc import Iterator

from envbuild.planner.cards import module_of
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.planner.target import Card
from envbuild.values.finding import Finding


def card_not_driven(chosen: Chosen) -> Iterator[Finding]:
    """A card of the machine that only its bus shows: the plan does not serve it, and why."""
    target = chosen.target
    for card in target.undriven:
        row = chosen.table.capability(card.cc)
        needs = module_of(chosen.table, card)
        says = f"{card.name or row.arch} (cc {card.cc}) is in this machine, but its driver "
        says += f"{target.driver or ''} does not hold it: this plan leaves it out".lstrip()
        why = "it is held by another driver, or by none"
        if target.module is not None and needs not in {"either", target.module}:
            why = (
                f"the {target.module} kernel modules are loaded and it needs the {needs} ones: "
                "one Linux machine loads one kind, so that it needs a machine of its own"
            )
        elif target.driver and row.last_branch and numbers(target.driver)[0] > row.last_branch:
            why = f"R{row.last_branch} is its last driver branch"
        yield note("card-not-driven", "warn", says, cite(row, row.cc), why)


def name_note(chosen: Chosen) -> Iterator[Finding]:
    """Where a product's name misleads."""
    for card in chosen.target.cards:
        if card.note:
            source = cite(chosen.table.capability(card.cc), card.cc)
            yield note("name-note", "info", f"{card.name} (cc {card.cc}): {card.note}", source)


def partitioned(chosen: Chosen) -> Iterator[Finding]:
    """MIG: a process uses one instance; without one there is no device."""
    row = next((s for s in chosen.table.matrices.situations if s.what == "mig"), None)
    for card in chosen.target.cards if row is not None else ():
        if card.mig is None or row is None:
            continue
        if card.mig:
            yield note("mig", "info", f"{_named(card)}: {row.says}", cite(row, row.what))
            continue
        says = (
            f"{_named(card)}: MIG is on and has no instance: no process finds a device "
            "until `nvidia-smi mig -cgi ... -C` makes one"
        )
        yield note("mig-no-instance", "warn", says, cite(row, row.what))


def virtual(chosen: Chosen) -> Iterator[Finding]:
    """A slice of a card in a virtual machine."""
    row = next((s for s in chosen.table.matrices.situations if s.what == "vgpu"), None)
    for card in chosen.target.cards if row is not None else ():
        if row is not None and card.vgpu:
            why = "who runs the hypervisor decides on the driver, so that none is recommended here"
            yield note("vgpu", "watch", f"{_named(card)}: {row.says}", cite(row, row.what), why)


def profilers(chosen: Chosen) -> Iterator[Finding]:
    """Cards that the current profilers have left."""
    for row in chosen.capabilities:
        if row.profiler and not chosen.target.every_cc:
            says = f"performance counters of {row.arch} (cc {row.cc}): {row.profiler}"
            yield note("profilers", "info", says, cite(row, row.cc))


def _named(card: Card) -> str:
    return card.name or f"cc {card.cc}"
