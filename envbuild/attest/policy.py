"""What somebody asks of certificates before an image is used; pure."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from envbuild.attest.recompute import time
from envbuild.errors import InputError
from envbuild.planner.ranges import parse
from envbuild.values.certificate import Certificate
from envbuild.values.codec import Value

_AGE = re.compile(r"([1-9][0-9]{0,4})([dh])", re.ASCII)
#: Clocks of two machines differ by no more.
_SKEW = timedelta(minutes=5)


class Policy(Value):
    """What is asked.

    Attributes:
        require: suites that must have passed.
        cc: capabilities that a certificate must be from; empty = all that the image promises.
        driver_min: least driver of the machine that certified, ``580`` or ``580.65.06``.
        max_age: how old a certificate may be, ``30d`` or ``12h``; empty = of any age.
    """

    require: tuple[str, ...] = ("smoke",)
    cc: tuple[str, ...] = ()
    driver_min: str = ""
    max_age: str = ""


def age(text: str) -> timedelta:
    """``30d`` or ``12h`` as a time.

    Raises:
        InputError: it is neither.
    """
    match = _AGE.fullmatch(text)
    if match is None:
        what = f"{text!r} is no age"
        raise InputError(what, fix="--max-age 30d, or 12h")
    return timedelta(**{{"d": "days", "h": "hours"}[match[2]]: int(match[1])})


def unmet(certificate: Certificate, policy: Policy, now: datetime) -> tuple[str, ...]:
    """Why a certificate does not meet the policy, whatever its capability; empty = it does."""
    return tuple(_unmet(certificate, policy, now))


def missing(
    accepted: Sequence[Certificate], policy: Policy, promised: tuple[str, ...]
) -> tuple[str, ...]:
    """Capabilities that are asked for, else promised, and that no certificate is from.

    A policy that asks for no suite on a GPU asks for no GPU.
    """
    if set(policy.require) <= {"toolchain"}:
        covered = {cc for certificate in accepted for cc in certificate.cc}
    else:
        covered = {one.device.cc for one in accepted if one.device is not None}
    return tuple(cc for cc in policy.cc or promised if cc not in covered)


def _unmet(certificate: Certificate, policy: Policy, now: datetime) -> Iterator[str]:
    if certificate.exit != 0:
        yield f"its verdict is {certificate.verdict}"
    found = {suite.name: suite.verdict for suite in certificate.suites}
    for name in policy.require:
        if name not in found:
            yield f"suite {name} did not run"
        elif found[name] != "pass":
            yield f"suite {name} is called {found[name]}"
    if policy.driver_min:
        driver = certificate.runtimes.driver
        if driver is None:
            yield "it names no driver"
        elif not _reaches(driver, policy.driver_min):
            yield f"its driver {driver[:40]} does not reach {policy.driver_min}"
    finished = time(certificate.finished)
    if finished is None:
        yield f"{certificate.finished[:40]!r} is no time"
    elif finished > now + _SKEW:
        yield f"it ended at {certificate.finished}, which is not yet: a clock is wrong"
    elif policy.max_age and now - finished > age(policy.max_age):
        yield f"it is of {certificate.finished}, older than {policy.max_age}"


def _reaches(driver: str, least: str) -> bool:
    """``580`` is ``580.0``; what is no release number reaches nothing."""
    try:
        return driver in parse(f">={least}", "--driver-min")
    except InputError:
        return False
