"""multi.copies: what one GPU sends, the other gets, between every two and in both directions.

Direct (P2P) where the driver allows it, through the host else; which is reported. Controls: one
number changed, a copy that was left out.
"""

from envbuild.certify.answers import Answer, read
from envbuild.certify.arithmetic import terms
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Step, Work
from envbuild.certify.suites.multi import common
from envbuild.certify.suites.multi.common import Line
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

CHECK = Check(
    id="multi.copies",
    core=True,
    verdict="pass",
    says="copies between GPUs arrive as they were sent",
    unit="wrong numbers",
    limit="0",
    rule="all numbers of all ordered pairs are compared, none differs",
)
_STEP = "multi.copies"


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """All GPUs in one container; None where there is one alone, or it ran."""
    if len(common.whole(seen)) < 2 or any(s.name == _STEP for s in seen.sessions):
        return None
    argv = (bench.probe("probe"), "peers", "--nonce", seen.nonce)
    return Work(_STEP, (Step(_STEP, argv, (), 120.0),), devices=common.uuids(seen))


def check(seen: Seen) -> Check:
    """Every pair, compared."""
    if alone := common.alone(seen, CHECK):
        return alone
    answer = read(seen, _STEP, Line, once=("changed", "skipped"))
    if not answer.whole:
        return ruled(CHECK, answer.verdict, answer.reason, answer.blame)
    if stopped := incomplete(seen, CHECK, answer):
        return stopped
    count = len(common.whole(seen))
    pairs = {(line.origin, line.to): line for line in answer.all("copied")}
    expected = {(a, b) for a in range(count) for b in range(count) if a != b}
    lines = [pairs[key] for key in sorted(pairs)]
    if set(pairs) != expected or len(answer.all("copied")) != len(expected):
        reason = f"{len(pairs)} of {len(expected)} ordered pairs were copied between"
        return ruled(CHECK, "inconclusive", reason, "suite")
    changed, skipped = answer.one("changed"), answer.one("skipped")
    controls = []
    if changed:
        says = f"{changed.wrong} wrong after one was changed"
        controls.append(Control(name="changed number", red=changed.wrong == 1, says=says))
    if skipped:
        says = f"{skipped.wrong} of {skipped.compared} wrong without a copy"
        red = skipped.wrong == skipped.compared > 0
        controls.append(Control(name="skipped copy", red=red, says=says))
    now = replace(CHECK, value=str(sum(line.wrong for line in lines)), inputs=_facts(answer, lines))
    if any(line.compared < 1 for line in lines) or len(controls) < 2:
        return ruled(now, "inconclusive", "a comparison or a control did not run", "suite")
    if bad := [line for line in lines if line.wrong]:
        what = ", ".join(f"{line.origin} to {line.to}: {line.wrong}" for line in bad)
        direct = "direct" if bad[0].direct else "through the host"
        # That the comparison can fail needs no further proof here.
        return ruled(now, "fail", f"wrong numbers arrive ({what}; {direct})", "machine")
    numbers = {"wrong": sum(line.wrong for line in lines), "pairs": len(lines), "gpus": count}
    now = replace(
        now,
        expression="0",
        bounds=("wrong == limit", "pairs == gpus * (gpus - 1)"),
        terms=terms(numbers),
    )
    return settle(now, *controls)


def incomplete(seen: Seen, check_: Check, answer: Answer[Line]) -> Check | None:
    """The check where not all devices came in, or a call failed; None where it can be judged."""
    if memory := answer.one("memory"):
        reason = f"{memory.need >> 20} MiB are more than a quarter of what is free on a GPU"
        return ruled(check_, "skip", reason, "machine")
    count, came = len(common.whole(seen)), answer.all("device")
    if failed := answer.one("failed"):
        return ruled(check_, "fail", common.failure(failed), "machine")
    if len(came) != count or len({line.uuid for line in came}) != count:
        reason = f"{len(came)} of the host's {count} GPUs came into the container"
        return ruled(check_, "fail", reason, "machine")
    if answer.one("end") is None:
        return ruled(check_, "inconclusive", "the probe did not come to its end", "machine")
    return None


def _facts(answer: Answer[Line], lines: list[Line]) -> Pairs:
    """How each pair reaches the other, and what it carries."""
    speed = {(line.origin, line.to): line.gbs for line in answer.all("speed")}
    found = []
    for line in lines:
        how = "direct" if line.direct else "through the host"
        gbs = speed.get((line.origin, line.to), 0.0)
        found.append((f"{line.origin} to {line.to}", f"{how}, {gbs:.1f} GB/s"))
    return Pairs(tuple(found))
