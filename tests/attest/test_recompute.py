"""A certificate against itself: a recorded one adds up, and each thing changed in it does not."""

from collections.abc import Callable

import pytest

from envbuild.attest.recompute import contradictions
from envbuild.values.certificate import Certificate, Check, Control
from envbuild.values.codec import Pairs, replace
from tests.attest.made import certificate

FAST = "h200-local-fast-1.seen.json"


@pytest.mark.parametrize(
    ("name", "require"),
    [
        ("h200-podman.seen.json", "smoke"),
        ("h200-local.seen.json", "smoke"),
        ("h200-docker.seen.json", "toolchain"),
        ("h200-local-frameworks.seen.json", "torch"),
        (FAST, "fast"),
        (FAST, "smoke"),
        ("docker-wheels-13.5.json", "toolchain"),
        ("docker-wheels-13.5.json", "smoke"),
    ],
)
def test_what_was_judged_adds_up(name: str, require: str) -> None:
    assert contradictions(certificate(name, require)) == ()


def changed(one: Certificate, id: str, change: Callable[[Check], Check]) -> Certificate:
    suites = tuple(
        replace(s, checks=tuple(change(c) if c.id == id else c for c in s.checks))
        for s in one.suites
    )
    assert suites != one.suites
    return replace(one, suites=suites)


def figure(**fields: float) -> Callable[[Check], Check]:
    return lambda check: replace(check, measure=replace(check.measure, **fields))


def terms(**numbers: str) -> Callable[[Check], Check]:
    return lambda check: replace(check, terms=Pairs(numbers))


def called(verdict: str, reason: str = "x") -> Callable[[Check], Check]:
    return lambda check: replace(check, verdict=verdict, reason=reason, blame="image")


GREEN = Control(name="half of the SMs", red=False, says="")


@pytest.mark.parametrize(
    ("id", "change", "says"),
    [
        ("fast.fma-f32", figure(low=200.0), "low >= 0.97 * limit does not hold"),
        ("fast.fma-f32", figure(value=300.0, high=301.0), "value <= 1.01 * limit does not hold"),
        ("fast.fma-f32", figure(value=1.0), "lies outside"),
        ("fast.fma-f32", figure(limit=200.0), "rate is 256"),
        ("fast.dram-read", terms(clock_khz="9e9", bus_bits="6016"), "its limit is said to be"),
        ("fast.dram-read", terms(), "is no bound"),
        ("fast.dram-read", lambda c: replace(c, bounds=("low",)), "is no bound"),
        ("fast.fma-f32", lambda c: replace(c, controls=()), "without a control"),
        ("fast.fma-f32", lambda c: replace(c, controls=(*c.controls, GREEN)), "without a control"),
        ("fast.tensor-f8", lambda c: replace(c, controls=()), "without a control"),
        ("fast.tensor-f8", called("fail", ""), "nothing says why"),
        ("smoke.sums", terms(wrong="1", compared="9", elements="9"), "wrong == limit"),
        ("smoke.sums", called("fail"), "suite smoke is called pass"),
    ],
)  # fmt: skip
def test_what_was_changed_does_not(id: str, change: Callable[[Check], Check], says: str) -> None:
    found = contradictions(changed(certificate(FAST, "smoke"), id, change))
    assert any(says in one for one in found), found


def test_a_verdict_follows_from_its_suites() -> None:
    one = certificate("h200-local-frameworks.seen.json", "numba")
    assert one.exit == 6
    better = replace(one, exit=0, verdict="pass")
    assert any("is called pass (exit 0)" in says for says in contradictions(better))
    assert any("replay" in says for says in contradictions(replace(one, recorded="replayed")))
    turned = replace(one, started="2026-12-02T00:00:00Z")
    assert any("after it ended" in says for says in contradictions(turned))
