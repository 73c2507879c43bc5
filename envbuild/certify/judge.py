"""From observations to verdicts: one pure function, the same for a run and for a replay."""

from typing import NamedTuple

from envbuild.certify import facts, guard, verdicts
from envbuild.certify.seen import Seen
from envbuild.certify.suites import SUITES, before
from envbuild.values.certificate import Check, SuiteResult, Verdict

_SESSIONS = {
    "look": "toolchain",
    "look-again": "toolchain",
    "compile": "toolchain",
    "work": "smoke",
    "reference": "smoke",
}


class Judgement(NamedTuple):
    """Suites with their checks, the verdict of the required ones, the exit code."""

    suites: tuple[SuiteResult, ...]
    verdict: Verdict
    exit: int


def judge(seen: Seen, require: tuple[str, ...]) -> Judgement:
    """Judge what was seen.

    Args:
        seen: the observations; nothing else is looked at.
        require: suites whose outcome is the run's outcome.
    """
    suites = []
    for name in seen.asked:
        spent = sum(s.seconds for s in seen.sessions if _suite_of(s.name) == name)
        checks = tuple(_doubted(check, seen) for check in SUITES[name].judge(seen))
        suites.append(
            verdicts.suite(name, checks, required=name in require, seconds=round(spent, 3))
        )
    ran = {one.name for one in suites}
    code = verdicts.run_exit(suites, before(require)) if set(require) <= ran else 9
    return Judgement(tuple(suites), verdicts.word(code), code)


def _suite_of(session: str) -> str:
    """The suite that a container run belongs to."""
    return _SESSIONS.get(session) or session.partition(".")[0]


def _doubted(check: Check, seen: Seen) -> Check:
    """A figure of a GPU that others use says nothing of it.

    A pass that something loaded into every program of the image may have given is none.
    """
    if check.verdict in {"pass", "fail"} and check.id.partition(".")[0] in guard.TIMED:
        gpu = seen.choice.gpu
        if shared := guard.others(seen.usage, gpu.uuid if gpu else None):
            return verdicts.ruled(check, "inconclusive", shared, "machine")
    first = facts.injected(seen) if check.verdict == "pass" else ""
    if not first:
        return check
    reason = f"every program of the image loads {first}, which may answer in its place"
    return verdicts.ruled(check, "inconclusive", reason, "image")
