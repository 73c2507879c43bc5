"""Linux on a machine of its own: driver, engine, toolkit, proof; an old card's driver held last."""

from envbuild.advice.fixes import driver as fixes
from envbuild.advice.fixes import secure_boot
from envbuild.advice.guide import engine, toolkit
from envbuild.advice.guide.base import (
    DRIVER_VERSION,
    Case,
    Make,
    fits,
    line,
    looked,
    next_branch,
    state,
    within,
)
from envbuild.matrix.load import load, load_reference
from envbuild.planner.ranges import numbers
from envbuild.values.finding import Step
from envbuild.values.guide import Section
from envbuild.values.host import Module


def branch(case: Case) -> int | None:
    """The driver branch to install: the last of the card, else the recommended one."""
    if case.last_branch is not None:
        return case.last_branch
    wanted = [d.recommended or d.min for d in case.plan.driver if d.recommended or d.min]
    return max((numbers(text)[0] for text in wanted), default=None)


def module(case: Case) -> Module:
    """The kernel modules that the cards take, the open ones where either will do."""
    needs = {d.module for d in case.plan.driver}
    if "proprietary" in needs:
        return "proprietary"
    number = branch(case)
    row = next((b for b in load().branches if b.branch == number), None)
    if row is None or needs & {"open"}:
        return "open"
    return fixes.flavour(load_reference(), case.system, row, "either")


def driver(case: Case) -> Section | None:
    """The driver's files, with the modules that the card takes."""
    number = branch(case)
    if number is None:
        return None
    kind, host = module(case), case.host
    steps = fixes.steps(load(), load_reference(), case.system, number, kind, secure_boot=False)
    last = ", the last branch for this card: never 'the newest'" if case.last_branch else ""
    on_disk = [m for m in host.kernel.modules if m.name == "nvidia"] if host is not None else []
    here = host.driver if host is not None else None
    known = fits(here.version, case) if here is not None else None
    if known is not True and on_disk and on_disk[0].on_disk:
        known = fits(on_disk[0].on_disk, case)
    if known is None and looked(host, "gpu"):
        known = False
    flavours = {here.module if here is not None else None, *(m.flavour for m in on_disk)}
    wrong = _needed(case) is not None and bool(flavours - {None, _needed(case)})
    return Section(
        id="driver",
        title=f"Driver R{number} with the {kind} kernel modules is installed",
        why=f"{case.least_driver or 'any driver'} or newer serves the plan; R{number}{last}. "
        "Maxwell to Volta take the proprietary modules alone, Blackwell the open ones alone",
        steps=_without_restart(steps) or (_by_hand(number, kind),),
        test=_on_disk(case),
        fails="modinfo finds no module: dkms could not build it, sudo dkms status says for which "
        "kernel; the headers of the running kernel are missing, or gcc is another than its own",
        state=state(False if wrong else known),
        seen=f"driver {here.version or ''}, {here.module or 'unknown'} modules" if here else "",
        source=f"branches/{number} sourced · driver_packages/{_row(case, number, kind)}",
    )


def driver_runs(case: Case) -> Section | None:
    """The driver, loaded: after a restart."""
    if branch(case) is None:
        return None
    host = case.host
    here = host.driver if host is not None else None
    wrong = here is not None and here.module is not None and here.module != _needed(case)
    known = fits(here.version, case) if here is not None else False if looked(host, "gpu") else None
    return Section(
        id="driver-runs",
        title="The driver runs and finds the card",
        why="the new modules are loaded at the next start; nouveau, which holds the card until "
        "then, gives way to them",
        steps=(
            Step(
                why="nothing that runs is ended without you",
                text="restart the machine (sudo systemctl reboot), then go on here",
                check=fixes.loaded(str(branch(case)), module(case)),
            ),
        ),
        test=_running(case),
        fails="nvidia-smi finds nothing: sudo dmesg | grep -i -e nvrm -e nouveau says why: the "
        "wrong kind of module, a module that is not signed, or nouveau still holds the card",
        state=state(False if wrong and _needed(case) else known),
        seen=f"driver {here.version}" if here is not None and here.version else "",
        source="branches sourced",
    )


def _needed(case: Case) -> Module | None:
    """The one kind of kernel modules that the cards take, None where either will do."""
    needs = {d.module for d in case.plan.driver}
    return "open" if "open" in needs else "proprietary" if "proprietary" in needs else None


def _row(case: Case, number: int, kind: Module) -> str:
    row = fixes.package(load_reference(), case.system, number, kind)
    return f"{row.os} {row.status}" if row is not None else "none"


