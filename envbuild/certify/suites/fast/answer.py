"""What the runner prints of one part of the suite, read as figures."""

from collections.abc import Iterable
from typing import NamedTuple

from envbuild.certify import answers
from envbuild.certify.limits import figure
from envbuild.certify.seen import Seen, Spoken
from envbuild.certify.suites.common import unrun
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Blame, Check, Measure, Point, Verdict
from envbuild.values.codec import replace

# nvml.h: why a clock is low. The first kind says that the machine is not fit to be measured, the
# second that something holds the clock on purpose.
_UNFIT = {0x8: "hardware slowdown", 0x20: "software thermal slowdown"} | {
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
_BENIGN = {0x2: "application clocks", 0x4: "power cap", 0x10: "sync boost", 0x100: "display clocks"}
# A launch that no device takes (invalid value, invalid configuration, too many registers) is the
# probe's own fault.
_OURS = frozenset({1, 9, 701})


class Line(Spoken, frozen=True):
    """One line of the runner; fields that another kind of line has keep their defaults.

    Attributes:
        us, ns, cycles: of each sample, by events, by the device's time, by its SMs' counters.
        work: operations or bytes of a sample.
        sms: SMs of the device, or those that were read around a sample.
        compared, wrong: parts of a result.
    """

    when: str = ""
    error: str = ""
    file: str = ""
    sms: int = 0
    clock_khz: int = 0
    memory_khz: int = 0
    bus_bits: int = 0
    l2_bytes: int = 0
    integrated: int = 0
    ecc: int = 0
    sm_mhz: int | None = None
    sm_max_mhz: int | None = None
    celsius: int | None = None
    reasons: int = 0
    busy: int = -1
    bytes: int = 0
    available: int = 0
    near_bytes: int = 0
    far_bytes: int = 0
    work: float = 0.0
    blocks: int = 0
    us: tuple[float, ...] = ()
    ns: tuple[float, ...] = ()
    cycles: tuple[float, ...] = ()
    ours_us: tuple[float, ...] = ()
    image_us: tuple[float, ...] = ()
    ours_cycles: tuple[float, ...] = ()
    image_cycles: tuple[float, ...] = ()
    compared: int = -1
    wrong: int = -1
    spun_cycles: int = 0
    spun_ns: int = 0
    both_cycles: int = 0
    both_ns: int = 0
    path: str = ""
    version: int = 0
    residual: float = 0.0
    tried: int = 0
    refused: int = 0
    after: int = 0
    nodes: int = 0


class Part(NamedTuple):
    """The answer of one part: its lines, and why it is not to be judged where it is not."""

    lines: tuple[Line, ...] = ()
    stopped: tuple[Verdict, str, Blame | None] | None = None

    def one(self, kind: str, name: str = "") -> Line | None:
        """The line of this kind and name (or time)."""
        return next(
            (e for e in self.lines if e.event == kind and name in {e.name or e.when, ""}), None
        )

    def samples(self, name: str) -> Line | None:
        """Samples of one figure; None = it was not taken."""
        line = self.one("samples", name)
        return line if line and line.us and min(line.us) > 0 < line.work else None

    def missing(self, name: str) -> tuple[Verdict, str, Blame]:
        """Why a figure was not taken."""
        failed, unread = self.one("failed"), self.one("unreadable")
        if failed and failed.code in _OURS:
            reason = f"{name} was not measured: our launch is refused, {failed.code} {failed.says}"
            return "inconclusive", reason, "suite"
        if failed:
            reason = f"{failed.call} answers {failed.code} {failed.says}".strip()
            return "fail", f"{name} was not measured: {reason}", "machine"
        if unread:
            reason = f"{name} was not measured: {unread.file} cannot be read"
            return "inconclusive", reason, "suite"
        return "inconclusive", f"{name} was not measured", "machine"

    def right(self, name: str) -> str:
        """Why the result of a figure is not right; empty = every part of it was compared and is."""
        line = self.one("data", name)
        if line is None or line.compared < 1:
            return f"the result of {name} was not compared"
        if line.wrong:
            return f"{line.wrong} of {line.compared} parts of the result of {name} are wrong"
        return ""

    def noticed(self, name: str) -> str:
        """What a comparison that must find something found; empty = it found nothing."""
        line = self.one("data", name)
        found = line is not None and 0 < line.wrong <= line.compared
        return f"{line.wrong} of {line.compared} parts are wrong" if line and found else ""

    def contradiction(self) -> str:
        """What cannot be in any answer; empty = nothing is seen to be."""
        device = self.one("device")
        if device is not None and device.sms < 1:
            return f"the device has {device.sms} SMs"
        return next((f"samples of {x.name} are amiss" for x in self.lines if not _taken(x)), "")

    @property
    def reasons(self) -> int:
        """Every reason that was given for a low clock, before, while and after."""
        bits = 0
        for line in self.lines:
            bits |= line.reasons if line.event == "health" else 0
        return bits


def _taken(line: Line) -> bool:
    """Each series of a line has one value a sample, and time and cycles went by in each."""
    told = (line.us, line.cycles, line.ours_us, line.image_us, line.ours_cycles, line.image_cycles)
    lengths = {len(series) for series in (*told, line.ns) if series}
    worked = line.event != "samples" or line.work > 0
    return worked and len(lengths) < 2 and all(value > 0 for series in told for value in series)


def part(seen: Seen, name: str) -> Part:
    """The answer of a part, once it is known to be whole and of this run and device."""
    if early := unrun(seen, "fast"):
        return Part((), early)
    answer = answers.read(seen, f"fast.{name}", Line)
    if not answer.whole:
        return Part((), (answer.verdict, answer.reason, answer.blame))
    named = [(e.event, e.name or e.when) for e in answer.lines if e.event != "failed"]
    if len(set(named)) != len(named):
        return Part((), ("inconclusive", f"the answer of {name} names a result twice", "suite"))
    if odd := Part(answer.lines).contradiction():
        return Part((), ("inconclusive", f"the answer of {name} cannot be: {odd}", "suite"))
    device, gpu = answer.one("device"), seen.choice.gpu
    if device is None or not answer.one("attributes"):
        failed = answer.one("failed")
        says = f"{failed.call} answers {failed.code}" if failed else "the driver did not come up"
        return Part(answer.lines, ("fail", says, "machine"))
    wanted = gpu.uuid if gpu and gpu.uuid and gpu.uuid.startswith("GPU-") else device.uuid
    if device.uuid != wanted:
        return Part((), ("fail", f"{wanted} was chosen, {device.uuid} came in", "machine"))
    if answer.one("end") is None:
        return Part((), ("inconclusive", f"the answer of {name} has no end", "suite"))
    return Part(answer.lines)


def unfit(bits: int) -> tuple[str, ...]:
    """Reasons for a low clock that make a machine unfit."""
    return tuple(word for bit, word in _UNFIT.items() if bits & bit)


def benign(bits: int) -> tuple[str, ...]:
    """Reasons for a low clock that somebody wanted."""
    return tuple(word for bit, word in _BENIGN.items() if bits & bit)


def measured(
    part: Part,
    line: Line,
    values: Iterable[float],
    unit: str,
    *,
    limit: float | None = None,
    floor: float | None = None,
    shown: str = "",
) -> Measure:
    """A figure with the device's state beside it."""
    state = part.one("health", line.name) or part.one("health", "after")
    return replace(
        figure(tuple(values), unit, limit, floor),
        shown=shown,
        mhz=clock(line),
        celsius=state.celsius if state else None,
        throttle=(*unfit(part.reasons), *benign(part.reasons)),
    )


def point(line: Line, name: str, size: int = 0) -> Point:
    """A rate in GB/s beside the figure of a check; ``size`` in bytes."""
    s = figure([line.work / us / 1e3 for us in line.us], "GB/s")
    return Point(name=name, value=s.value, low=s.low, high=s.high, size=size)


def clock(line: Line) -> float | None:
    """SM clock in MHz while the samples were taken: cycles by time, the median."""
    pairs = zip(line.cycles, line.us, strict=False)
    ratios = [cycles / us for cycles, us in pairs if us > 0]
    return round(figure(ratios, "MHz").value, 1) if ratios else None


def unjudged(check: Check, part: Part) -> Check | None:
    """The check where its part gave nothing to judge; None where it did."""
    if part.stopped is None:
        return None
    verdict, reason, blame = part.stopped
    return ruled(check, verdict, reason, blame)
