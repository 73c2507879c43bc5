"""What reports say of a measured figure: shares of its limit, units for people, its state; pure."""

from collections.abc import Iterator
from typing import NamedTuple

from envbuild.values.certificate import Certificate, Check, Measure, Point

#: Units of figures that are counted in cycles; people get them by time.
CYCLES = ("FLOP/SM/clock", "OP/SM/clock")
_LESS = ("us", "ms", "s")


class Named(NamedTuple):
    """A check that measured something, and its figure."""

    check: Check
    measure: Measure


def measured(certificate: Certificate) -> Iterator[Named]:
    """Every figure of a certificate, in order."""
    for suite in certificate.suites:
        for check in suite.checks:
            if check.measure is not None:
                yield Named(check, check.measure)


def short(check: Check) -> str:
    """The name of a check inside its suite."""
    return check.id.partition(".")[2] or check.id


def share(measure: Measure, value: float | None = None) -> float | None:
    """The figure (or another value in its unit) as a share of its limit; None = limit unknown."""
    if measure.limit is None or not measure.limit > 0:
        return None
    return (measure.value if value is None else value) / measure.limit


def less_is_better(measure: Measure) -> bool:
    """The figure is a time."""
    return measure.unit.partition(" ")[0] in _LESS


def people(check: Check) -> str:
    """The figure as people know it, else value and unit."""
    if check.measure and check.measure.shown:
        return one_line(check.measure.shown)
    if check.measure:
        return one_line(f"{number(check.measure.value)} {check.measure.unit}")
    return one_line(f"{check.value} {check.unit}")


def interval(measure: Measure) -> str:
    """The 95 % interval: in percent of the limit, else in the figure's unit."""
    low, high = share(measure, measure.low), share(measure, measure.high)
    if low is None or high is None:
        return f"{number(measure.low)} to {number(measure.high)}"
    return f"{low * 100:.1f} to {high * 100:.1f} %"


def number(value: float) -> str:
    """Four digits, or more where a power of ten would stand for them."""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"


def rate(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:.0f}" if 100 <= abs(value) < 1e12 else f"{value:.3g}"


def state(measure: Measure) -> str:
    """The device while it was taken: clock, temperature, why the clock was lowered."""
    parts = [f"{measure.mhz:.0f} MHz"] if measure.mhz is not None else []
    parts += [f"{measure.celsius} °C"] if measure.celsius is not None else []
    return ", ".join([*parts, *map(one_line, measure.throttle)])


def tera(measure: Measure, sms: int | None, value: float | None = None) -> float | None:
    """10^12 operations a second of a figure in cycles (or of another value in its unit).

    None = it is not counted in cycles, or the clock or the number of SMs is not known.
    """
    if measure.unit not in CYCLES or not measure.mhz or not sms:
        return None
    return (measure.value if value is None else value) * sms * measure.mhz / 1e6


def size(count: int) -> str:
    """Bytes for people: ``64 KiB``, ``1.5 GiB``."""
    at, units = float(count), ("B", "KiB", "MiB", "GiB", "TiB")
    for unit in units[:-1]:
        if at < 1024:
            return f"{at:.4g} {unit}"
        at /= 1024
    return f"{at:.4g} {units[-1]}"


def sized(measure: Measure) -> tuple[Point, ...]:
    """Its points by size, the smallest first."""
    points = (point for point in measure.points if point.size > 0)
    return tuple(sorted(points, key=lambda p: (p.name, p.size)))


def one_line(text: str) -> str:
    """Foreign text without line breaks: it must not look like lines of ours."""
    return " ".join(text.split())
