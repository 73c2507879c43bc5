"""Suite `triton`: a fused softmax, compiled by Triton's own assembler. Core: softmax."""

from envbuild.certify.floors import above
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Work
from envbuild.certify.suites import bounds
from envbuild.certify.suites.common import unrun
from envbuild.certify.suites.frameworks import (
    Stopped,
    answer,
    device_cc,
    installed,
    judged,
    missing,
    step,
)
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Check
from envbuild.values.codec import Pairs, replace

STEP = "triton.softmax"
_PACKAGES = ("triton", "pytorch-triton")
# exp2 in hardware is right to 2^-22, its argument is rounded in proportion to it (at most 8).
_APPROXIMATE = 64
_TERMS = 781  # columns of the probe
_BOUND = bounds.of_f32(_APPROXIMATE + _TERMS)
SOFTMAX = Check(
    id="triton.softmax",
    core=True,
    verdict="pass",
    says="a fused softmax that Triton compiles in the image is right, against float64 on the CPU",
    formula=f"{_APPROXIMATE} + terms roundings of f32, relative",
    rule="the largest relative error of any element is within the bound",
)


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    stopped = missing(seen, "Triton", *_PACKAGES) or _too_old(seen) or unrun(seen, "triton")
    if stopped:
        return (ruled(SOFTMAX, *stopped),)
    _, version = installed(seen, *_PACKAGES) or ("triton", "")
    found, stopped = answer(seen, STEP, f"Triton {version}")
    inputs = {}
    if line := found.one("build"):
        inputs = {"triton": line.version, "ptxas": f"{line.ptxas or 'unknown'} ({line.path})"}
    if line := found.one("code"):
        inputs["target"] = line.target or "unknown"
    check = replace(SOFTMAX, value=f"Triton {version}", inputs=Pairs(inputs))
    return (judged(check, (found, stopped), ("softmax",), _BOUND),)


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """One run of the softmax, where the device reaches Triton's floor."""
    if any(session.name == "triton" for session in seen.sessions):
        return None
    if missing(seen, "Triton", *_PACKAGES) or _too_old(seen):
        return None
    return Work("triton", (step(bench, seen, STEP, seconds=120.0),))


def _too_old(seen: Seen) -> Stopped | None:
    """No Triton serves the device: another image would not help."""
    floors = (above(seen.floors, name, device_cc(seen)) for name in _PACKAGES)
    if floor := next(filter(None, floors), None):
        reason = f"Triton needs compute capability {floor.cc}, the device is {device_cc(seen)}"
        return "skip", f"{reason} ({floor.source})", "machine"
    return None
