"""A machine that was looked at and whose driver does not hold its cards: what to install."""

from envbuild.planner import drivers
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.table import cite
from envbuild.planner.target import Card
from envbuild.planner.window import apart
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step


def no_driver(chosen: Chosen) -> Finding:
    """Only the bus shows the cards: without their driver no plan for them runs."""
    target = chosen.target
    names = " and ".join(dict.fromkeys(_named(chosen, card) for card in target.cards))
    source = " · ".join(dict.fromkeys(cite(row, row.cc) for row in chosen.capabilities))
    if target.away:
        return _away(names)
    if target.driver is not None:
        return _not_held(target.driver, names, source, target.machine or ())
    if any(card.vgpu for card in target.cards):
        return _guest(chosen, names, source)
    if target.windows:
        return _windows(chosen, names, source)
    return _linux(chosen, target.cards, names, source)


def _not_held(driver: str, names: str, source: str, machine: tuple[str, ...]) -> Finding:
    from envbuild.advice.fixes import modules

    says = f"driver {driver} is here, but only the bus shows {names}: it may not hold it"
    why = "another driver (nouveau, vfio-pci) has it, or this one failed to start"
    doctor = Step(
        why="what this machine's own messages say of it, and what mends it",
        argv=("envbuild", "doctor", *machine),
        check="it ends with exit code 0",
    )
    return replace(
        note("card-not-driven", "warn", says, source, why), steps=(modules.who_holds(), doctor)
    )


def _away(names: str) -> Finding:
    from envbuild.advice.fixes import modules

    says = f"{names} is kept for a virtual machine (vfio-pci): this machine cannot use it meanwhile"
    why = "the guest has the card, its driver and its programs: plan there"
    found = note("card-for-a-guest", "warn", says, "errors/no-devices sourced", why)
    return replace(found, steps=(modules.back_from_guest(),))


def _guest(chosen: Chosen, names: str, source: str) -> Finding:
    says = f"no driver is loaded on this machine: {names} takes that of its hypervisor's release"
    step = Step(
        why="the vGPU manager of the hypervisor decides which guest driver starts",
        text="ask who runs the hypervisor for the guest driver of its vGPU software release",
        check="nvidia-smi: the card; nvidia-smi -q: License Status: Licensed",
    )
    row = next((s for s in chosen.table.matrices.situations if s.what == "vgpu"), None)
    source = cite(row, row.what) if row is not None else source
    return replace(note("driver-missing", "warn", says, source), steps=(step,))


def _windows(chosen: Chosen, names: str, source: str) -> Finding:
    from envbuild.advice.fixes import driver as fixes

    floor = drivers.floor(chosen.table, chosen.choice.place.cuda)
    least = drivers.floor_text(floor, windows=True) if floor is not None else None
    says = f"no driver of Windows serves WSL here: nothing finds {names}"
    return replace(note("driver-missing", "warn", says, source), steps=(fixes.of_windows(least),))


def _linux(chosen: Chosen, cards: tuple[Card, ...], names: str, source: str) -> Finding:
    table, target = chosen.table, chosen.target
    clash = apart(table, cards)
    branch = drivers.suited(table, cards, target.as_of, chosen.choice.place.cuda)
    if clash is not None or branch is None:
        reason, source = clash or ("no branch of these matrices is maintained", source)
        says = f"no driver is loaded on this machine, and none drives all its cards: {reason}"
        return note("driver-missing", "warn", says, source)
    module, steps, packages = drivers.installation(table, target, branch)
    says = (
        f"no driver is loaded on this machine: {names} "
        f"{'need' if len(cards) > 1 else 'needs'} {drivers.name(branch)} "
        f"with its {module} kernel modules"
    )
    if any(table.capability(card.cc).last_branch for card in cards):
        says += ", the last branch that drives it: hold it there"
    source = " · ".join(filter(None, (cite(branch, str(branch.branch)), packages)))
    return replace(note("driver-missing", "warn", says, source), steps=steps)


def _named(chosen: Chosen, card: Card) -> str:
    return f"{card.name or chosen.table.capability(card.cc).arch} (cc {card.cc})"
