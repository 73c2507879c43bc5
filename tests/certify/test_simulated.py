"""Every rule of every suite over devices that are made, healthy and sick.

No healthy device may fail or void a check, whatever its clocks, memory and rates; what is sick must
be called that, and by its owner's name.
"""

from functools import cache

import msgspec
import pytest

from envbuild.certify.judge import Judgement, judge
from envbuild.certify.suites import SUITES
from envbuild.values.certificate import Check
from tests.certify.simulated.devices import Device, device, devices
from tests.certify.simulated.machine import HEALTHY, Machine, Trouble, observe
from tests.certify.simulated.sick import CONTROLS, HALF_CLOCK, SICK, WITH

TITLES = [one.title for one in devices()]
# What needs several GPUs is asked of none of them.
ASKED = tuple(name for name in SUITES if name != "multi")
# Their attributes do not say how fast their memory is.
UNKNOWN = {"A100 1g MIG", "Jetson AGX Orin", "GB10"}


@cache
def judged(title: str, trouble: Trouble = HEALTHY, require: tuple[str, ...] = ASKED) -> Judgement:
    return judge(observe(Machine(device(title), trouble=trouble), *require), require)


def checks(result: Judgement) -> dict[str, Check]:
    return {check.id: check for suite in result.suites for check in suite.checks}


@pytest.mark.parametrize("title", TITLES)
class TestHealthy:
    def test_nothing_fails_and_no_check_is_void(self, title: str) -> None:
        bad = {
            c.id: c.reason for c in checks(judged(title)).values() if c.verdict in {"fail", "void"}
        }
        assert bad == {}

    def test_only_a_limit_that_nobody_knows_is_open(self, title: str) -> None:
        found = checks(judged(title)).values()
        reasons = {c.reason for c in found if c.verdict == "inconclusive"}
        assert all(reason.startswith("limit unknown") for reason in reasons)
        assert bool(reasons) == (title in UNKNOWN)

    def test_it_is_certified_or_said_to_be_open(self, title: str) -> None:
        pascal = device(title).cc.startswith("6.")
        require = tuple(name for name in ASKED if name != "triton" or not pascal)
        assert judged(title, HEALTHY, require).exit == (8 if title in UNKNOWN else 0)

    def test_a_figure_lies_below_its_limit_and_above_its_floor(self, title: str) -> None:
        for check in checks(judged(title)).values():
            figure = check.measure
            if figure and figure.limit and figure.floor and check.verdict == "pass":
                assert 0.25 * figure.floor * figure.limit <= figure.low, check.id
                assert figure.value <= 1.02 * figure.limit, check.id


def test_triton_does_not_serve_pascal() -> None:
    found = judged("GTX 1080 Ti", HEALTHY, ("triton",))
    assert found.exit == 4
    assert checks(found)["triton.softmax"].verdict == "skip"


def test_a_part_without_tensor_cores_is_not_asked_for_them() -> None:
    found = checks(judged("GTX 1650"))
    asked = {name: c.verdict for name, c in found.items() if "tensor" in name}
    assert set(asked.values()) == {"skip"}
    assert not any(found[name].core for name in asked)


@pytest.mark.parametrize("name", SICK)
def test_what_is_sick_is_called_so(name: str) -> None:
    trouble, check, verdict, blame = SICK[name]
    found = checks(judged(WITH, trouble, (check.partition(".")[0],)))[check]
    assert (found.verdict, found.blame) == (verdict, blame), found.reason
    assert found.reason


@pytest.mark.parametrize("title", sorted(set(TITLES) - UNKNOWN))
@pytest.mark.parametrize(
    ("trouble", "check"),
    [
        (Trouble(clock=HALF_CLOCK, reasons=0x8), "fast.clock"),
        (Trouble(clock=HALF_CLOCK, reasons=0x80), "fast.clock"),
        (Trouble(dram=0.5), "fast.dram-read"),
        (Trouble(fma=0.5), "fast.fma-f32"),
        (Trouble(wrong=("sums",), reference=True), "smoke.sums"),
    ],
    ids=["hardware slowdown", "power brake", "half the DRAM", "half the lanes", "wrong sums"],
)
def test_every_device_is_seen_to_be_sick(title: str, trouble: Trouble, check: str) -> None:
    found = judged(title, trouble, (check.partition(".")[0],))
    assert checks(found)[check].verdict == "fail"
    assert checks(found)[check].blame == "machine"
    assert found.exit == 4


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_that_stays_green_voids_its_check(name: str) -> None:
    check = CONTROLS[name]
    found = judged(WITH, Trouble(green=(name,)), (check.partition(".")[0],))
    assert checks(found)[check].verdict in {"void", "inconclusive"}, checks(found)[check]
    if checks(found)[check].verdict == "void":
        assert found.exit == 9


