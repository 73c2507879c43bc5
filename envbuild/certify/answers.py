"""A program's answer, read with distrust: whole, of this run, each result named once, or why not.

Programs inside an image print one JSON object a line. The first is ``start`` and repeats the run's
nonce, the last is ``end``. Whatever an image does to that (it dies, hangs, floods, prints a broken
line, repeats an old answer) is a verdict with its reason, never an error of ours.
"""

from typing import Generic, TypeVar

import msgspec

from envbuild.certify.seen import NOT_STARTED, Seen, Session, Spoken
from envbuild.certify.texts import NO_GLIBC, last_line, no_room
from envbuild.values.certificate import Blame, Verdict

T = TypeVar("T", bound=Spoken)


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """The lines of an answer, or why there is nothing to judge.

    Attributes:
        verdict: ``pass`` where the answer is whole; nothing is said of what is in it.
        reason, blame: of any other verdict.
    """

    lines: tuple[T, ...] = ()
    verdict: Verdict = "pass"
    reason: str = ""
    blame: Blame | None = None

    @property
    def whole(self) -> bool:
        """It can be judged."""
        return self.verdict == "pass"

    def one(self, kind: str) -> T | None:
        """The first line of a kind."""
        return next((line for line in self.lines if line.event == kind), None)

    def all(self, kind: str) -> tuple[T, ...]:
        """All lines of a kind."""
        return tuple(line for line in self.lines if line.event == kind)


def read(
    seen: Seen,
    step: str,
    kind: type[T],
    *,
    owner: Blame = "machine",
    once: tuple[str, ...] = (),
) -> Answer[T]:
    """The answer of one step.

    Args:
        seen: the observations.
        step: its name.
        kind: the struct of a line; fields that it does not know are left out.
        owner: whose the program is: ``image`` where a fault of its own (it hangs, a signal ends
            it, its exit code is not 0) is the image's, ``machine`` for our own runner.
        once: kinds of lines, beside ``start`` and ``end``, of which a second is a lie.
    """
    if stopped := ended(seen, step, owner):
        return Answer((), *stopped)
    ran = seen.step(step)
    lines: list[T] = []
    for text in (ran.out if ran else "").splitlines():
        if not text.startswith("{"):
            continue  # other people's noise
        try:
            lines.append(msgspec.json.decode(text, type=kind))
        except msgspec.DecodeError as e:
            reason = f"{step} printed {text[:80]!r}, which is none of its lines: {e}"
            return Answer((), "inconclusive", reason, "suite")
    kinds = [line.event for line in lines]
    if "start" not in kinds or any(
        line.nonce != seen.nonce for line in lines if line.event in {"start", "end"}
    ):
        return Answer((), "inconclusive", f"the answer of {step} is not of this run", "suite")
    twice = [name for name in ("start", "end", *once) if kinds.count(name) > 1]
    if twice:
        reason = f"the answer of {step} names a result twice: {', '.join(twice)}"
        return Answer((), "inconclusive", reason, "suite")
    return Answer(tuple(lines))


def ended(seen: Seen, step: str, owner: Blame = "machine") -> tuple[Verdict, str, Blame] | None:
    """(verdict, reason, blame) of a step that did not end well by itself; None where it did.

    A step that another program of the image ended, or that never began, is open; one that its own
    fault ended fails only where the image owns it.
    """
    ran = seen.step(step)
    if ran is None:
        session = _session(seen, step)
        never = session is not None and session.rc == NOT_STARTED
        return "fail" if never else "inconclusive", _missing(session, step), "machine"
    if full := no_room(ran):
        return "inconclusive", full, "machine"
    own: Verdict = "fail" if owner == "image" else "inconclusive"
    if ran.timed_out:
        return own, f"{step} did not end within {ran.ms // 1000} s", owner
    if ran.rc == 127:
        return "skip", f"{NO_GLIBC}, or lacks the program: {last_line(ran.err)}", "image"
    if ran.cut:
        return "inconclusive", f"{step} printed more than the 256 KiB that are kept", owner
    if ran.signal:
        return own, f"signal {ran.signal} ended {step}", owner
    if ran.rc:
        return own, f"{step} ended with exit code {ran.rc}: {last_line(ran.err)}", owner
    return None


def _missing(session: Session | None, step: str) -> str:
    """Why a step has no result, as its container's end tells."""
    if session is None or not (session.rc or session.timed_out or session.noise):
        return f"{step} was not tried: the run ended before it"
    if session.timed_out:
        return f"{step} has no result: its container hung and was removed"
    if session.noise and not session.rc:
        return f"{step} has no result: something in the image wrote among the results"
    said = last_line(session.says) if session.says.strip() else "no message"
    if session.rc == NOT_STARTED:
        return f"{step} has no result: no container came up: {said}"
    return f"{step} has no result: its container ended with exit code {session.rc} ({said})"


def _session(seen: Seen, step: str) -> Session | None:
    """The container run that the step belongs to by its name; the last of the suite's."""
    suite = step.partition(".")[0]
    of_suite = [s for s in seen.sessions if s.name == suite or s.name.startswith(f"{suite}.")]
    longest = [s for s in of_suite if step == s.name or step.startswith(f"{s.name}.")]
    return next(reversed(longest or of_suite), None)
