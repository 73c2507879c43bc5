"""Copies between host and device: every byte arrives. Their speed is reported and not judged.

No limit of it is known: virtual machines misreport the link, and coherent links beat the bus. How
much memory can be page-locked is measured first; the copies stay within half of that.
"""

from envbuild.certify.limits import figure
from envbuild.certify.seen import Seen
from envbuild.certify.suites.fast.answer import Line, Part, measured, part, point, unjudged
from envbuild.certify.suites.fast.dram import rate
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

_SPEEDS = {
    "to the device, page-locked": "copy.to.pinned",
    "from the device, page-locked": "copy.from.pinned",
    "to the device, plain": "copy.to.plain",
    "from the device, plain": "copy.from.plain",
}
# Copies of 512 bytes pay for each call.
_SMALL = 0.5


def check(seen: Seen) -> Check:
    """There and back, from page-locked and from plain memory."""
    check = Check(
        id="fast.copies",
        core=False,
        verdict="pass",
        says="copies between host and device bring every byte there and back",
        unit="GB/s",
        limit="unknown",
        rule="every byte is right, and a refused page-lock leaves no error behind; the speed is "
        "reported, no limit of it is known",
    )
    answer = part(seen, "copies")
    if early := unjudged(check, answer):
        return early
    pinned = answer.one("pinned")
    best = answer.samples("copy.to.pinned") or answer.samples("copy.to.plain")
    if pinned is None or best is None:
        return ruled(check, *answer.missing("a copy"))
    values = [best.work / us / 1e3 for us in best.us]
    shown = f"{figure(values, 'GB/s').value:.1f} GB/s {best.name.removeprefix('copy.')}"
    check = replace(
        check,
        value=f"{rate(best):.1f}",
        inputs=Pairs({**_budget(pinned.bytes, pinned.tried, pinned.refused), **_speeds(answer)}),
        measure=replace(
            measured(answer, best, values, "GB/s", shown=shown),
            points=tuple(point(line, says) for says, line in _lines(answer)),
        ),
    )
    if pinned.after:
        reason = f"after a refused page-lock the next call answers {pinned.after}"
        return ruled(check, "fail", reason, "machine")
    names = [name for name in ("copy.to.pinned", "copy.to.plain") if answer.samples(name)]
    for name in names:
        if wrong := answer.right(name):
            return ruled(check, "fail", wrong, "machine")
    return settle(check, *_controls(answer))


def _budget(got: int, tried: int, refused: int) -> dict[str, str]:
    least = "" if refused else "at least "
    text = f"{least}{got >> 20} MiB"
    why = f" (the driver answered {refused})" if refused else f" (no more than {tried >> 20} asked)"
    return {"page-locked (pinned) memory": text + why}


def _speeds(answer: Part) -> dict[str, str]:
    return {says: f"{rate(line):.1f} GB/s" for says, line in _lines(answer)}


def _lines(answer: Part) -> list[tuple[str, Line]]:
    found = ((says, answer.samples(name)) for says, name in _SPEEDS.items())
    return [(says, line) for says, line in found if line]


def _controls(answer: Part) -> tuple[Control, ...]:
    found = []
    if changed := answer.one("data", "copy.changed"):
        says = f"{changed.wrong} of {changed.compared} bytes differ"
        found.append(Control(name="a changed byte", red=changed.wrong == 1, says=says))
    small, whole = answer.samples("copy.to.small"), answer.samples("copy.to.pinned")
    if small and whole:
        share = rate(small) / rate(whole)
        says = f"{share:.3f} of the speed"
        found.append(Control(name="512 bytes a call", red=share < _SMALL, says=says))
    return tuple(found)
