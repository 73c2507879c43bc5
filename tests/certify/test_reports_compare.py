"""Two certificates of one kind of GPU: what is slower, what cannot be said, and the exit code."""

import pytest

from envbuild.certify.report.compare import Change, compare, lines
from envbuild.errors import InputError
from envbuild.values.certificate import Check, Measure
from envbuild.values.codec import replace
from tests.certify.measured import BF16, CERTIFICATE, FMA, LAUNCH, READ, check, figure, having


def one(then: Check, now: Check) -> Change:
    return compare(having(then), having(now)).changes[0]


def scaled(measure: Measure, by: float, **further: object) -> Measure:
    values = {name: getattr(measure, name) * by for name in ("value", "low", "high")}
    return replace(measure, **values, **further)


def test_nothing_fell_behind() -> None:
    found = compare(CERTIFICATE, CERTIFICATE)
    assert {change.kind for change in found.changes} == {"same"}
    assert (found.exit, found.differs) == (0, ())
    assert list(lines(found)) == ["compared  7 same"]


@pytest.mark.parametrize(
    ("by", "kind", "code"),
    [
        (0.9, "slower", 4),
        (0.98, "undecided", 0),
        (0.99, "same", 0),
        (1.01, "same", 0),
        (1.1, "faster", 0),
    ],
)
def test_intervals_decide(by: float, kind: str, code: int) -> None:
    found = compare(having(check("dram-read", READ)), having(check("dram-read", scaled(READ, by))))
    assert (found.changes[0].kind, found.exit) == (kind, code)


def test_wide_intervals_decide_nothing() -> None:
    wide = replace(scaled(READ, 0.9), low=READ.low * 0.8, high=READ.high)
    assert one(check("dram-read", READ), check("dram-read", wide)).kind == "undecided"


def test_what_the_image_owns_is_the_image_s() -> None:
    mine = replace(BF16, owner="image")
    then, now = check("cublas-bf16", mine), check("cublas-bf16", scaled(mine, 0.9))
    assert compare(having(then), having(now)).exit == 6
    beside = replace(now, core=False)
    assert compare(having(then), having(beside)).exit == 0


def test_cycles_count_and_not_the_clock() -> None:
    hot = replace(FMA, mhz=1400.0, shown="46.5 TFLOP/s f32")
    assert one(check("fma-f32", FMA), check("fma-f32", hot)).kind == "same"
    clock = figure("MHz", 1965.0, 1980.0, None, "1965 MHz")
    found = compare(having(check("clock", clock)), having(check("clock", scaled(clock, 0.7))))
    assert (found.changes[0].kind, found.exit) == ("slower", 0)


def test_less_time_is_faster() -> None:
    assert one(check("launch", LAUNCH), check("launch", scaled(LAUNCH, 0.5))).kind == "faster"
    assert one(check("launch", LAUNCH), check("launch", scaled(LAUNCH, 2.0))).kind == "slower"


@pytest.mark.parametrize("by", [1e-320, 1e300])
def test_figures_too_far_apart_for_a_ratio_decide_nothing(by: float) -> None:
    then, now = scaled(LAUNCH, 1 / min(by, 1e300) if by > 1 else 1e10), scaled(LAUNCH, by)
    assert one(check("launch", then), check("launch", now)).kind == "undecided"


def test_another_unit_is_not_compared() -> None:
    other = replace(LAUNCH, unit="ms")
    assert one(check("launch", LAUNCH), check("launch", other)).kind == "undecided"


def test_another_verdict_is_said_with_its_reason() -> None:
    then = check("dram-read", READ)
    now = replace(then, verdict="fail", reason="0.40 of the limit", blame="machine")
    found = compare(having(then), having(now, verdict="fail", code=4))
    assert (found.changes[0].kind, found.exit) == ("worse", 4)
    assert "pass, 4675 GB/s" in "\n".join(lines(found))
    assert "0.40 of the limit" in "\n".join(lines(found))
    assert compare(having(now), having(then)).changes[0].kind == "better"


def test_a_control_that_no_longer_runs_is_said() -> None:
    then = replace(check("x", None), measure=None)
    found = one(then, replace(then, controls=()))
    assert (found.kind, found.says) == ("changed", "without the control: half of the SMs")


def test_a_core_check_that_is_gone_leaves_it_open() -> None:
    then = having(check("fma-f32", FMA), check("dram-read", READ))
    found = compare(then, having(check("fma-f32", FMA)))
    assert [(c.id, c.kind) for c in found.changes][1:] == [("fast.dram-read", "lost")]
    assert found.exit == 8
    assert compare(having(), having(check("fma-f32", FMA))).exit == 8


def test_a_suite_that_was_not_asked_for_is_not_lost() -> None:
    then = replace(
        CERTIFICATE,
        suites=(
            *CERTIFICATE.suites,
            replace(
                CERTIFICATE.suites[0],
                name="torch",
                checks=(replace(check("x", None), id="torch.x"),),
            ),
        ),
    )
    assert compare(then, CERTIFICATE).exit == 0


@pytest.mark.parametrize("field", [{"name": "NVIDIA A100"}, {"cc": "8.0"}, {"sms": 66}])
def test_another_kind_of_gpu_is_refused(field: dict[str, object]) -> None:
    assert CERTIFICATE.device is not None
    other = replace(CERTIFICATE, device=replace(CERTIFICATE.device, **field))
    with pytest.raises(InputError, match="another kind of GPU"):
        compare(other, CERTIFICATE)


def test_another_image_driver_or_gpu_is_said() -> None:
    assert CERTIFICATE.device is not None
    now = replace(
        CERTIFICATE,
        subject=replace(CERTIFICATE.subject, digest="sha256:" + "b" * 64),
        device=replace(CERTIFICATE.device, uuid="GPU-2"),
        runtimes=replace(CERTIFICATE.runtimes, driver="590.1"),
        probes=type(CERTIFICATE.probes)({"fma.cu": "2" * 64}),
    )
    text = "\n".join(compare(CERTIFICATE, now).differs)
    for said in ("another image: sha256:aaaa", "GPU-1 → GPU-2", "580.159.04 → 590.1", "fma.cu"):
        assert said in text
    replayed = replace(CERTIFICATE, recorded="replayed")
    assert "replay" in "\n".join(compare(replayed, now).differs)