def test_half_of_the_tensor_rate_may_be_the_product() -> None:
    """GeForce by its row; a product that no row names, where it lies at half of the rate."""
    geforce = checks(judged("RTX 2080 Ti", HEALTHY, ("fast",)))
    assert geforce["fast.tensor-f16"].limit == "512"
    assert geforce["fast.tensor-s8"].limit == "2048"
    slow = Trouble(tensor=0.5, library=0.5)
    known = checks(judged(WITH, slow, ("fast",)))["fast.tensor-f16"]
    assert (known.verdict, known.blame) == ("fail", "machine")
    unnamed = msgspec.structs.replace(device(WITH), name="NVIDIA A100-MADE")
    found = checks(judge(observe(Machine(unnamed, trouble=slow), "fast"), ("fast",)))
    assert found["fast.tensor-f16"].verdict == "pass"
    assert "cut to 0.5" in (found["fast.tensor-f16"].inputs.get("product") or "")
    assert found["fast.cublas-f16"].verdict == "pass"


def test_inline_ecc_costs_and_is_no_fault() -> None:
    for title in ("RTX 4090", "Tesla T4"):
        found = checks(judged(title, Trouble(dram=0.98), ("fast",)))
        assert found["fast.dram-triad"].verdict == "pass"
    # A card with GDDR reaches about 0.92; inline ECC takes up to a fifth of that.
    assert (
        checks(judged("RTX 4090", Trouble(dram=0.81), ("fast",)))["fast.dram-read"].verdict
        == "pass"
    )


def test_wsl_costs_launches_and_page_locks_little() -> None:
    found = checks(judged("RTX 3080 on WSL"))
    assert found["fast.launch"].verdict == "pass"
    assert "512 MiB" in (found["fast.copies"].inputs.get("page-locked (pinned) memory") or "")
    assert found["tools.sampling"].verdict == "skip"


def test_nothing_of_a_machine_is_the_images_fault() -> None:
    """Whatever slows all of the machine down, no check says that the image did it."""
    for trouble in (
        Trouble(clock=0.3, reasons=0x8),
        Trouble(dram=0.4),
        Trouble(fma=0.5, tensor=0.3, library=0.3),
        Trouble(copies=0.1, launch=5.0),
    ):
        for check in checks(judged("A100-SXM4-40GB", trouble, ("fast",))).values():
            assert check.verdict != "fail" or check.blame == "machine", check


@pytest.mark.parametrize("seed", range(8))
def test_no_verdict_hangs_on_the_noise_of_a_day(seed: int) -> None:
    for title in ("Tesla T4", "A100-SXM4-40GB", "RTX 4090"):
        seen = observe(Machine(device(title), seed=seed), "fast")
        assert judge(seen, ("fast",)).exit == 0


class TestLimits:
    """A lint: each floor lies between half of what the part can physically do and all of it."""

    @pytest.mark.parametrize("title", TITLES)
    def test_each_floor_is_of_its_limit(self, title: str) -> None:
        figures = [c for c in checks(judged(title)).values() if c.measure and c.measure.floor]
        assert figures
        for check in figures:
            assert check.measure
            assert 0.5 <= (check.measure.floor or 0) <= 1.0, check.id

    @pytest.mark.parametrize(
        ("title", "gbs"),
        [
            # As the vendor prints them: the limit is this, not what somebody once measured.
            ("GTX 1080 Ti", 484), ("GTX 1650", 128), ("RTX 2080 Ti", 616), ("Tesla T4", 320),
            ("RTX 4060 Laptop GPU", 256), ("A100-SXM4-40GB", 1555), ("RTX 5090", 1792),
            ("RTX 3080 on WSL", 760), ("Tesla V100-SXM2-16GB", 900), ("RTX 4090", 1008),
            ("Tesla P100-PCIE-16GB", 732),
        ],
    )  # fmt: skip
    def test_the_limit_of_memory_is_what_the_vendor_prints(self, title: str, gbs: int) -> None:
        assert float(checks(judged(title))["fast.dram-read"].limit) == pytest.approx(gbs, rel=0.01)

    @pytest.mark.parametrize(
        ("title", "check", "tera"),
        [
            # The vendor's figures at the vendor's clock, in TFLOP/s (f16: dense).
            ("A100-SXM4-40GB", "fast.fma-f32", 19.5), ("A100-SXM4-40GB", "fast.fma-f64", 9.7),
            ("A100-SXM4-40GB", "fast.tensor-bf16", 312),
            ("Tesla V100-SXM2-16GB", "fast.fma-f32", 15.7),
            ("Tesla V100-SXM2-16GB", "fast.tensor-f16", 125), ("Tesla T4", "fast.tensor-f16", 65),
            ("GTX 1080 Ti", "fast.fma-f32", 11.3), ("RTX 4090", "fast.fma-f32", 82.6),
            ("RTX 4090", "fast.tensor-f16", 165), ("RTX 5090", "fast.fma-f32", 104.8),
        ],
    )  # fmt: skip
    def test_the_limit_of_arithmetic_is_too(self, title: str, check: str, tera: float) -> None:
        one: Device = device(title)
        limit = float(checks(judged(title))[check].limit) * one.sms * one.clock_khz * 1e3 / 1e12
        assert limit == pytest.approx(tera, rel=0.02)
