"""A certificate against itself: every limit and verdict again, from what it says it was taken from.

A check may be worse than its figures (its results were wrong, a control stayed green, somebody used
the GPU), never better.
"""

from collections.abc import Iterator
from math import isclose

from envbuild.certify import verdicts
from envbuild.certify.arithmetic import broken, numbers_of
from envbuild.certify.suites import before
from envbuild.errors import InputError
from envbuild.values.certificate import Certificate, Check


def contradictions(certificate: Certificate) -> tuple[str, ...]:
    """What in a certificate does not follow from the rest of it; empty = all of it does."""
    return tuple(_all(certificate))


def _all(certificate: Certificate) -> Iterator[str]:
    if certificate.recorded != "run":
        yield "it is a replay, which certifies nothing"
    if certificate.started > certificate.finished:
        yield f"it began at {certificate.started}, after it ended"
    for suite in certificate.suites:
        for check in suite.checks:
            yield from (f"{check.id}: {says}" for says in _check(check))
        again = verdicts.suite(suite.name, suite.checks, required=suite.required, seconds=0.0)
        if again.verdict != suite.verdict:
            yield f"suite {suite.name} is called {suite.verdict}, its checks give {again.verdict}"
    required = tuple(suite.name for suite in certificate.suites if suite.required)
    code = verdicts.run_exit(certificate.suites, before(required))
    # One that named suites which did not run has 9, whatever the others gave.
    if certificate.exit not in {code, 9} or certificate.verdict != verdicts.word(certificate.exit):
        yield (
            f"it is called {certificate.verdict} (exit {certificate.exit}), "
            f"its suites give {verdicts.word(code)} (exit {code})"
        )


def _check(check: Check) -> Iterator[str]:
    if verdicts.settle(check, *check.controls).verdict != check.verdict:
        yield "it passed without a control that turned red in this run"
    try:
        numbers = numbers_of(check)
        failed = broken(check)
    except InputError as e:
        yield e.what
        return
    measure, limit = check.measure, numbers.get("limit")
    said = measure.limit if measure is not None else None
    if said is not None and limit is not None and not isclose(said, limit, rel_tol=1e-12):
        yield f"its limit is said to be {said:g}, and {check.expression} is {limit:g}"
    if measure is not None and not measure.low <= measure.value <= measure.high:
        yield f"its median {measure.value:g} lies outside {measure.low:g} to {measure.high:g}"
    if check.verdict == "pass":
        yield from (f"it passed, and {bound} does not hold" for bound in failed)
    elif check.verdict != "skip" and not check.reason:
        yield f"it is called {check.verdict}, and nothing says why"
