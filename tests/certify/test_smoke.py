"""Runner, observation and judge together, on a driver that is made (`fake_cuda.c`)."""

import os
from pathlib import Path

import pytest

from envbuild.certify import run, sessions
from envbuild.matrix.load import load
from envbuild.values.certificate import Certificate
from envbuild.values.codec import digest, replace
from envbuild.values.host import Host
from envbuild.values.lock import Lock
from envbuild.values.plan import MatrixId
from tests import toolkit
from tests.certify import here

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the prebuilt x86_64 files")


def certify(
    driver: Path,
    fake: str = "",
    host: Host = here.HOST,
    env: dict[str, str] | None = None,
    **labels: str,
) -> Certificate:
    labels = {"stage": "runtime", "cc": "9.0", "promise": "90"} | labels
    return run.certify(
        here.HereEngine(driver, fake, env),
        here.image(**labels),
        host=host,
        matrices=load(),
        policy=run.Policy(require=("smoke",)),
    )


def smoke(certificate: Certificate) -> dict[str, str]:
    suite = next(s for s in certificate.suites if s.name == "smoke")
    return {c.id.removeprefix("smoke."): c.verdict for c in suite.checks}


def reasons(certificate: Certificate) -> str:
    return " ".join(c.reason for s in certificate.suites for c in s.checks if s.name == "smoke")


def test_a_run_that_comes_through(driver: Path) -> None:
    found = certify(driver)
    assert (found.exit, found.verdict) == (0, "pass")
    assert found.device is not None
    assert (found.device.cc, found.device.name) == ("9.0", "made for tests")
    assert found.runtimes.driver_cuda == "13.0"
    assert (found.access, found.recorded, found.subject.kind) == ("cdi", "run", "config")
    controls = [
        c for s in found.suites if s.name == "smoke" for one in s.checks for c in one.controls
    ]
    assert {c.name for c in controls} == {
        "planted libcuda",
        "wrong cc",
        "bad launch",
        "changed element",
        "skipped launch",
    }
    assert all(c.red for c in controls)


@pytest.mark.parametrize(
    ("fake", "check", "verdict", "code"),
    [
        ("wrong", "sums", "fail", 4),
        ("skip", "sums", "fail", 4),
        ("nobinary", "code", "fail", 4),
        ("init=999", "calls", "fail", 4),
        ("init=100", "calls", "fail", 4),
        ("sync=700", "calls", "fail", 4),
        ("anycode", "code", "void", 9),
        ("anylaunch", "calls", "void", 9),
        ("frozen", "sums", "void", 9),
        ("small", "sums", "skip", 4),
        ("crash", "sums", "inconclusive", 8),
        ("garbage", "sums", "inconclusive", 8),
        ("lie", "sums", "inconclusive", 8),
    ],
)
def test_each_misbehaviour_is_seen(
    driver: Path, fake: str, check: str, verdict: str, code: int
) -> None:
    found = certify(driver, fake)
    assert smoke(found)[check] == verdict, reasons(found)
    assert found.exit == code


@pytest.mark.parametrize("fake", ["hang", "flood"])
def test_what_never_ends_is_ended(driver: Path, fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sessions.work
    monkeypatch.setattr(
        sessions, "work", lambda *a: [step._replace(seconds=2.0) for step in real(*a)]
    )
    found = certify(driver, fake)
    assert found.exit == 8
    assert "did not end" in reasons(found)


@pytest.mark.parametrize("named", [True, False])
def test_a_lock_is_the_subjects_only_where_the_image_names_it(driver: Path, named: bool) -> None:
    lock = Lock(plan="sha256:1", matrix=MatrixId(date="", digest=""), tool="made", platform="")
    labels = {"stage": "runtime", "promise": "90"} | ({"lock": digest(lock)} if named else {})
    found = run.certify(
        here.HereEngine(driver), here.image(**labels), lock=lock, host=here.HOST, matrices=load()
    )
    assert found.subject.lock == (digest(lock) if named else None)


def test_no_gpu_is_said_at_once(driver: Path) -> None:
    engine = here.HereEngine(driver)
    found = run.certify(engine, here.image(promise="90", cc="9.0"), host=here.NO_GPU)
    assert found.exit == 4
    assert engine.specs == []
    assert "no NVIDIA GPU" in reasons(found)
    assert found.device is None


def test_a_gpu_that_the_image_does_not_promise(driver: Path) -> None:
    found = certify(driver, promise="61", cc="6.1")
    assert found.exit == 4
    assert "sm_61" in reasons(found)
    assert "9.0" in reasons(found)


def test_the_gpu_is_named_where_there_are_several(driver: Path) -> None:
    other = here.HOST.gpus[0]
    engine = here.HereEngine(driver)
    gpus = (*here.HOST.gpus, other.__class__(uuid="GPU-2", cc="6.1"))
    host = replace(here.HOST, gpus=gpus)
    found = run.certify(engine, here.image(stage="runtime", promise="90", cc="9.0"), host=host)
    assert found.exit == 0
    assert engine.specs[-1].devices == (here.HOST.gpus[0].uuid,)
    assert [spec.access for spec in engine.specs] == ["none", "cdi"]


@toolkit.needed
class TestOwnCode:
    """The image's own compiler at work: whose fault is it?"""

    @pytest.mark.parametrize(
        ("fake", "check", "code"),
        [("", "sums", 0), ("wrong-image", "sums", 6), ("nobinary-image", "code", 6)],
    )
    def test_blame(self, driver: Path, fake: str, check: str, code: int) -> None:
        found = certify(driver, fake, env=here.TOOLKIT, stage="devel")
        toolchain = next(s for s in found.suites if s.name == "toolchain")
        assert toolchain.verdict == "pass"
        assert found.exit == code, reasons(found)
        if code:
            suite = next(s for s in found.suites if s.name == "smoke")
            one = next(c for c in suite.checks if c.id == f"smoke.{check}")
            assert (one.verdict, one.blame) == ("fail", "image")
