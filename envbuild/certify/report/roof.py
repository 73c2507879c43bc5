"""What the plots show, from the figures of a certificate; pure, and without any drawing."""

from typing import NamedTuple

from envbuild.certify.report.figures import CYCLES, Named, measured, short, sized, tera
from envbuild.values.certificate import Certificate, Point
from envbuild.values.codec import replace

# What axes can hold; no device lies outside, only a file that somebody made up.
_LEAST, _MOST = 1e-9, 1e9


class Spot(NamedTuple):
    """A measured rate in 10^12 operations a second, with its interval.

    Attributes:
        dtype: of its operations.
        intensity: operations a byte; None = it works in registers alone.
        roof: what its limit allows at the highest clock of the run; None = unknown.
    """

    name: str
    dtype: str
    tera: float
    low: float
    high: float
    intensity: float | None
    roof: float | None


class Roofline(NamedTuple):
    """Rates by intensity, under what memory (in TB/s) and arithmetic allow.

    Attributes:
        mhz: the clock that roofs are of, the highest of any figure; spots are of their own.
    """

    memory: float | None
    spots: tuple[Spot, ...]
    mhz: float


class Level(NamedTuple):
    """Roofs that a plot cannot tell apart, by the names of their dtypes; the highest of them."""

    names: tuple[str, ...]
    tera: float


class Sweep(NamedTuple):
    """A bandwidth by size, in GB/s.

    Attributes:
        series: points by name, the smallest size first.
        memory: what DRAM can give at most; ``cache`` the size of the L2 cache; None = unknown.
    """

    name: str
    series: tuple[tuple[str, tuple[Point, ...]], ...]
    memory: float | None
    cache: int | None


def roofline(certificate: Certificate) -> Roofline | None:
    """The roofline; None where no arithmetic was measured."""
    device = certificate.device
    mhz = max((m.mhz or 0.0 for _, m in measured(certificate) if m.unit in CYCLES), default=0.0)
    spots = []
    for one in measured(certificate):
        spot = _counted(one, device.sms if device else None, mhz) or _moved(one)
        if spot and all(map(_real, (spot.tera, spot.low, spot.high))):
            spots.append(spot)
    return Roofline(_memory(certificate), tuple(spots), mhz) if spots else None


def levels(spots: tuple[Spot, ...]) -> tuple[Level, ...]:
    """Roofs within a tenth of the next higher one are one level; the lowest comes first."""
    found: list[Level] = []
    for spot in sorted(spots, key=lambda spot: spot.roof or 0.0):
        name = spot.dtype or spot.name
        if spot.roof is None:
            continue
        last = found[-1] if found else None
        if last and spot.roof < last.tera * 1.1:
            names = tuple(dict.fromkeys((*last.names, name)))
            found[-1] = Level(names, spot.roof)
        else:
            found.append(Level((name,), spot.roof))
    return tuple(found)


def sweep(certificate: Certificate) -> Sweep | None:
    """The first bandwidth that was measured in at least three sizes; None = there is none."""
    for check, measure in measured(certificate):
        points = [p for p in sized(measure) if all(map(_real, (p.value, p.low, p.high)))]
        names = tuple(dict.fromkeys(p.name for p in points))
        series = tuple((name, tuple(p for p in points if p.name == name)) for name in names)
        if measure.unit == "GB/s" and any(len(line) >= 3 for _, line in series):
            memory = _memory(certificate)
            return Sweep(short(check), series, memory and memory * 1e3, _cache(certificate))
    return None


def _counted(one: Named, sms: int | None, mhz: float) -> Spot | None:
    measure = one.measure
    rates = [tera(measure, sms, value) for value in (measure.value, measure.low, measure.high)]
    value, low, high = rates
    if value is None or low is None or high is None:
        return None
    highest = replace(measure, mhz=mhz)
    roof = None if measure.limit is None else tera(highest, sms, measure.limit)
    return Spot(
        short(one.check),
        measure.dtype,
        value,
        low,
        high,
        _known(measure.intensity),
        _known(roof),
    )


def _moved(one: Named) -> Spot | None:
    measure, intensity = one.measure, _known(one.measure.intensity)
    if measure.unit != "GB/s" or intensity is None:
        return None
    value, low, high = (x * intensity / 1e3 for x in (measure.value, measure.low, measure.high))
    return Spot(short(one.check), measure.dtype, value, low, high, intensity, None)


def _real(value: float) -> bool:
    return _LEAST < value < _MOST


def _known(value: float | None) -> float | None:
    return value if value is not None and _real(value) else None


def _memory(certificate: Certificate) -> float | None:
    """The highest limit of a bandwidth, in TB/s: that of DRAM, the only one that is known."""
    limits = (m.limit for _, m in measured(certificate) if m.unit == "GB/s" and m.limit)
    return _known(max(limits, default=0) / 1e3)


def _cache(certificate: Certificate) -> int | None:
    said = (check.inputs.get("L2 bytes", "") or "" for check, _ in measured(certificate))
    found = next((text for text in said if text.isdecimal() and len(text) < 16), "")
    return int(found) or None if found else None
