"""Parts tensor and cublas of the real runner on a made device, beside a cuBLAS that is made."""

import subprocess
from pathlib import Path

import pytest

from envbuild.certify import probes
from envbuild.certify.judge import judge
from envbuild.certify.seen import Seen
from envbuild.values.certificate import Check
from envbuild.values.codec import replace
from envbuild.values.host import Gpu
from tests.certify import fast_samples, here, samples

GPU = Gpu(name="made for tests", uuid="GPU-fafafafa-fafa-fafa-fafa-fafafafafafa", cc="9.0")
MADE = fast_samples.Device(gpu=GPU)
TYPES = ("bf16", "f16", "tf32", "f32", "f64", "f8")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return here.fake_cublas(here.fake_libcuda(tmp_path_factory.mktemp("driver")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    staged = tmp_path_factory.mktemp("run") / "probes"
    probes.stage(staged, "x86_64")
    return staged


def answered(
    driver: Path, folder: Path, part: str, fake: str = "", *more: str, room: int = 160
) -> Seen:
    """A made run in which this part's answer is the real runner's.

    ``room`` in MiB: a device of 160 makes small products, one of 145 smaller ones, none in f64.
    """
    env = {"LD_LIBRARY_PATH": str(driver), "ENVBUILD_FAKE": f"small={room},{fake}"}
    argv = [
        str(folder / "probe"),
        "fast",
        part,
        "--nonce",
        samples.NONCE,
        "--code",
        str(folder),
        *more,
    ]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=120)
    now = samples.changed(
        fast_samples.seen(MADE), f"fast.{part}", rc=done.returncode, out=done.stdout
    )
    return replace(now, card=replace(now.card, brand="tesla"))


def checks(now: Seen, kind: str) -> dict[str, Check]:
    suite = next(s for s in judge(now, ("fast",)).suites if s.name == "fast")
    start = f"fast.{kind}-"
    return {c.id.removeprefix(start): c for c in suite.checks if c.id.startswith(start)}


class TestTensor:
    """The made device has the rates of cc 9.0 and reaches 0.66 of most of them."""

    def test_healthy(self, driver: Path, folder: Path) -> None:
        found = checks(answered(driver, folder, "tensor"), "tensor")
        assert {name: c.verdict for name, c in found.items()} == dict.fromkeys(found, "pass")
        assert all(len(c.controls) == 2 for c in found.values())
        measure = found["bf16"].measure
        assert measure is not None
        assert measure.value == pytest.approx(0.66 * 4096, rel=0.001)

    @pytest.mark.parametrize(
        ("fake", "verdict"),
        [("slow-tensor", "fail"), ("lazy-tensor", "fail"), ("deaf-tensor", "void")],
    )
    def test_each_way_to_be_wrong(
        self, driver: Path, folder: Path, fake: str, verdict: str
    ) -> None:
        found = checks(answered(driver, folder, "tensor", fake), "tensor")
        assert {c.verdict for c in found.values()} == {verdict}


class TestCublas:
    """The made library multiplies on the CPU and reaches 0.9 of the rates."""

    def test_healthy(self, driver: Path, folder: Path) -> None:
        found = checks(answered(driver, folder, "cublas"), "cublas")
        assert {n: c.reason for n, c in found.items() if c.verdict != "pass"} == {}
        assert set(found) == set(TYPES)
        assert found["tf32"].inputs.get("library") == str(driver / "libcublas.so.13")

    @pytest.mark.parametrize(
        ("fake", "dtype", "verdict", "blame"),
        [
            ("slow-blas", "f16", "fail", "image"),
            ("blas-off", "f64", "fail", "image"),
            ("blas-off", "f8", "fail", "image"),
            ("blas-f32", "tf32", "void", "suite"),
            ("blas-once", "bf16", "inconclusive", "suite"),
            ("refuse=15", "f8", "fail", "image"),
        ],
    )
    def test_each_way_to_be_wrong(
        self, driver: Path, folder: Path, fake: str, dtype: str, verdict: str, blame: str
    ) -> None:
        room = 160 if dtype == "f64" or "refuse" in fake else 145
        found = checks(answered(driver, folder, "cublas", fake, room=room), "cublas")
        assert (found[dtype].verdict, found[dtype].blame) == (verdict, blame)
        if fake.startswith("refuse"):
            assert {found[name].verdict for name in TYPES if name != dtype} == {"pass"}

    def test_none_that_the_loader_finds(self, driver: Path, folder: Path, tmp_path: Path) -> None:
        alone = tmp_path / "libcuda.so.1"
        alone.symlink_to(driver / alone.name)
        found = checks(answered(tmp_path, folder, "cublas"), "cublas")
        assert {c.verdict for c in found.values()} == {"skip"}
        # A framework's wheels bring one, which no loader knows of.
        now = answered(tmp_path, folder, "cublas", "", "--library", str(driver))
        assert {c.verdict for c in checks(now, "cublas").values()} == {"pass"}

    def test_no_room(self, driver: Path, folder: Path) -> None:
        env = {"LD_LIBRARY_PATH": str(driver), "ENVBUILD_FAKE": "small=20"}
        argv = [str(folder / "probe"), "fast", "cublas", "--nonce", "1", "--code", str(folder)]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.count('"no-room"') == len(TYPES)