def _without_restart(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """A restart is the reader's to do, after Secure Boot: it has a section of its own."""
    return tuple(step for step in steps if "reboot" not in step.argv)


def _by_hand(number: int, kind: Module) -> Step:
    return Step(
        why="no row is about the driver packages of this system",
        text=f"install R{number} with the {kind} kernel modules as the system's vendor says",
        check=fixes.loaded(str(number), kind),
    )


def _on_disk(case: Case) -> str:
    test = within(case, '"$(modinfo -F version nvidia 2>/dev/null)"')
    needed = _needed(case)
    if needed is None:
        return test
    words = {"open": "grep -q MIT", "proprietary": "grep -qx NVIDIA"}
    return f"{test} && modinfo -F license nvidia | {words[needed]}"


def _running(case: Case) -> str:
    test = within(case, f'"$({DRIVER_VERSION})"')
    needed = _needed(case)
    if needed is None:
        return test
    marks = {"open": "", "proprietary": "! "}
    return f"{test} && {marks[needed]}grep -q 'Open Kernel Module' /proc/driver/nvidia/version"


def signed_module(case: Case) -> Section | None:
    """Secure Boot takes signed modules alone."""
    host = case.host
    on = host.kernel.secure_boot if host is not None else None
    if on is False:
        return None
    loaded = [m for m in host.kernel.modules if m.name == "nvidia" and m.loaded] if host else []
    return Section(
        id="secure-boot",
        title="Secure Boot is off, or takes the module",
        why="with Secure Boot the kernel loads signed modules alone; a module that dkms builds is "
        "signed with a key of this machine, which the firmware must first be told of",
        steps=secure_boot.steps(case.system.id),
        test=secure_boot.TEST,
        fails="'Key was rejected by service': the key was not enrolled in the blue menu at the "
        "restart: import it again. No other driver, toolkit or container changes that",
        state=state(True if loaded and on is not None else None),
        seen="Secure Boot is on" if on else "",
        source="driver_packages sourced",
    )


def hold(case: Case) -> Section | None:
    """The last section for a card whose drivers have ended: the branch is pinned."""
    last = case.last_branch
    if last is None:
        return None
    kind = module(case)
    steps = fixes.pin(load_reference(), case.system, last, kind)
    host = case.host
    pinned = [p for p in host.pins if str(last) in p.rule or str(last) in p.package] if host else []
    held = host is not None and any(str(last) in name for name in host.held)
    return Section(
        id="hold-driver",
        title=f"The driver stays at R{last}: pinned, and the pin holds",
        why="newer branches do not drive this card: one upgrade without the pin and it is gone",
        steps=steps or (_by_name(last),),
        test=_held(case, last, kind),
        fails=f"a newer branch than R{last} is a candidate: the pin was not installed, or another "
        "repository offers the driver, too: apt-cache policy or dnf list shows which",
        state=state(True if pinned or held else None),
        seen=", ".join(p.path for p in pinned),
        source=f"branches/{last} sourced · driver_packages/{_row(case, last, kind)}",
    )


def _by_name(last: int) -> Step:
    return Step(
        why="the name of the package, or its archive, holds the branch",
        text=f"never install a driver package without {last} in its name or version",
        check=f"nvidia-smi: a driver of R{last}, after each upgrade, too",
    )


def _held(case: Case, last: int, kind: Module) -> str:
    """No package manager would go past the branch; where none could, the driver that is there."""
    beyond = next_branch(last) or last + 1
    row = fixes.package(load_reference(), case.system, last, kind)
    names = ((row.open if kind == "open" else row.proprietary) if row is not None else "") or ""
    first = names.format(branch=last).split()[:1] or ["nvidia-driver"]
    offers = {
        "apt": f"apt-cache policy {line(*first, 'cuda-drivers', 'nvidia-open')} "
        "| sed -n 's/^  Candidate: //p' | grep -v none",
        "dnf": "dnf -q list --available 'nvidia-driver*' 2>/dev/null | awk '{print $2}'",
        "zypper": f"zypper --quiet info {line(*first)} | sed -n 's/^Version *: //p'",
    }
    manager = row.manager.rstrip("5") if row is not None else ""
    offered = offers.get(manager, "modinfo -F version nvidia 2>/dev/null")
    number = "sed -n 's/^[0-9]*://; s/^\\([0-9]*\\)\\..*/\\1/p'"
    return f"test -z \"$({offered} | {number} | awk '$1 >= {beyond}')\""


SECTIONS: tuple[Make, ...] = (
    driver,
    signed_module,
    driver_runs,
    engine.docker_engine,
    engine.podman,
    engine.container_toolkit,
    engine.container_gpu,
    engine.rootless,
    toolkit.toolkit,
    toolkit.compiler,
    toolkit.torch,
    toolkit.certified,
    toolkit.smoke,
    toolkit.timeline,
    toolkit.counters,
    hold,
)
