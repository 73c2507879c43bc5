"""Throughput in cycle space: operations an SM and clock, whatever the clock is."""

from envbuild.certify import limits
from envbuild.certify.card import Rating
from envbuild.certify.limits import Limit
from envbuild.certify.seen import Seen
from envbuild.certify.suites.fast.answer import Line, Part, measured, part, unjudged
from envbuild.certify.suites.fast.floors import floor_of
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Blame, Check, Control, Measure
from envbuild.values.codec import Pairs, replace

# The same work on half the SMs takes twice as long; far from both 1 and nothing.
HALF = (0.4, 0.6)


def judged(
    seen: Seen,
    check: Check,
    *,
    where: str,
    figure: str,
    dtype: str,
    rating: Rating | None,
    rungs: tuple[float, ...] = (),
) -> Check:
    """A kernel of ours that does nothing but count, against a rate; the machine's.

    Args:
        seen: the observations.
        check: prototype; its unit is that of the figure.
        where: the part of the runner that takes the figure.
        figure: its name.
        dtype: as people call it.
        rating: the rate of this device, None = not known.
        rungs: shares of the rate that some products are cut to, and no row says which.
    """
    answer = part(seen, where)
    if early := unjudged(check, answer):
        return early
    line = answer.samples(figure)
    if line is None or not line.cycles:
        return ruled(check, *answer.missing(figure))
    if wrong := answer.right(figure):
        return ruled(check, "fail", wrong, "machine")
    limit = limits.cycle_limit(rating)
    check, found = measured_in_cycles(seen, check, answer, line, dtype=dtype, limit=limit)
    check = cut(limits.against(check, found, limit, "machine"), found, limit, rungs)
    return settled(check, 2, *_controls(answer, line, figure))


def settled(check: Check, wanted: int, *controls: Control) -> Check:
    """The check with its controls; a pass stays open where only some of those ``wanted`` ran."""
    if check.verdict == "pass" and 0 < len(controls) < wanted:
        check = ruled(check, "inconclusive", "a control did not run", "suite")
        return replace(check, controls=controls)
    return settle(check, *controls)


def cut_to(rung: float) -> str:
    """How the inputs of a check say that its product was cut."""
    return f"cut to {rung:g} of the rate"


def cut(check: Check, found: Measure, limit: Limit, rungs: tuple[float, ...]) -> Check:
    """A product that reaches a rung as others reach the whole is none that fails."""
    if check.verdict != "fail" or not found.limit or not found.floor:
        return check
    for rung in rungs:
        least, most = found.floor * (rung * found.limit), limit.above * (rung * found.limit)
        if least <= found.low and found.value <= most:
            inputs = Pairs((*check.inputs, ("product", cut_to(rung))))
            bounds = limit.bounds(found.floor, rung)
            return replace(
                check, verdict="pass", reason="", blame=None, inputs=inputs, bounds=bounds
            )
    return check


def measured_in_cycles(
    seen: Seen,
    check: Check,
    answer: Part,
    line: Line,
    *,
    dtype: str,
    limit: Limit,
    owner: Blame = "machine",
) -> tuple[Check, Measure]:
    """The figure of samples, and the check with what it was taken from."""
    device, bits = answer.one("device"), answer.one("attributes")
    sms = device.sms if device else 0
    gpu = seen.choice.gpu
    floor = floor_of(line.name, (gpu.cc if gpu else None) or "", bits.bus_bits if bits else 0)
    tera = sorted(line.work / us / 1e6 for us in line.us)[len(line.us) // 2]
    people = f"{tera:.0f}" if tera >= 100 else f"{tera:.3g}"
    shown = f"{people} T{check.unit.partition('/')[0]}/s {dtype}"
    found = measured(
        answer,
        line,
        [line.work / (sms * cycles) for cycles in line.cycles],
        check.unit,
        limit=limit.value,
        floor=floor.share,
        shown=shown,
    )
    inputs = Pairs({"SMs": str(sms), "floor": floor.source, "at": shown})
    return replace(check, inputs=inputs), replace(found, dtype=dtype, owner=owner)


def rate_of(line: Line) -> float:
    """Operations a cycle of the median sample."""
    return line.work / sorted(line.cycles)[len(line.cycles) // 2]


def _controls(answer: Part, line: Line, figure: str) -> tuple[Control, ...]:
    found = []
    half = answer.samples(f"{figure}.half")
    if half and half.cycles:
        share = rate_of(half) / rate_of(line)
        red = HALF[0] < share < HALF[1]
        found.append(Control(name="half of the SMs", red=red, says=f"reads {share:.2f} of it"))
    if answer.one("data", f"{figure}.more"):
        says = answer.noticed(f"{figure}.more")
        found.append(
            Control(name="a step too few", red=bool(says), says=says or "it was not noticed")
        )
    return tuple(found)
