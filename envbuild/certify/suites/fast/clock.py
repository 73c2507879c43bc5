"""The clock of the SMs under load, and why it is low where it is.

Throughput in cycles hides a device that crawls: this is where that shows. The highest clock is
NVML's; the attribute of the driver is only what a vendor prints, and devices run above it.
"""

from typing import NamedTuple

from envbuild.certify.arithmetic import terms
from envbuild.certify.seen import Seen
from envbuild.certify.suites.fast.answer import (
    Line,
    Part,
    benign,
    measured,
    part,
    unfit,
    unjudged,
)
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

# Shares of the highest clock: without a reason, with one, and what no device reaches. Laptops and
# cards of 75 W run below 0.6 under load; a 2080 Ti ran at 1.18 of its attribute.
_UNEXPLAINED, _EXPLAINED = 0.6, 0.33
_ABOVE = {"NVML": 1.05, "attribute": 1.25}
# Two spins with a pause between: over all of it, cycles pass at 0.4 of the clock.
_PAUSED = 0.7
_SHARED = 50


def check(seen: Seen) -> Check:
    """Cycles by time while the multiply-adds ran."""
    check = Check(
        id="fast.clock",
        core=True,
        verdict="pass",
        says="the SMs run at a clock that the device is made for, and nothing slows them down",
        unit="MHz",
        formula="cycles of the SMs / time of the events; limit: highest SM clock",
        rule=f"no thermal or power brake; at least {_UNEXPLAINED} of the highest clock, or "
        f"{_EXPLAINED} where the driver names a benign reason",
    )
    answer = part(seen, "compute")
    if early := unjudged(check, answer):
        return early
    line, before = answer.samples("fma.f32"), answer.one("health", "before")
    quiet = answer.one("quiet")
    busy = quiet.busy if quiet else -1
    if line is None or not line.cycles:
        return ruled(check, *answer.missing("fma.f32"))
    figure = measured(
        answer, line, [c / us for c, us in zip(line.cycles, line.us, strict=True)], "MHz"
    )
    top = _highest(answer, before)
    bits = answer.reasons
    least = _EXPLAINED if benign(bits) else _UNEXPLAINED
    check = replace(
        check,
        value=f"{figure.value:.0f}",
        limit=f"{top.mhz:.0f}" if top.mhz else "unknown",
        inputs=Pairs(_inputs(before, top.source, bits, busy)),
        measure=replace(figure, limit=top.mhz or None, shown=f"{figure.value:.0f} MHz"),
    )
    if top.mhz:
        check = replace(
            check,
            expression="highest_mhz",
            bounds=(f"value >= {least} * limit", f"value <= {_ABOVE[top.source]} * limit"),
            terms=terms({"highest_mhz": float(top.mhz)}),
        )
    return settle(_judged(check, figure.value, top, bits, busy), *_paused(answer))


class _Top(NamedTuple):
    """The highest SM clock in MHz and who says it; 0 = nobody."""

    mhz: float
    source: str


def _judged(check: Check, mhz: float, top: _Top, bits: int, busy: int) -> Check:
    if brakes := unfit(bits):
        return ruled(check, "fail", f"the GPU slows itself down: {', '.join(brakes)}", "machine")
    if busy > _SHARED:
        reason = f"the GPU was {busy} % busy without us: somebody else uses it"
        return ruled(check, "inconclusive", reason, "machine")
    if not top.mhz:
        reason = "limit unknown: neither NVML nor the driver gives a highest clock"
        return ruled(check, "inconclusive", reason, "suite")
    share = mhz / top.mhz
    if mhz > _ABOVE[top.source] * top.mhz:
        reason = f"{share:.2f} of the highest clock ({top.source}) cannot be"
        return ruled(check, "inconclusive", reason, "suite")
    why = benign(bits)
    if mhz < (_EXPLAINED if why else _UNEXPLAINED) * top.mhz:
        said = f"in spite of {', '.join(why)} alone" if why else "and the driver gives no reason"
        reason = f"{mhz:.0f} MHz are {share:.2f} of the highest clock, {said}"
        return ruled(check, "inconclusive", reason, "machine")
    return check


def _highest(answer: Part, before: Line | None) -> _Top:
    if before and before.sm_max_mhz:
        return _Top(before.sm_max_mhz, "NVML")
    attributes = answer.one("attributes")
    return _Top(attributes.clock_khz / 1e3 if attributes else 0.0, "attribute")


def _inputs(before: Line | None, source: str, bits: int, busy: int) -> dict[str, str]:
    reasons = (*unfit(bits), *benign(bits))
    return {
        "highest clock of": source,
        "reasons": ", ".join(reasons) or ("none" if before and not before.error else "not known"),
        "busy before": f"{busy} %" if busy >= 0 else "not known",
    }


def _paused(answer: Part) -> tuple[Control, ...]:
    spins = answer.one("spins")
    if spins is None or min(spins.spun_cycles, spins.spun_ns) <= 0:
        return ()
    if min(spins.both_cycles, spins.both_ns) <= 0:
        return ()
    alone = spins.spun_cycles / spins.spun_ns
    share = spins.both_cycles / spins.both_ns / alone
    says = f"with a pause, {share:.2f} of the clock"
    return (Control(name="a pause between two spins", red=share < _PAUSED, says=says),)
