"""A certificate against itself: a recorded one adds up, and each thing changed in it does not."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuild.attest.recompute import contradictions
from envbuild.certify import verdicts
from envbuild.values.certificate import Certificate, Check, Control, Device, Runtimes, Subject
from envbuild.values.codec import Pairs, replace
from tests.attest.made import MANIFEST, certificate

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


NUMBERS = ["1e999999999", "-1e-999999999", "sNaN", "Infinity", "1_0", "٣", "0x1", "", "9" * 5000]


@given(
    value=st.sampled_from(NUMBERS) | st.text(max_size=20),
    limit=st.sampled_from(NUMBERS),
    number=st.floats(allow_nan=False),
    place=st.sampled_from(["value", "low", "high", "smallest", "q3", "limit", "floor"]),
)
def test_whatever_is_written_is_read(value: str, limit: str, number: float, place: str) -> None:
    def change(check: Check) -> Check:
        measure = replace(check.measure, **{place: number})
        return replace(
            check, value=value, limit=limit, measure=measure, inputs=Pairs({"rate": value})
        )

    made = changed(certificate(FAST, "smoke"), "fast.fma-f32", change)
    assert all(isinstance(one, str) for one in contradictions(made))


GREEN = Control(name="half of the SMs", red=False, says="")


@pytest.mark.parametrize(
    ("id", "change", "says"),
    [
        ("fast.fma-f32", figure(low=200.0), "low >= 0.97 * limit does not hold"),
        ("fast.fma-f32", figure(value=300.0, high=301.0), "value <= 1.01 * limit does not hold"),
        ("fast.fma-f32", figure(value=1.0), "lies outside"),
        ("fast.fma-f32", figure(largest=200.0), "do not lie as its samples do"),
        ("fast.fma-f32", figure(low=1.0), "do not lie as its samples do"),
        ("fast.fma-f32", figure(n=0), "of no sample"),
        ("fast.fma-f32", figure(floor=0.5), "no bound is its floor"),
        ("fast.fma-f32", lambda c: replace(c, bounds=()), "no bound is about its limit"),
        ("fast.fma-f32", lambda c: replace(c, bounds=("low >= 0.01 * limit",)), "is its floor"),
        ("fast.fma-f32", lambda c: replace(c, value="300"), "its value is written '300'"),
        ("fast.fma-f32", lambda c: replace(c, value="1e999999999"), "is written '1e999999999'"),
        ("fast.fma-f32", lambda c: replace(c, value="Infinity"), "is written 'Infinity'"),
        ("fast.fma-f32", lambda c: replace(c, limit="300"), "its limit is written '300'"),
        ("fast.fma-f32", lambda c: replace(c, inputs=Pairs({"rate": "9"})), "rate is written '9'"),
        ("fast.fma-f32", lambda c: replace(c, blame="image"), "the image is blamed"),
        ("fast.fma-f32", lambda c: replace(c, inputs=Pairs({"SMs": "7"})), "ran on 7 SMs"),
        ("fast.dram-write", called("skip"), "called a skip, and it was judged"),
        ("fast.dram-write", called("skip", ""), "nothing says why"),
        ("smoke.driver", lambda c: replace(c, inputs=Pairs({"driver": "1"})), "saw driver 1"),
        ("smoke.driver", lambda c: replace(c, inputs=Pairs({"driver CUDA": "1"})), "saw CUDA 1"),
        ("smoke.code", lambda c: replace(c, inputs=Pairs({"device": "7.5"})), "ran on cc 7.5"),
        ("smoke.code", lambda c: replace(c, id="toolchain.code"), "is not of suite smoke"),
        ("smoke.code", lambda c: replace(c, id="smoke.sums"), "has smoke.sums twice"),
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


FRAMEWORKS = "h200-local-frameworks.seen.json"


@pytest.mark.parametrize("id", ["torch.matmul", "torch.eager", "cupy.jit", "triton.softmax"])
def test_each_result_of_a_framework_is_held_against_its_bound_again(id: str) -> None:
    one = certificate(FRAMEWORKS, "torch")
    assert contradictions(one) == ()
    check = next(c for s in one.suites for c in s.checks if c.id == id)
    names = [name for name, _ in check.terms if name.endswith(("_error", "_wrong"))]
    assert len(names) == len([1 for _, text in check.inputs if "element" in text])
    for name in names:
        for number in ("9.0", "-1"):
            made = changed(one, id, terms(**dict(check.terms) | {name: number}))
            assert any("does not hold" in says for says in contradictions(made)), name
    nothing = {name: "0" for name, _ in check.terms if name.endswith("_compared")}
    made = changed(one, id, terms(**dict(check.terms) | nothing))
    assert sum("does not hold" in says for says in contradictions(made)) == len(names)


def test_what_the_sanitizer_found_is_counted_again() -> None:
    one = certificate("h200-local-all.seen.json", "smoke")
    assert contradictions(one) == ()
    made = changed(one, "correct.sanitizer", terms(found="2"))
    assert "found == limit does not hold" in contradictions(made)[0]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"started": "2026-12-02T00:00:00Z"}, "after it ended"),
        ({"started": "before"}, "'before' is no time"),
        ({"finished": "2026-13-01T00:00:00Z"}, "is no time"),
        ({"not_run": ("smoke",)}, "suite smoke is said not to have run"),
        ({"runtimes": Runtimes(driver="999")}, "it saw driver 580.159.04, not 999"),
        ({"runtimes": Runtimes(driver_cuda="99.0")}, "it saw CUDA 13.0, not 99.0"),
        ({"device": Device(name="x", uuid="GPU-x", cc="12.0")}, "it ran on cc 9.0, not 12.0"),
        ({"subject": Subject(kind="rootfs", name="/", digest=MANIFEST)}, "subject is a rootfs"),
        ({"subject": Subject(kind="manifest", name="x")}, "manifest with digest none"),
        ({"device": None}, "it ran on cc 9.0, not no GPU"),
        ({"suites": certificate(FAST, "smoke").suites * 2}, "it has smoke twice"),
    ],
)
def test_what_a_policy_asks_for_is_what_the_checks_saw(
    fields: dict[str, object], says: str
) -> None:
    found = contradictions(replace(certificate(FAST, "smoke"), **fields))
    assert any(says in one for one in found), found


@pytest.mark.parametrize("green", [True, False], ids=["a control stayed green", "no control ran"])
@pytest.mark.parametrize("verdict", ["pass", "fail", "skip", "inconclusive"])
@pytest.mark.parametrize("id", ["fast.dram-write", "smoke.sums", "fast.launch", "smoke.calls"])
def test_a_void_check_is_not_called_anything_better(id: str, verdict: str, green: bool) -> None:
    """Any other verdict is noticed, or makes the suite no better than the void one does."""

    def void(check: Check) -> Check:
        controls = tuple(replace(one, red=False) for one in check.controls) if green else ()
        return replace(check, verdict="void", blame="suite", reason="x", controls=controls)

    one = changed(certificate(FAST, "fast"), id, void)
    made = changed(one, id, lambda c: replace(c, verdict=verdict, core=False))
    suites = tuple(
        verdicts.suite(s.name, s.checks, required=s.required, seconds=0.0) for s in made.suites
    )
    code = verdicts.run_exit(suites, ("toolchain", "smoke", "correct"))
    made = replace(made, suites=suites, exit=code, verdict=verdicts.word(code))
    # One of a lower suite that no control ran for, and that is called open, promises nothing.
    nothing = verdict == "inconclusive" and not green and id.startswith("smoke.")
    assert contradictions(made) or code != 0 or nothing
