"""Physical limits of a device with formula and inputs, and what a figure says against one.

A limit is computed from a row of the exact capability or from attributes that the driver gives.
Where those say nothing, or are known not to mean what they say, it is unknown: never a guess.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envbuild.certify.arithmetic import evaluate, terms
from envbuild.certify.card import Rating
from envbuild.certify.stats import LEAST, spread
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Blame, Check, Measure
from envbuild.values.codec import Pairs, replace

# A median of samples may lie this much above a limit that it cannot pass: timers, clock steps.
ABOVE_CYCLES = 1.01
ABOVE_DRAM = 1.02


class Limit(NamedTuple):
    """A limit, or why it is not known.

    Attributes:
        value: in the unit of the figure; None = unknown, ``why`` says it.
        above: a figure beyond ``value`` times this cannot be true.
        expression, terms: ``value`` as arithmetic over named numbers (`arithmetic`).
    """

    value: float | None
    formula: str
    inputs: Pairs = Pairs()
    why: str = ""
    above: float = ABOVE_CYCLES
    expression: str = ""
    terms: Pairs = Pairs()

    def bounds(self, floor: float, cut: float = 1.0) -> tuple[str, str]:
        """What a figure must keep to: its interval above the floor, its median below the limit.

        Args:
            floor: least share of the limit.
            cut: share of the rate that a product is cut to.
        """
        whole = "limit" if cut == 1 else f"({cut!r} * limit)"
        return f"low >= {floor!r} * {whole}", f"value <= {self.above!r} * {whole}"


class Memory(NamedTuple):
    """What the driver's attributes say of the memory; 0 = nothing.

    Attributes:
        clock_khz: of the memory; it moves two words a clock.
        bus_bits: width of the bus.
        slice: the device is a part of a GPU (MIG): the attributes are the whole's.
    """

    clock_khz: int
    bus_bits: int
    integrated: bool = False
    slice: bool = False


def cycle_limit(rating: Rating | None) -> Limit:
    """Operations that an SM finishes a clock, for figures in operations / (SMs x cycles)."""
    formula = "operations an SM and clock, of the row for this capability"
    if rating is None:
        return Limit(None, formula, why="limit unknown: no row has the rate of this capability")
    expression = "rate / 2" if rating.half else "rate"
    brand = ", half of it on this brand" if rating.half else ""
    inputs = Pairs({"rate": f"{rating.per_sm_clock}{brand}", "row": rating.source})
    return _limit(formula, inputs, expression, {"rate": rating.per_sm_clock})


def dram_limit(memory: Memory) -> Limit:
    """Bytes a second in GB/s: memory clock x 2 x bus width / 8."""
    formula = "memory clock x 2 x bus width / 8"
    clock, bus = memory.clock_khz, memory.bus_bits
    inputs = Pairs({"memory clock kHz": str(clock), "bus bits": str(bus)})
    why = ""
    if memory.integrated:
        why = "integrated memory: the attributes do not give its rate"
    elif memory.slice:
        why = "a MIG instance: the attributes are those of the whole GPU"
    elif not clock or not bus:
        why = "the driver gives no memory clock or no bus width"
    if why:
        return Limit(None, formula, inputs, f"limit unknown: {why}", ABOVE_DRAM)
    numbers = {"clock_khz": clock, "bus_bits": bus}
    return _limit(formula, inputs, "clock_khz * 2000 * bus_bits / 8e9", numbers, ABOVE_DRAM)


def _limit(
    formula: str,
    inputs: Pairs,
    expression: str,
    numbers: Mapping[str, float],
    above: float = ABOVE_CYCLES,
) -> Limit:
    """A limit whose value is that of its expression."""
    value = evaluate(expression, numbers)
    return Limit(value, formula, inputs, "", above, expression, terms(numbers))


def figure(
    values: Sequence[float], unit: str, limit: float | None = None, floor: float | None = None
) -> Measure:
    """Samples as the figure of a certificate.

    Raises:
        ValueError: there is no sample.
    """
    s = spread(values)
    return Measure(
        unit=unit,
        value=s.median,
        low=s.low,
        high=s.high,
        n=s.n,
        smallest=s.smallest,
        q1=s.q1,
        q3=s.q3,
        largest=s.largest,
        limit=limit,
        floor=floor,
    )


def against(check: Check, measure: Measure, limit: Limit, blame: Blame) -> Check:
    """The check with its figure, and the verdict that the whole interval gives.

    Below the floor with the whole interval is a fail, above with the whole interval a pass; a
    median that no device can reach is no measurement; everything between stays open.
    """
    check = replace(
        check,
        value=f"{measure.value:.4g}",
        unit=measure.unit,
        limit=f"{limit.value:.4g}" if limit.value else "unknown",
        formula=limit.formula,
        inputs=Pairs((*check.inputs, *limit.inputs)),
        measure=measure,
    )
    if limit.value is None or measure.floor is None:
        return ruled(check, "inconclusive", limit.why or "limit unknown: no floor", "suite")
    check = replace(
        check,
        expression=limit.expression,
        bounds=limit.bounds(measure.floor),
        terms=limit.terms,
    )
    if measure.n < LEAST:
        return ruled(check, "inconclusive", f"{measure.n} samples have no interval", "suite")
    share, least = measure.value / limit.value, measure.floor * limit.value
    if measure.value > limit.above * limit.value:
        reason = f"{share:.3f} of the limit cannot be: the measurement is invalid"
        return ruled(check, "void", reason, "suite")
    if measure.low >= least:
        return check
    if measure.high < least:
        reason = f"{share:.3f} of the limit, at least {measure.floor:.2f} is expected"
        return ruled(check, "fail", reason, blame)
    reason = (
        f"{measure.low / limit.value:.3f} to {measure.high / limit.value:.3f} of the limit: "
        f"the floor of {measure.floor:.2f} lies within"
    )
    return ruled(check, "inconclusive", reason, blame)
