"""A certificate against itself: every limit and verdict again, from what it says it was taken from.

A check may be worse than its figures (its results were wrong, a control stayed green, somebody used
the GPU), never better.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from envbuild.attest import figures
from envbuild.certify import verdicts
from envbuild.certify.suites import before
from envbuild.values.certificate import Certificate, Check, Device, Subject

_RAN = ("pass", "fail", "inconclusive")


def contradictions(certificate: Certificate) -> tuple[str, ...]:
    """What in a certificate does not follow from the rest of it; empty = all of it does."""
    return tuple(_all(certificate))


def time(text: str) -> datetime | None:
    """A time as certificates write it, None = it is none."""
    try:
        found = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    # Digits of other scripts and blanks are read, too.
    return found if found.isoformat() == text.replace("Z", "+00:00") else None


def _all(certificate: Certificate) -> Iterator[str]:
    if certificate.recorded != "run":
        yield "it is a replay, which certifies nothing"
    yield from _times(certificate)
    yield from _subject(certificate.subject)
    yield from _names(certificate)
    yield from _machine(certificate)
    for suite in certificate.suites:
        for check in suite.checks:
            yield from (f"{check.id}: {says}" for says in figures.wrong(check))
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


def _times(certificate: Certificate) -> Iterator[str]:
    began, ended = time(certificate.started), time(certificate.finished)
    for text, found in ((certificate.started, began), (certificate.finished, ended)):
        if found is None:
            yield f"{text[:40]!r} is no time"
    if began and ended and began > ended:
        yield f"it began at {certificate.started}, after it ended"


def _subject(subject: Subject) -> Iterator[str]:
    """What has a digest, and what has none: a folder is nothing that others could have."""
    if (subject.kind == "rootfs") == bool(subject.digest):
        yield f"its subject is a {subject.kind} with digest {subject.digest or 'none'}"


def _names(certificate: Certificate) -> Iterator[str]:
    """Who reads a suite or a check by its name must find one, and of that suite."""
    suites = [suite.name for suite in certificate.suites]
    checks = [check.id for suite in certificate.suites for check in suite.checks]
    yield from (f"it has {name} twice" for name in _twice(suites) + _twice(checks))
    for suite in certificate.suites:
        for check in suite.checks:
            if check.id.partition(".")[0] != suite.name:
                yield f"check {check.id} is not of suite {suite.name}, where it stands"
    if both := set(suites) & set(certificate.not_run):
        yield f"suite {min(both)} is said not to have run"


def _twice(names: Sequence[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _machine(certificate: Certificate) -> Iterator[str]:
    """The GPU and the driver that a policy asks for are those that the checks saw."""
    runtimes, device = certificate.runtimes, certificate.device
    for suite in certificate.suites:
        for check in suite.checks:
            if check.id == "smoke.driver":
                driver, cuda = check.inputs.get("driver"), check.inputs.get("driver CUDA")
                if driver and runtimes.driver not in {None, driver}:
                    yield f"{check.id}: it saw driver {driver}, not {runtimes.driver}"
                if cuda and runtimes.driver_cuda not in {None, cuda}:
                    yield f"{check.id}: it saw CUDA {cuda}, not {runtimes.driver_cuda}"
            if check.verdict in _RAN:
                yield from _on(check, device)


def _on(check: Check, device: Device | None) -> Iterator[str]:
    cc, sms = check.inputs.get("device"), check.inputs.get("SMs")
    if cc and (device is None or device.cc != cc):
        yield f"{check.id}: it ran on cc {cc}, not {device.cc if device else 'no GPU'}"
    if sms and device and device.sms is not None and str(device.sms) != sms:
        yield f"{check.id}: it ran on {sms} SMs, not {device.sms}"
