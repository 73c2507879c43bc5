"""What torch was built for, judged before any of its kernels runs."""

import re
from typing import NamedTuple

from envbuild.certify import facts
from envbuild.certify.seen import Event, Seen, events
from envbuild.certify.suites.common import unrun
from envbuild.certify.suites.frameworks import Stopped, answer, device_cc, installed, missing
from envbuild.certify.terms import covers
from envbuild.certify.verdicts import ruled, settle
from envbuild.errors import InputError
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

STEP = "torch.build"
CHECK = Check(
    id="torch.build",
    core=True,
    verdict="pass",
    says="torch is a CUDA build with code for this device and for each cc that the image promises",
    formula="machine code: same major, lower or equal minor; PTX: any lower or equal cc",
    rule="the list of architectures covers the device; that torch finds a GPU is not enough",
)
_LISTED = re.compile(r"(sm|compute)_(\d{2,3}[af]?)")


class Build(NamedTuple):
    """What is known of torch's build.

    Attributes:
        cuda: its CUDA, None = it has none; ``other`` names what it has instead.
        sass, ptx: targets (``80``) with machine code and with PTX.
    """

    version: str
    cuda: str | None
    other: str = ""
    sass: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    available: str = ""


def name(seen: Seen) -> str:
    """``torch 2.8.0+cu128``, as torch calls itself, else as its package does."""
    found = build(seen)
    return f"torch {found.version}" if found else "torch"


def build(seen: Seen) -> Build | None:
    """The build as torch says it, else as its version file does; None = it cannot be told."""
    ran = seen.step(STEP)
    line = answer(seen, STEP, "torch")[0].one("build") if ran else None
    if line:
        listed = [match.groups() for match in map(_LISTED.fullmatch, line.targets) if match]
        return Build(
            line.version,
            line.cuda or None,
            line.other,
            tuple(target for kind, target in listed if kind == "sm"),
            tuple(target for kind, target in listed if kind == "compute"),
            "yes" if line.available else "no",
        )
    python = facts.packages(seen.step("packages"))
    if python.torch:
        return Build(python.torch, python.torch_cuda)
    package = installed(seen, "torch")
    return Build(package[1], "unknown") if package else None


def runs_on(sass: tuple[str, ...], ptx: tuple[str, ...], cc: str) -> str:
    """The code that a device of this cc takes (``sm_80``, ``compute_80``); empty = none."""
    if target := covers(sass, cc):
        return f"sm_{target}"
    major, minor = (int(part) for part in cc.split("."))
    fitting = [int(one) for one in ptx if one.isdigit() and int(one) <= major * 10 + minor]
    return f"compute_{max(fitting)}" if fitting else ""


def judge(seen: Seen) -> Check:
    """The check of the build."""
    if stopped := missing(seen, "torch", "torch"):
        return ruled(CHECK, *stopped)
    found = build(seen)
    if found and found.cuda is None:
        # That needs no GPU and no run to be known.
        return ruled(replace(CHECK, value=f"torch {found.version}"), *_without_cuda(found))
    if stopped := unrun(seen, "torch") or answer(seen, STEP, name(seen))[1]:
        return ruled(CHECK, *stopped)
    if found is None:
        return ruled(CHECK, "inconclusive", "torch does not say what it is", "image")
    targets = " ".join((*(f"sm_{t}" for t in found.sass), *(f"compute_{t}" for t in found.ptx)))
    check = replace(
        CHECK,
        value=f"torch {found.version}",
        inputs=Pairs(
            {
                "torch.version.cuda": found.cuda or "none",
                "architectures": targets,
                "device": device_cc(seen),
                "promised": ", ".join(seen.terms.cc),
                "torch.cuda.is_available": found.available,
            }
        ),
    )
    if reason := _newer_than_driver(found, seen):
        return ruled(check, "fail", reason, "image")
    if not targets:
        reason = "torch does not say what it was built for"
        return ruled(check, "inconclusive", reason, "image")
    return _covered(seen, check, found, targets)


def _covered(seen: Seen, check: Check, found: Build, targets: str) -> Check:
    """The list against the device and against each promised cc."""
    needed = dict.fromkeys((device_cc(seen), *seen.terms.cc))
    taken = {cc: runs_on(found.sass, found.ptx, cc) for cc in needed if cc}
    # A device older than anything in the list must not pass.
    oldest = min(int(t.rstrip("af")[:-1]) for t in (*found.sass, *found.ptx))
    refused = not runs_on(found.sass, found.ptx, f"{oldest - 1}.0")
    says = "no code for it" if refused else "taken"
    control = Control(name=f"a device of cc {oldest - 1}.0", red=refused, says=says)
    for needs, code_name in taken.items():
        if code_name:
            continue
        whose = "the device is" if needs == device_cc(seen) else "the image promises"
        reason = f"torch {found.version} is built for {targets}; {whose} {needs}: no code for it"
        return settle(ruled(check, "fail", reason, "image"), control)
    through = sorted(cc for cc, code_name in taken.items() if code_name.startswith("compute"))
    if through:
        ways = ", ".join(f"{cc} runs through PTX of {taken[cc]}" for cc in through)
        check = replace(check, reason=f"warning: {ways}, compiled by the driver at every load")
    return settle(check, control)


def _without_cuda(found: Build) -> Stopped:
    kind = f"a {found.other} build" if found.other else "a CPU build, without CUDA"
    return "fail", f"torch {found.version} is {kind}", "image"


def _newer_than_driver(found: Build, seen: Seen) -> str:
    """Why the driver cannot take this torch: across majors there is no compatibility."""
    driver = driver_cuda(seen)
    major = (found.cuda or "").partition(".")[0]
    if not driver or not major.isdecimal() or int(major) <= int(driver.partition(".")[0]):
        return ""
    return (
        f"torch {found.version} is built for CUDA {found.cuda}; the driver {seen.driver or ''} is "
        f"for CUDA {driver}: a newer driver, or a torch for CUDA {driver.split('.')[0]}"
    )


def driver_cuda(seen: Seen) -> str:
    """The CUDA level of the driver as `smoke` read it, ``13.0``; empty = unknown."""
    ran = seen.step("smoke")
    try:
        found: tuple[Event, ...] = events(ran.out) if ran else ()
    except InputError:
        found = ()
    line = next((e for e in found if e.event == "driver" and e.cuda), None)
    return facts.version(line.cuda) if line else ""
