"""Suite `correct` end to end: the real runner on a made driver, and each way to be wrong."""

from pathlib import Path

import pytest

from envbuild.certify import run
from envbuild.certify.suites.correct.formats import FORMATS
from envbuild.matrix.load import load
from envbuild.values.certificate import Certificate, Check
from tests import toolkit
from tests.certify import here


def certify(
    driver: Path,
    fake: str = "",
    *,
    faults: bool = False,
    env: dict[str, str] | None = None,
    stage: str = "runtime",
) -> Certificate:
    """An image, which as a runtime stage is given prebuilt code, on the made device of cc 9.0."""
    return run.certify(
        here.HereEngine(driver, fake, env),
        here.image(stage=stage, cc="9.0", promise="90"),
        host=here.HOST,
        matrices=load(),
        policy=run.Policy(require=("correct",), faults=faults),
    )


def checks(found: Certificate) -> dict[str, Check]:
    suite = next(s for s in found.suites if s.name == "correct")
    return {check.id.removeprefix("correct."): check for check in suite.checks}


def test_a_device_that_is_right(driver: Path) -> None:
    found = certify(driver)
    assert found.exit == 0, {n: c.reason for n, c in checks(found).items() if c.reason}
    core = {name for name, check in checks(found).items() if check.core}
    asked = {form.name.replace("_", "-") for form in FORMATS if form.since <= 90}
    assert asked | {"atomics", "launches"} == core
    assert {checks(found)[name].verdict for name in core} == {"pass"}
    for name in core:
        assert all(control.red for control in checks(found)[name].controls), name
    for name in asked:
        assert len(checks(found)[name].controls) == (5 if name == "tensor-tf32" else 4)
    for name in ("tensor-e2m3", "tensor-e3m2", "tensor-e2m1"):
        check = checks(found)[name]
        assert (check.verdict, check.blame) == ("skip", None)
        assert "sm_90" in check.reason


@pytest.mark.parametrize(
    ("fake", "check", "verdict", "says"),
    [
        ("off", "plain-s8", "fail", "1 of 32768 products of integers are wrong"),
        ("off", "tensor-e4m3", "fail", "the first at 0, 3"),
        ("nan", "plain-f64", "fail", "1 of them no number or infinite"),
        ("nan", "tensor-f16", "fail", "1 of them no number or infinite"),
        ("inf", "tensor-tf32", "fail", "1 of them no number or infinite"),
        ("coarse", "tensor-bf16", "fail", "products of reals are wrong"),
        ("exact-tf32", "tensor-tf32", "void", "held to the bound of its wider type"),
        ("strideless", "plain-f32", "void", "wrong stride"),
        ("lost", "atomics", "fail", "shared i32: 1 of 257 counters wrong"),
        ("lossless", "atomics", "void", "plain additions"),
    ],
)
def test_each_way_to_be_wrong_is_seen(
    driver: Path, fake: str, check: str, verdict: str, says: str
) -> None:
    found = certify(driver, fake)
    one = checks(found)[check]
    assert (one.verdict, found.exit) == (verdict, {"fail": 4, "void": 9}[verdict])
    assert says in one.reason


def test_a_launch_that_no_device_takes(driver: Path) -> None:
    found = certify(driver, "anylaunch")
    assert checks(found)["launches"].verdict == "fail"
    assert "4096 threads a block answers 0" in checks(found)["launches"].reason
    assert found.exit == 4


class TestFaults:
    """A fault is only made where the policy says so."""

    def test_not_without_leave(self, driver: Path) -> None:
        check = checks(certify(driver))["fault"]
        assert (check.verdict, check.core) == ("skip", False)
        assert "--faults" in check.reason

    def test_it_surfaces(self, driver: Path) -> None:
        found = certify(driver, faults=True)
        check = checks(found)["fault"]
        assert (check.verdict, check.value, check.core) == ("pass", "700", True)
        assert [control.red for control in check.controls] == [True]
        assert found.exit == 0

    def test_one_that_does_not_surface(self, driver: Path) -> None:
        found = certify(driver, "mild", faults=True)
        check = checks(found)["fault"]
        assert (check.verdict, check.blame) == ("fail", "machine")
        assert "a store to address 0 answers 0" in check.reason
        assert found.exit == 4


@toolkit.needed
class TestOwnCode:
    """The image's own compiler at work: whose fault is it?"""

    @pytest.mark.parametrize(
        ("fake", "blame", "code"), [("", None, 0), ("off-image", "image", 6), ("off", "machine", 4)]
    )
    def test_blame(self, driver: Path, fake: str, blame: str | None, code: int) -> None:
        found = certify(driver, fake, env=here.TOOLKIT, stage="devel")
        assert found.exit == code
        for name in ("plain-f32", "tensor-bf16", "tensor-e5m2"):
            check = checks(found)[name]
            assert (check.verdict, check.blame) == ("fail" if blame else "pass", blame)
            assert check.inputs.get("code") == "image"
