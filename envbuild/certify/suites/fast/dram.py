"""DRAM read, written, copied and added, against what the device's attributes give."""

from envbuild.certify import limits
from envbuild.certify.limits import Memory
from envbuild.certify.seen import Seen
from envbuild.certify.suites.fast.answer import Line, Part, measured, part, unjudged
from envbuild.certify.suites.fast.cycles import settled
from envbuild.certify.suites.fast.floors import floor_of
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

FIGURES = ("read", "write", "copy", "triad")
_CORE = frozenset({"read", "triad"})
# Smaller arrays stay in the cache from one run to the next.
_LEAST_L2 = 8
# A dependent chase waits for each load; what reads a share like that is no bandwidth.
_CHASE = 0.5
# Operations a byte: a multiplication and an addition on three words of four bytes.
_INTENSITY = {"triad": 2 / 12}
# What a comparison must find: half of the stores left out, a changed word, another pattern.
_SPOILED = {
    "read": ("dram.read.changed", "a changed word"),
    "write": ("dram.write.other", "another pattern"),
    "copy": ("dram.copy.halved", "half of the stores"),
    "triad": ("dram.triad.halved", "half of the stores"),
}


def check(seen: Seen, kind: str) -> Check:
    """Bandwidth of one kind of access; an image cannot change it."""
    name = f"dram.{kind}"
    check = Check(
        id=f"fast.dram-{kind}",
        core=kind in _CORE,
        verdict="pass",
        says=f"DRAM gives the share of its physical rate that a {kind} reaches",
        unit="GB/s",
        rule="the 95 % interval of the median lies above the floor, the median below the limit; "
        "every word is right",
    )
    answer = part(seen, "memory")
    if early := unjudged(check, answer):
        return early
    line, attributes, room = answer.samples(name), answer.one("attributes"), answer.one("room")
    if line is None or attributes is None or room is None:
        return ruled(check, *answer.missing(name))
    if wrong := answer.right(name):
        return ruled(check, "fail", wrong, "machine")
    gpu = seen.choice.gpu
    limit = limits.dram_limit(memory_of(seen, attributes))
    floor = floor_of(name, (gpu.cc if gpu else None) or "", attributes.bus_bits)
    inputs = {
        "bytes an array": str(room.bytes),
        "L2 bytes": str(attributes.l2_bytes),
        "ECC": "on" if attributes.ecc else "off",
        "floor": floor.source,
    }
    values = [line.work / us / 1e3 for us in line.us]
    figure = measured(answer, line, values, "GB/s", limit=limit.value, floor=floor.share, shown="")
    figure = replace(
        figure,
        shown=f"{figure.value:.0f} GB/s {kind}",
        dtype="int32",
        intensity=_INTENSITY.get(kind),
    )
    check = limits.against(replace(check, inputs=Pairs(inputs)), figure, limit, "machine")
    if check.verdict in {"pass", "fail"} and room.bytes < _LEAST_L2 * attributes.l2_bytes:
        reason = f"arrays of {room.bytes >> 20} MiB, all that may be taken, fit into the cache"
        check = ruled(check, "inconclusive", reason, "machine")
    return settled(check, 2, *_controls(answer, line, kind))


def memory_of(seen: Seen, attributes: Line) -> Memory:
    """The attributes, and whether they are this device's own."""
    gpu = seen.choice.gpu
    mig = gpu is not None and ((gpu.uuid or "").startswith("MIG-") or " MIG " in (gpu.name or ""))
    return Memory(
        clock_khz=attributes.memory_khz,
        bus_bits=attributes.bus_bits,
        integrated=bool(attributes.integrated),
        slice=mig or bool(gpu and gpu.mig and gpu.mig.enabled),
    )


def _controls(answer: Part, line: Line, kind: str) -> tuple[Control, ...]:
    found = []
    chase = answer.samples("dram.chase")
    if chase and not answer.right("dram.chase"):
        share = rate(chase) / rate(line)
        says = f"reads {share:.3f} of it"
        found.append(Control(name="dependent chase", red=share < _CHASE, says=says))
    spoiled, name = _SPOILED[kind]
    if answer.one("data", spoiled):
        says = answer.noticed(spoiled)
        found.append(Control(name=name, red=bool(says), says=says or "it was not noticed"))
    return tuple(found)


def rate(line: Line) -> float:
    """GB/s, the median."""
    return line.work / sorted(line.us)[len(line.us) // 2] / 1e3
