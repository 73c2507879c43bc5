"""Multiply-adds in cycle space: operations an SM and clock, whatever the clock is."""

from envbuild.certify import limits
from envbuild.certify.seen import Seen
from envbuild.certify.suites.fast.answer import Line, Part, measured, part, unjudged
from envbuild.certify.suites.fast.floors import floor_of
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

_UNIT = "FLOP/SM/clock"
# On half the SMs the same work takes twice as long; far from both 1 and nothing.
_HALF = (0.4, 0.6)


def check(seen: Seen, dtype: str) -> Check:
    """Throughput of one dtype; the machine's, never the image's: the code is prebuilt."""
    name = f"fma.{dtype}"
    check = Check(
        id=f"fast.fma-{dtype}",
        core=True,
        verdict="pass",
        says=f"the SMs do as many {dtype} multiply-adds a clock as their architecture has lanes",
        unit=_UNIT,
        rule="the 95 % interval of the median lies above the floor, the median below the limit; "
        "every sum counts every step",
    )
    answer = part(seen, "compute")
    if early := unjudged(check, answer):
        return early
    line, whole = answer.samples(name), answer.one("device")
    if line is None or whole is None or not line.cycles:
        return ruled(check, *answer.missing(name))
    if wrong := answer.right(name):
        return ruled(check, "fail", wrong, "machine")
    rating = seen.card.rate("fma", dtype)
    limit = limits.cycle_limit(rating)
    bits = answer.one("attributes")
    gpu = seen.choice.gpu
    floor = floor_of(name, (gpu.cc if gpu else None) or "", bits.bus_bits if bits else 0)
    values = [line.work / (whole.sms * cycles) for cycles in line.cycles]
    tera = sorted(line.work / us / 1e6 for us in line.us)[len(line.us) // 2]
    figure = measured(
        answer,
        line,
        values,
        _UNIT,
        limit=limit.value,
        floor=floor.share,
        shown=f"{tera:.3g} TFLOP/s {dtype}",
    )
    figure = replace(figure, dtype=dtype)
    inputs = Pairs({"SMs": str(whole.sms), "floor": floor.source, "at": figure.shown})
    check = replace(check, inputs=inputs)
    check = limits.against(check, figure, limit, "machine")
    return settle(check, *_controls(answer, line, name))


def _controls(answer: Part, line: Line, name: str) -> tuple[Control, ...]:
    found = []
    half = answer.samples(f"{name}.half")
    if half and half.cycles:
        share = _rate(half) / _rate(line)
        red = _HALF[0] < share < _HALF[1]
        found.append(Control(name="half of the SMs", red=red, says=f"reads {share:.2f} of it"))
    if answer.one("data", f"{name}.more"):
        says = answer.noticed(f"{name}.more")
        found.append(
            Control(name="a step too few", red=bool(says), says=says or "it was not noticed")
        )
    return tuple(found)


def _rate(line: Line) -> float:
    return line.work / sorted(line.cycles)[len(line.cycles) // 2]
