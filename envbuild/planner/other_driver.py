"""The way out of a refusal that is another driver, or its other kernel modules."""

from functools import partial

from envbuild.planner import drivers
from envbuild.planner.cards import module_of
from envbuild.planner.choose import choose, feasible
from envbuild.planner.needs import driver_needs
from envbuild.planner.ranges import numbers
from envbuild.planner.spell import describe
from envbuild.planner.table import Table, lowest, remember
from envbuild.planner.target import Part, Target, without
from envbuild.planner.window import apart
from envbuild.values.codec import replace
from envbuild.values.finding import Step
from envbuild.values.request import Request

_DRIVER = Part(kind="fact", field="driver", value="", says="")


def change(table: Table, target: Target) -> Step:
    """Which driver would do, on the machine, not in the image."""
    if any(card.vgpu for card in target.cards):
        return _guest_driver(table, target)
    if not target.declared and (clash := apart(table, target.cards, windows=target.windows)):
        return Step(
            why=f"no driver drives all of these on one machine: {clash[0]}",
            text="give one of them a machine of its own",
            check="envbuild plan on each machine",
        )
    if _stays(table, target):
        return _modules(table, target)
    free = without(target, (_DRIVER,))
    least = window(table, free)
    needs = {module_of(table, card) for card in target.cards} - {"either", target.module}
    if target.module is not None and needs:
        least += f", with its {min(needs)} kernel modules"
    best = _recommended(table, free)
    choice = choose(table, _with_driver(table, free, best)) if best is not None else None
    gives = f"; {best} gives {describe(free, choice)}" if choice is not None else ""
    return Step(
        why=f"change the driver (a fact): {least}{gives}",
        text=f"{_where(target)} {least}",
        check="nvidia-smi names the new version",
    )


def _where(target: Target) -> str:
    """Who installs a driver, and where: never in an image."""
    if target.windows:
        return "install on Windows, nothing inside WSL:"
    if target.inside is not None:
        host = f"this is a container ({target.inside}) and has the driver of its host"
        return f"{host}: take a host with"
    return "install on the machine, not in the image:"


def _stays(table: Table, target: Target) -> bool:
    """The driver would do, and comes with the kernel modules that are needed."""
    if target.driver is None or target.module is None:
        return False
    row, needs = drivers.branch_of(table, target.driver), drivers.modules(table, target.cards)
    comes = row is not None and needs in row.modules and needs != target.module
    return comes and feasible(table, replace(target, module=None))


def _modules(table: Table, target: Target) -> Step:
    """The branch will do as it is; its kernel modules are of the wrong flavour."""
    kept = replace(target, module=None)
    needs = drivers.modules(table, target.cards)
    choice = choose(table, kept)
    gives = f"; that gives {describe(kept, choice)}" if choice is not None else ""
    words = "with the words" if needs == "open" else "without the words"
    # Packages bring the newest release of a branch, not the one that is here.
    branch = (target.driver or "").partition(".")[0]
    return Step(
        why=f"change its kernel modules (a fact) and keep the driver's branch, R{branch}{gives}",
        text=f"install a driver of R{branch} with its {needs} kernel modules instead of "
        f"the {target.module} ones, and restart",
        check=f"cat /proc/driver/nvidia/version: {branch}, {words} Open Kernel Module",
    )


def installing(table: Table, target: Target) -> tuple[Step, ...]:
    """The only way is another driver: how it comes to the machine that was looked at."""
    asked = target.request.cc or target.request.gpus or target.request.driver
    special = target.inside or any(card.vgpu for card in target.cards)
    clash = apart(table, target.cards, windows=target.windows)
    if target.declared or asked or special or clash is not None:
        return ()
    if target.windows:
        return _on_windows(table, target)
    free = without(target, (_DRIVER,))
    version = target.driver if _stays(table, target) else _recommended(table, free)
    row = drivers.branch_of(table, version) if version is not None else None
    return drivers.installation(table, target, row)[1] if row is not None else ()


def _on_windows(table: Table, target: Target) -> tuple[Step, ...]:
    from envbuild.advice.fixes import windows
    from envbuild.matrix.load import load_reference

    page = next(row for row in load_reference().wsl if row.what == "windows-driver-page")
    ends = (table.capability(cc).last_branch for cc in target.cc)
    return windows.of_branch(page, min((end for end in ends if end is not None), default=None))


def _guest_driver(table: Table, target: Target) -> Step:
    """A vGPU's driver comes with the release that its hypervisor runs."""
    free = without(target, (_DRIVER,))
    return Step(
        why=f"change the vGPU software of hypervisor and guest (a fact): {window(table, free)}",
        text="ask who runs the hypervisor: its release decides which guest driver starts",
        check="nvidia-smi names the new version",
    )


def window(table: Table, target: Target) -> str:
    """From the oldest driver with which there is a plan to the last that drives the cards.

    Remembered: machines of a fleet that differ in their drivers alone are told the same.
    """
    key = ("window", replace(target, request=Request(), provenance=()))
    known = table.memo.get(key)
    if not isinstance(known, str):
        known = _searched(table, target)
        remember(table, key, known)
    return known


def _searched(table: Table, target: Target) -> str:
    least = next(filter(partial(_enough, table, target), _drivers(table, target)), None)
    lasts = [n for cc in target.cc if (n := table.capability(cc).last_branch) is not None]
    last = drivers.branch(table, min(lasts)) if lasts else None
    text = f"driver {least} or newer" if least else "another driver"
    if last is not None:
        # The newest release of a branch is known for Linux alone.
        text += f", at most {f'R{last.branch}' if target.windows else drivers.name(last)}"
    return text


def _enough(table: Table, target: Target, driver: str) -> bool:
    choice = choose(table, _with_driver(table, target, driver))
    if choice is None:
        return False
    needs = driver_needs(table, target, choice.place, target.cc)
    return all(numbers(driver) >= numbers(need.min) for need in needs if need.min)


def _recommended(table: Table, target: Target) -> str | None:
    """The driver that a plan recommends; on WSL none is known."""
    choice = choose(table, target)
    needs = driver_needs(table, target, choice.place, target.cc) if choice is not None else ()
    return min((n.recommended for n in needs if n.recommended), key=numbers, default=None)


def _with_driver(table: Table, target: Target, driver: str) -> Target:
    level = drivers.level(table, driver, windows=target.windows)
    return replace(target, driver=driver, driver_cuda=level)


def _drivers(table: Table, target: Target) -> list[str]:
    """Drivers at which something begins to work, ascending: what toolkits and cards need."""
    found = {row.windows if target.windows else row.linux for row in table.matrices.floors}
    for toolkit in table.toolkits.values():
        found.add(toolkit.driver_windows if target.windows else toolkit.driver)
    for mask in table.of_cuda.values():
        found |= {n.min for n in driver_needs(table, target, table.places[lowest(mask)], target.cc)}
    return sorted({driver for driver in found if driver}, key=numbers)
