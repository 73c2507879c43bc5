"""multi.mig: the smoke kernel runs in each MIG instance of the host, each by its own uuid.

A process sees one instance at a time, so each gets a container of its own and a device count of 1
is right there. The instance that came in must be the one that was asked for. The controls are
those of the smoke kernel: a changed element, a launch that is left out.
"""

from typing import NamedTuple

from envbuild.certify import sessions
from envbuild.certify.answers import read
from envbuild.certify.seen import Event, Seen
from envbuild.certify.steps import Bench, Step, Work
from envbuild.certify.suites import smoke
from envbuild.certify.suites.common import unrun
from envbuild.certify.suites.multi.common import Line
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Blame, Check, Control, Verdict
from envbuild.values.codec import Pairs, replace

CHECK = Check(
    id="multi.mig",
    core=True,
    verdict="pass",
    says="the add kernel is right in every MIG instance",
    unit="instances",
    rule="each instance comes in alone, under its own uuid, and every sum in it is right",
)
_NAME = "multi.mig"


def uuids(seen: Seen) -> tuple[str, ...]:
    """The MIG instances of the host."""
    return tuple(uuid for gpu in seen.gpus if gpu.mig for uuid in gpu.mig.instances)


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """The next instance that was not tried; None after the last, or where there is none."""
    names = {session.name for session in seen.sessions}
    for i, uuid in enumerate(uuids(seen)):
        name = f"{_NAME}.{i}"
        if name not in names:
            add = sessions.on_device(bench, name, seen.nonce)
            who = (bench.probe("probe"), "peers", "--nonce", seen.nonce)
            return Work(name, (add, Step(f"{name}.who", who, (), 30.0)), devices=(uuid,))
    return None


def check(seen: Seen) -> Check:
    """All instances, each named."""
    if seen.choice.reason:
        return ruled(CHECK, "skip", seen.choice.reason, "machine")
    named = uuids(seen)
    if not named:
        plain = len(seen.gpus) < 2
        reason = "the host has no MIG instance" if plain else "no GPU of the host is divided by MIG"
        return ruled(CHECK, "skip", reason, "machine", core=plain)
    if nothing := unrun(seen, "multi"):
        return ruled(CHECK, *nothing)
    found = [_one(seen, f"{_NAME}.{i}", uuid) for i, uuid in enumerate(named)]
    words = ((uuid, one.reason or "right") for uuid, one in zip(named, found, strict=True))
    right = sum(one.verdict == "pass" for one in found)
    now = replace(CHECK, value=f"{right} of {len(named)}", inputs=Pairs(tuple(words)))
    order = ("fail", "inconclusive", "skip", "pass")
    worst = min(range(len(found)), key=lambda i: order.index(found[i].verdict))
    if found[worst].verdict != "pass":
        one = found[worst]
        return ruled(now, one.verdict, f"{named[worst]}: {one.reason}", one.blame)
    return settle(now, *(control for one in found for control in one.controls))


class _One(NamedTuple):
    """What one instance showed."""

    verdict: Verdict
    reason: str = ""
    blame: Blame | None = None
    controls: tuple[Control, ...] = ()


def _one(seen: Seen, step: str, uuid: str) -> _One:
    answer = read(seen, step, Event, once=("device", "sums", "changed", "skipped"))
    if not answer.whole:
        return _One(answer.verdict, answer.reason, answer.blame)
    failed = next((e for e in answer.all("failed") if not smoke.asked_for(e)), None)
    if failed:
        return _One("fail", f"{failed.call} answers {failed.code} {failed.says}", "machine")
    device = answer.one("device")
    if device is None or device.count != 1:
        count = device.count if device else 0
        return _One("fail", f"{count} devices came in, and one instance was asked for", "machine")
    if stranger := _stranger(seen, step, uuid):
        return _One("fail", stranger, "machine")
    sums, changed, skipped, end = (answer.one(k) for k in ("sums", "changed", "skipped", "end"))
    if sums and sums.wrong > 0:
        return _One("fail", f"{sums.wrong} of {sums.compared} sums are wrong", "machine")
    if not (sums and changed and skipped and end) or end.bad or sums.compared != seen.count:
        return _One("inconclusive", "the probe did not come to its end", "machine")
    says = f"{changed.wrong} wrong after one was changed"
    red = changed.wrong == 1 and changed.compared == seen.count
    first = Control(name=f"changed element in {uuid}", red=red, says=says)
    says = f"{skipped.wrong} of {skipped.compared} wrong without a launch"
    red = skipped.wrong == skipped.compared == seen.count
    return _One("pass", "", None, (first, Control(name=f"no launch in {uuid}", red=red, says=says)))


def _stranger(seen: Seen, step: str, uuid: str) -> str:
    """The instance that came in instead; empty where it is the right one, or cannot be told."""
    device = read(seen, f"{step}.who", Line).one("device")
    # Drivers before 470 name an instance MIG-GPU-uuid/x/y, and programs see the GPU's own uuid.
    asked = uuid.removeprefix("MIG-").replace("-", "")
    if device is None or device.older or "/" in uuid or device.uuid == asked:
        return ""
    return f"another instance came in, {device.uuid}"
