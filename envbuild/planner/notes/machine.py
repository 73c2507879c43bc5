"""What to know of the cards and of the machine that holds them."""

from collections.abc import Iterator

from envbuild.planner import drivers
from envbuild.planner.cards import module_of
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.planner.target import Card
from envbuild.planner.window import apart
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step


def card_not_driven(chosen: Chosen) -> Iterator[Finding]:
    """A card of the machine that only its bus shows: the plan does not serve it, and why."""
    table, target = chosen.table, chosen.target
    cards = (*target.cards, *target.undriven)
    for card in target.undriven:
        row, reasons = table.capability(card.cc), _reasons(chosen, card)
        says = f"{card.name or row.arch} (cc {card.cc}) is in this machine, but its driver "
        says += f"{target.driver or ''} does not hold it: this plan leaves it out".lstrip()
        why = " and ".join(reasons) or "it is held by another driver, or by none"
        clash = apart(table, cards, windows=target.windows) if reasons else None
        if clash is not None:
            why = f"{' and '.join(reasons)}; {clash[0]}: it needs a machine of its own"
        steps = _for_all(chosen, cards) if reasons and clash is None else ()
        found = note("card-not-driven", "warn", says, cite(row, row.cc), why)
        yield replace(found, steps=steps)


def _reasons(chosen: Chosen, card: Card) -> list[str]:
    """What is known to keep the driver in hand from a card: its branch, its kernel modules."""
    table, target = chosen.table, chosen.target
    row, needs = table.capability(card.cc), module_of(table, card)
    found = []
    if target.driver and row.last_branch and numbers(target.driver)[0] > row.last_branch:
        found.append(f"R{row.last_branch} is its last driver branch")
    if target.module is not None and needs not in {"either", target.module}:
        found.append(f"the {target.module} kernel modules are loaded and it needs the {needs} ones")
    return found


def _for_all(chosen: Chosen, cards: tuple[Card, ...]) -> tuple[Step, ...]:
    """One driver drives every card of this machine, at the price of its own CUDA level."""
    table, target = chosen.table, chosen.target
    row = drivers.suited(table, cards, target.as_of, chosen.choice.place.cuda)
    if row is None:
        return ()
    flavour = "" if target.windows else f" with its {drivers.modules(table, cards)} kernel modules"
    flavour = flavour.replace("with its either", "with either of its")
    level = f"; it compiles PTX up to CUDA {row.cuda}" if row.cuda is not None else ""
    step = Step(
        why=f"one driver drives all cards of this machine{level}",
        text=f"install {drivers.name(row)}{flavour}: `envbuild doctor` there says how",
        check="nvidia-smi -L: every card; then plan anew",
    )
    return (step,)


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


def fabric(chosen: Chosen) -> Iterator[Finding]:
    """NVSwitches between the GPUs: without the Fabric Manager no program finds a device."""
    here, driver = chosen.target.fabric, chosen.target.driver
    if here is None:
        return
    from envbuild.advice.fixes import fabric as fixes

    rows = {row.what: row for row in chosen.table.matrices.situations}
    row, board = rows["fabric-manager"], rows["nvswitch-subnet" if here.subnet else "nvswitch"]
    source = " · ".join(cite(one, one.what) for one in (row, board))
    says = f"NVSwitches join the GPUs of this machine: {row.says}"
    if here.inside is not None:
        step = Step(
            why="this is a container: what joins the GPUs is the machine's around it",
            text="ask who runs the machine for a running Fabric Manager of the driver's version",
            check=fixes.look().check,
        )
        yield replace(note("fabric-manager", "watch", says, source), steps=(step,))
        return
    lacks = fixes.lack(here, driver)
    steps = fixes.steps(here, driver)
    if lacks:
        found = note("fabric-manager", "warn", says, source, f"here {lacks}")
    elif driver is None:
        found = note("fabric-manager", "watch", says, source, "the driver alone does not join them")
    else:
        found = note("fabric-manager", "watch", says, source, "whether it runs here is not known")
        steps = (fixes.look(), *steps)
    yield replace(found, steps=steps)


def profilers(chosen: Chosen) -> Iterator[Finding]:
    """Cards that the current profilers have left."""
    for row in chosen.capabilities:
        if row.profiler and not chosen.target.every_cc:
            says = f"performance counters of {row.arch} (cc {row.cc}): {row.profiler}"
            yield note("profilers", "info", says, cite(row, row.cc))


def _named(card: Card) -> str:
    return card.name or f"cc {card.cc}"
