"""Linux on a machine of its own: driver, engine, toolkit, proof; an old card's driver held last."""

from envbuild.advice.fixes import driver as fixes
from envbuild.advice.fixes import secure_boot
from envbuild.advice.guide import engine, toolkit
from envbuild.advice.guide.base import Case, Make, fits, next_branch, state
from envbuild.matrix.load import load, load_reference
from envbuild.planner.ranges import numbers
from envbuild.values.finding import Step
from envbuild.values.guide import Section
from envbuild.values.host import Module

_VERSION = "nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1"


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
    """The driver, with the modules that the card takes."""
    number = branch(case)
    if number is None:
        return None
    kind, host = module(case), case.host
    steps = _without_restart(
        fixes.steps(load(), load_reference(), case.system, number, kind) if case.os else ()
    )
    here = host.driver if host is not None else None
    known = fits(here.version, case) if here is not None else False if _looked(case) else None
    wrong = here is not None and here.module is not None and _wrong(case, here.module)
    last = f", the last branch for this card: never `the newest`" if case.last_branch else ""
    return Section(
        id="driver",
        title=f"Driver R{number} with the {kind} kernel modules",
        why=f"{case.least_driver or 'any driver'} or newer serves the plan; R{number}{last}. "
        "Maxwell to Volta take the proprietary modules alone, Blackwell the open ones alone",
        steps=steps or (_by_hand(number, kind),),
        test=_test(case),
        fails="nvidia-smi is missing or finds nothing: the machine was not restarted, or the "
        "module was not loaded: sudo dmesg | grep -i -e nvrm -e nouveau says why",
        state=state(False if wrong else known),
        seen=f"driver {here.version or ''}, {here.module or 'unknown'} modules" if here else "",
        source=f"branches/{number} sourced · driver_packages/{_row(case, number, kind)}",
    )


def _row(case: Case, number: int, kind: Module) -> str:
    row = fixes.package(load_reference(), case.system, number, kind)
    return f"{row.os} {row.status}" if row is not None else "none"


def _looked(case: Case) -> bool:
    return case.host is not None and any(p.name in {"nvml", "gpu", "pci"} for p in case.host.probes)


def _wrong(case: Case, flavour: Module) -> bool:
    needs = {d.module for d in case.plan.driver} - {None, "either"}
    return bool(needs) and flavour not in needs


def _without_restart(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """A restart is the reader's to do: no script may end what runs beside it."""
    return tuple(
        Step(why=s.why, text=f"restart the machine: {' '.join(s.argv)}; then go on here", check=s.check)
        if "reboot" in s.argv
        else s
        for s in steps
    )


def _by_hand(number: int, kind: Module) -> Step:
    return Step(
        why="no row is about the driver packages of this system",
        text=f"install R{number} with the {kind} kernel modules as the system's vendor says",
        check=fixes.loaded(str(number), kind),
    )


def _test(case: Case) -> str:
    """The driver answers, is new enough, and of no branch after the last."""
    least, last = case.least_driver or "0", case.last_branch
    test = f'printf \'%s\\n\' {least} "$({_VERSION})" | sort -CV'
    if last is not None:
        beyond = next_branch(last)
        if beyond is not None:
            test += f' && test "$({_VERSION} | cut -d. -f1)" -lt {beyond}'
    flavours = {d.module for d in case.plan.driver} - {None, "either"}
    if len(flavours) == 1:
        word = "" if flavours == {"open"} else "! "
        test += f" && {word}grep -q 'Open Kernel Module' /proc/driver/nvidia/version"
    return test


def signed_module(case: Case) -> Section | None:
    """Secure Boot takes signed modules alone."""
    host = case.host
    on = host.kernel.secure_boot if host is not None else None
    if on is False:
        return None
    loaded = [m for m in host.kernel.modules if m.name == "nvidia" and m.loaded] if host else []
    return Section(
        id="secure-boot",
        title="Secure Boot accepts the module, or is off",
        why="with Secure Boot the kernel loads signed modules alone; a module that dkms builds is "
        "signed with a key of this machine, which the firmware must first be told of",
        steps=secure_boot.steps(case.os),
        test="{ mokutil --sb-state 2>/dev/null || echo disabled; } | grep -q disabled || modinfo "
        "-F signer nvidia 2>/dev/null | grep -q . && test -d /sys/module/nvidia",
        fails="`Key was rejected by service`: the key was not enrolled in the blue menu at the "
        "restart: import it again. No other driver, toolkit or container changes that",
        state=state(True if loaded and on is not None else None),
        seen="Secure Boot is on" if on else "",
        source="errors/secure-boot sourced",
    )


def hold(case: Case) -> Section | None:
    """The last section for a card whose drivers have ended: the branch is pinned."""
    last = case.last_branch
    if last is None:
        return None
    kind = module(case)
    steps = fixes.pin(load_reference(), case.system, last, kind) if case.os is not None else ()
    host = case.host
    pinned = [p for p in host.pins if str(last) in p.rule or str(last) in p.package] if host else []
    held = host is not None and any(str(last) in name for name in host.held)
    return Section(
        id="hold-driver",
        title=f"The driver stays at R{last}: pinned, and the pin holds",
        why=f"newer branches do not drive this card: one upgrade without the pin and it is gone",
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
    """No package manager would go past the branch."""
    beyond = next_branch(last) or last + 1
    row = fixes.package(load_reference(), case.system, last, kind)
    names = ((row.open if kind == "open" else row.proprietary) if row is not None else "") or ""
    packages = names.format(branch=last).split()[:1] or ["nvidia-driver"]
    number = "sed 's/^[0-9]*://; s/[^0-9].*//'"
    if case.os is not None and case.os.family == "rpm":
        newest = "dnf -q list --available 'nvidia-driver*' 2>/dev/null | awk '$2 ~ /^[0-9]/ {print $2}'"
        return f'test -z "$({newest} | {number} | awk \'$1 >= {beyond}\')"'
    newest = f"apt-cache policy {' '.join(packages)} cuda-drivers nvidia-open | sed -n 's/^  Candidate: //p'"
    return f'test -z "$({newest} | grep -v none | {number} | awk \'$1 >= {beyond}\')"'


SECTIONS: tuple[Make, ...] = (
    driver,
    signed_module,
    engine.docker_engine,
    engine.container_toolkit,
    engine.container_gpu,
    engine.rootless,
    toolkit.toolkit,
    toolkit.compiler,
    toolkit.torch,
    toolkit.smoke,
    toolkit.timeline,
    toolkit.counters,
    hold,
)
