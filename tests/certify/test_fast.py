"""The real runner of suite `fast` on a device that is made (`fake_fast.c`), and its verdicts."""

import os
import subprocess
from pathlib import Path

import pytest

from envbuild.certify import probes, run
from envbuild.certify.judge import judge
from envbuild.certify.seen import Seen
from envbuild.matrix.load import load
from envbuild.values.certificate import Certificate, Check
from tests import toolkit
from tests.certify import fast_samples, here, samples

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the prebuilt x86_64 files")
GPU = here.HOST.gpus[0]
MADE = fast_samples.Device(gpu=GPU)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    staged = tmp_path_factory.mktemp("run") / "probes"
    probes.stage(staged, "x86_64")
    return staged


def answered(driver: Path, folder: Path, part: str, fake: str = "") -> Seen:
    """A made run in which this part's answer is the real runner's."""
    env = {"LD_LIBRARY_PATH": str(driver), "ENVBUILD_FAKE": fake}
    argv = [str(folder / "probe"), "fast", part, "--nonce", samples.NONCE, "--code", str(folder)]
    argv += ["--uuid", str(GPU.uuid)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=120)
    now = fast_samples.seen(MADE)
    return samples.changed(now, f"fast.{part}", rc=done.returncode, out=done.stdout)


def checks(now: Seen) -> dict[str, Check]:
    suite = next(s for s in judge(now, ("fast",)).suites if s.name == "fast")
    return {c.id.removeprefix("fast."): c for c in suite.checks}


OWN = {
    "compute": {"clock", "fma-f32", "fma-f64"},
    "memory": {"dram-read", "dram-write", "dram-copy", "dram-triad", "l2-read"},
    "copies": {"copies"},
    "latency": {"launch", "graph"},
}


@pytest.mark.parametrize("part", OWN)
def test_each_part_of_a_healthy_device(driver: Path, folder: Path, part: str) -> None:
    found = checks(answered(driver, folder, part))
    for name in OWN[part]:
        one = found[name]
        assert one.verdict == "pass", f"{name}: {one.reason}"
        assert all(control.red for control in one.controls)
        assert one.measure is not None
        assert one.measure.low <= one.measure.value <= one.measure.high


def test_figures_are_those_of_the_made_device(driver: Path, folder: Path) -> None:
    found = checks(answered(driver, folder, "compute"))
    f32 = found["fma-f32"].measure
    assert f32 is not None
    assert f32.value == pytest.approx(256 * 0.98, rel=0.01)
    assert f32.mhz == pytest.approx(1000, rel=0.01)
    found = checks(answered(driver, folder, "memory"))
    read, l2 = found["dram-read"].measure, found["l2-read"].measure
    assert read is not None
    assert l2 is not None
    assert read.value == pytest.approx(64 * 0.92, rel=0.02)
    assert l2.value == pytest.approx(3 * 64, rel=0.02)
    assert [point.size for point in l2.points] == [1 << n for n in range(18, 26)]


@pytest.mark.parametrize(
    ("part", "fake", "check", "verdict", "blame"),
    [
        ("compute", "slow-fma", "fma-f32", "fail", "machine"),
        ("compute", "deaf", "fma-f64", "void", "suite"),
        ("compute", "lazy", "fma-f32", "fail", "machine"),
        ("compute", "init=999", "clock", "fail", "machine"),
        ("compute", "sync=700", "fma-f32", "fail", "machine"),
        ("compute", "nobinary", "fma-f32", "fail", "machine"),
        ("compute", "garbage", "fma-f32", "inconclusive", "suite"),
        ("compute", "crash", "fma-f32", "inconclusive", "machine"),
        ("memory", "slow-dram", "dram-read", "fail", "machine"),
        ("memory", "fast-dram", "dram-triad", "void", "suite"),
        ("memory", "no-clock", "dram-copy", "inconclusive", "suite"),
        ("memory", "integrated", "dram-write", "inconclusive", "suite"),
        ("memory", "keep", "dram-triad", "void", "suite"),
        ("memory", "lost-store", "dram-triad", "fail", "machine"),
        ("memory", "no-cache", "l2-read", "fail", "machine"),
        ("copies", "cut-copy", "copies", "fail", "machine"),
        ("latency", "no-graph", "graph", "skip", "machine"),
        ("latency", "empty-graph", "graph", "fail", "machine"),
    ],
)
def test_each_misbehaviour_is_seen(
    driver: Path, folder: Path, part: str, fake: str, check: str, verdict: str, blame: str
) -> None:
    one = checks(answered(driver, folder, part, fake))[check]
    assert (one.verdict, one.blame) == (verdict, blame), one.reason


def test_page_locking_is_measured_and_a_refusal_harms_nothing(driver: Path, folder: Path) -> None:
    now = answered(driver, folder, "copies", "no-pin=2")
    one = checks(now)["copies"]
    assert one.verdict == "pass"
    text = one.inputs.get("page-locked (pinned) memory")
    assert text == "512 MiB (the driver answered 2)"
    ran = now.step("fast.copies")
    assert ran is not None
    assert '"refused":2,"after":0' in ran.out


def test_what_the_host_cannot_spare_is_not_taken(driver: Path, folder: Path) -> None:
    """Three arrays take a quarter of what is free, and what is then too small says nothing."""
    now = answered(driver, folder, "memory", "small")
    ran = now.step("fast.memory")
    assert ran is not None
    assert f'"bytes":{(100 << 20) // 12 // 32768 * 32768}' in ran.out
    assert checks(now)["dram-read"].verdict == "pass"


def certify(
    driver: Path, fake: str = "", env: dict[str, str] | None = None, **labels: str
) -> Certificate:
    labels = {"cc": "9.0", "promise": "90"} | labels
    engine = here.HereEngine(driver, fake, env)
    policy = run.Policy(require=("fast",))
    return run.certify(engine, here.image(**labels), host=here.HOST, matrices=load(), policy=policy)


def of(found: Certificate) -> dict[str, Check]:
    suite = next(s for s in found.suites if s.name == "fast")
    return {c.id.removeprefix("fast."): c for c in suite.checks}


def test_a_whole_run_of_an_image_without_a_compiler(driver: Path) -> None:
    found = of(certify(driver, stage="runtime"))
    assert {found[name].verdict for part in OWN for name in OWN[part]} == {"pass"}
    assert (found["codegen-fma"].verdict, found["codegen-fma"].core) == ("skip", False)


@toolkit.needed
class TestOwnCode:
    """The image's own nvcc at work beside the prebuilt code."""

    @pytest.mark.parametrize(
        ("fake", "verdict", "blame"),
        [("", "pass", None), ("slow-image", "fail", "image")],
    )
    def test_it_is_paired(self, driver: Path, fake: str, verdict: str, blame: str | None) -> None:
        found = of(certify(driver, fake, env=here.TOOLKIT, stage="devel"))
        for name in ("codegen-fma", "codegen-triad"):
            assert (found[name].verdict, found[name].blame) == (verdict, blame), found[name].reason
        assert found["fma-f32"].verdict == "pass"
