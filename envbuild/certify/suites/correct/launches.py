"""Checks of what goes wrong: a bad launch answers an error; where allowed, a fault surfaces."""

from envbuild.certify.answers import Answer
from envbuild.certify.seen import Seen
from envbuild.certify.suites.common import unrun
from envbuild.certify.suites.correct import answer as answered
from envbuild.certify.suites.correct.answer import Line
from envbuild.certify.suites.correct.work import origin
from envbuild.certify.suites.smoke import BAD_LAUNCH
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

WRONG = ("4096 threads a block", "no thread", "no block", "1 GiB of shared memory")
# Illegal address, misaligned address, invalid address space, unspecified launch failure.
FAULTS = frozenset({700, 716, 717, 719})


def check(seen: Seen) -> Check:
    """Launches that no device takes."""
    check = Check(
        id="correct.launches",
        core=True,
        verdict="pass",
        says="a launch that no device takes answers an error, and spoils nothing",
        rule="each answers invalid argument, invalid configuration or out of resources; a good "
        "launch before and after them is right",
        inputs=Pairs({"launches": ", ".join(WRONG), "code": origin(seen)}),
    )
    if stop := answered.stopped(seen):
        return ruled(check, *stop)
    answer = answered.read(seen)
    good = [line for line in answer.all("launch") if line.which == "good"]
    bad = {line.which: line.answer for line in answer.all("launch") if line.which != "good"}
    if set(bad) != set(WRONG) or len(good) != 2:
        if said := answered.said(answer):
            return ruled(check, "fail", f"no result{said}", answered.owner(seen))
        return ruled(check, "inconclusive", "not every launch was tried", "suite")
    check = replace(check, value=", ".join(str(bad[which]) for which in WRONG))
    if any(line.answer or not line.right for line in good):
        reason = "; ".join(f"a good launch answers {line.answer}" for line in good)
        return ruled(check, "fail", reason, answered.owner(seen))
    controls = _good(good[0])
    taken = [f"{which} answers {n}" for which, n in bad.items() if n not in BAD_LAUNCH]
    if taken:
        return settle(ruled(check, "fail", "; ".join(taken), answered.owner(seen)), controls)
    return settle(check, controls)


def fault(seen: Seen) -> Check:
    """A store to no memory at all, in a process of its own."""
    check = Check(
        id="correct.fault",
        core=seen.faults,
        verdict="pass",
        says="a kernel that stores to address 0 answers an error, and the device goes on",
        rule=f"the call after it answers one of {', '.join(map(str, sorted(FAULTS)))}; in another "
        "process launches are right again",
        inputs=Pairs({"code": "prebuilt"}),
    )
    if not seen.faults and not seen.choice.reason:
        reason = "only with --faults: the machine's log keeps a fault (Xid 31)"
        return ruled(check, "skip", reason, None)
    if stop := unrun(seen, "correct"):
        return ruled(check, *stop)
    answer, after = answered.read(seen, "correct.fault"), answered.read(seen, "correct.after")
    if not answer.whole:
        return ruled(check, answer.verdict, answer.reason, answer.blame)
    good = next((line for line in answer.all("launch") if line.which == "good"), None)
    found = next((line for line in answer.all("launch") if line.which == "address 0"), None)
    if good is None or found is None:
        return ruled(check, "inconclusive", "the fault was not tried", "suite")
    check = replace(check, value=str(found.answer))
    if found.answer not in FAULTS:
        reason = f"a store to address 0 answers {found.answer}"
        return settle(ruled(check, "fail", reason, "machine"), _good(good))
    if not _goes_on(after):
        reason = f"after the fault no launch comes through{answered.said(after)}"
        return settle(ruled(check, "fail", reason, "machine"), _good(good))
    return settle(check, _good(good))


def _good(line: Line) -> Control:
    """The rule, held to a launch that is right, must not see an error."""
    red = line.answer == 0 and bool(line.right)
    return Control(name="good launch", red=red, says=f"answers {line.answer}")


def _goes_on(answer: Answer[Line]) -> bool:
    good = [line for line in answer.all("launch") if line.which == "good"]
    return answer.whole and bool(good) and all(not x.answer and x.right for x in good)
