"""Check of atomic additions: every counter holds exactly what was counted."""

from envbuild.certify.arithmetic import terms
from envbuild.certify.seen import Seen
from envbuild.certify.suites.correct import answer as answered
from envbuild.certify.suites.correct.work import origin
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

WAYS = ("global i32", "global f32", "shared i32", "shared f32")
COUNTERS = 257  # one that all threads count in, and 256 that share them


def check(seen: Seen) -> Check:
    """Atomics on one counter and on many, in global and shared memory."""
    check = Check(
        id="correct.atomics",
        core=True,
        verdict="pass",
        says="atomic additions of 262,144 threads lose nothing",
        unit="wrong counters",
        limit="0",
        formula="counter = sum over its threads of (lane + 1), below 2^24: exact in f32",
        inputs=Pairs({"ways": ", ".join(WAYS), "code": origin(seen)}),
        rule="every counter of every way is exact",
    )
    if stop := answered.stopped(seen):
        return ruled(check, *stop)
    answer = answered.read(seen)
    lines = {line.which: line for line in answer.all("atomics")}
    if set(lines) != set(WAYS) or any(line.compared != COUNTERS for line in lines.values()):
        if said := answered.said(answer):
            return ruled(check, "fail", f"no result{said}", answered.owner(seen))
        return ruled(check, "inconclusive", "not every counter was compared", "suite")
    wrong = {way: line.wrong for way, line in lines.items() if line.wrong}
    lost = sum(wrong.values())
    check = replace(
        check,
        value=str(lost),
        expression="0",
        bounds=("wrong == limit",),
        terms=terms({"wrong": lost}),
    )
    if wrong:
        reason = "; ".join(f"{way}: {n} of {COUNTERS} counters wrong" for way, n in wrong.items())
        return ruled(check, "fail", reason, answered.owner(seen))
    plain = next((c for c in answer.all("control") if c.which == "plain"), None)
    if plain is None:
        return ruled(check, "inconclusive", "no control ran: plain additions", "suite")
    says = f"{plain.wrong} of {plain.compared} counters lost additions"
    return settle(check, Control(name="plain additions", red=plain.wrong > 0, says=says))
