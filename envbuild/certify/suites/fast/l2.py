"""The L2 cache: the same bytes again come faster than DRAM can give them."""

from envbuild.certify.arithmetic import terms
from envbuild.certify.seen import Seen
from envbuild.certify.suites.fast.answer import Part, measured, part, point, unjudged
from envbuild.certify.suites.fast.dram import rate
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control, Point
from envbuild.values.codec import Pairs, replace

# Above DRAM by this much, or the cache does not work. One H200: 1.9.
_LEAST = 1.2
# Bytes that an SM can take from the cache a clock, on any architecture so far.
_PORT = 64
_ABOVE = 1.01
_SWEEP = "l2.sweep."
# What does not fit into the cache must be slower than what does, by this much.
_FAR = 0.85


def check(seen: Seen) -> Check:
    """Reads of a footprint of a quarter of the cache, past L1."""
    check = Check(
        id="fast.l2-read",
        core=False,
        verdict="pass",
        says="what is in the L2 cache is read faster than DRAM gives it",
        unit="GB/s",
        formula=f"{_LEAST} x DRAM read of this run <= rate <= {_PORT} bytes x SMs x clock",
        rule="the 95 % interval of the median lies above the first, the median below the second; "
        "every word is right",
    )
    answer = part(seen, "memory")
    if early := unjudged(check, answer):
        return early
    attributes, device = answer.one("attributes"), answer.one("device")
    line, dram, size = answer.samples("l2.read"), answer.samples("dram.read"), answer.one("cache")
    if attributes and not attributes.l2_bytes:
        return ruled(check, "skip", "the driver names no L2 cache", "machine")
    if line is None or dram is None or device is None or size is None or not line.cycles:
        return ruled(check, *answer.missing("l2.read"))
    if wrong := answer.right("l2.read"):
        return ruled(check, "fail", wrong, "machine")
    figure = measured(answer, line, [line.work / us / 1e3 for us in line.us], "GB/s")
    port = line.work / sorted(line.cycles)[len(line.cycles) // 2] / device.sms
    least = _LEAST * rate(dram)
    check = replace(
        check,
        value=f"{figure.value:.0f}",
        limit=f"{_PORT} bytes/SM/clock",
        inputs=Pairs(
            {
                "footprint bytes": str(size.near_bytes),
                "DRAM read GB/s": f"{rate(dram):.0f}",
                "bytes/SM/clock": f"{port:.1f}",
            }
        ),
        bounds=(f"low >= {_LEAST} * dram_read", f"bytes_per_sm_clock <= {_ABOVE} * {_PORT}"),
        terms=terms({"dram_read": rate(dram), "bytes_per_sm_clock": port}),
        measure=replace(figure, shown=f"{figure.value:.0f} GB/s L2 read", points=_by_size(answer)),
    )
    far = answer.samples("l2.read.far")
    controls: tuple[Control, ...] = ()
    if far and size.far_bytes >= 2 * (attributes.l2_bytes if attributes else 0):
        share = rate(far) / rate(line)
        says = f"{size.far_bytes >> 20} MiB are read at {share:.2f} of it"
        controls = (Control(name="past the cache", red=share < _FAR, says=says),)
    if port > _ABOVE * _PORT:
        reason = f"{port:.1f} bytes an SM and clock cannot be: the measurement is invalid"
        return settle(ruled(check, "void", reason, "suite"), *controls)
    if figure.high < least:
        reason = f"{figure.value / rate(dram):.2f} times what DRAM gives: the cache does not help"
        # It has just shown that it can fail; past a dead cache nothing is slower.
        return ruled(check, "fail", reason, "machine")
    if figure.low < least:
        reason = f"its interval holds {_LEAST} times what DRAM gives"
        return settle(ruled(check, "inconclusive", reason, "machine"), *controls)
    return settle(check, *controls)


def _by_size(answer: Part) -> tuple[Point, ...]:
    """Rates by footprint, from one that fits to one that does not."""
    names = (e.name for e in answer.lines if e.event == "samples" and e.name.startswith(_SWEEP))
    lines = (answer.samples(name) for name in names)
    return tuple(point(line, "read", int(line.name.removeprefix(_SWEEP))) for line in lines if line)
