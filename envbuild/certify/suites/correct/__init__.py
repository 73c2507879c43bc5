"""Suite `correct`: the arithmetic of the GPU is right, and what is wrong answers an error.

Core: a check for each number format that the GPU has, `correct.atomics`, `correct.launches`. The
kernels are compiled by the image's own compiler where it has one; where they do not come through,
the prebuilt ones run as a reference in a process of their own: if those are right, the fault is
the image's, else the machine's.
"""

from envbuild.certify import facts
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Work
from envbuild.certify.suites.correct import answer, atomics, launches, numbers, sanitizer, work
from envbuild.values.certificate import Check


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    others = (atomics.check(seen), launches.check(seen), launches.fault(seen))
    return (*numbers.checks(seen), *others, sanitizer.check(seen))


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """Compile, run, where that did not come through the prebuilt code, and last the sanitizer."""
    done = {session.name for session in seen.sessions}
    own = bool(facts.compiler(seen))
    if own and "correct.compile" not in done:
        return Work("correct.compile", work.compiling(bench, seen), gpu=False)
    if "correct" not in done:
        steps = [work.running(bench, seen, "correct", prebuilt=not own)]
        steps += work.faulting(bench, seen) if seen.faults else ()
        return Work("correct", tuple(steps))
    if own and "correct.reference" not in done and not answer.right(seen, "correct"):
        step = work.running(bench, seen, "correct.reference", prebuilt=True)
        return Work("correct.reference", (step,))
    return sanitizer.next_work(bench, seen)
