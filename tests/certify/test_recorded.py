"""Observations of real runs, judged again: the same verdict, and the same defects turn them red."""

import json
import re
from pathlib import Path

import pytest

from envbuild.certify import builds, image, run
from envbuild.certify.judge import judge
from envbuild.certify.seen import Code, Seen
from envbuild.values.codec import load, replace
from tests.certify.samples import changed

FOLDER = Path(__file__).with_name("recorded")
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def recorded(name: str) -> Seen:
    return load(Seen, (FOLDER / name).read_bytes(), name)


def test_every_recording_is_expected_something_of() -> None:
    names = {path.name for path in FOLDER.glob("*.json") if "mutants" not in path.name}
    assert names - {"expected.json"} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_verdict_of_the_day(name: str) -> None:
    want = EXPECTED[name]
    found = run.state(recorded(name), tuple(want["require"]), replayed=True)
    assert (found.exit, found.recorded) == (want["exit"], "replayed")
    # 9: a suite that did not run can never be certified from a recording.
    assert judge(recorded(name), ("smoke",)).exit == want["smoke"]


@pytest.mark.parametrize("name", EXPECTED)
def test_its_defects_would_have_been_seen(name: str) -> None:
    now = recorded(name)
    assert judge(changed(now, "planted", out=""), ("toolchain",)).exit == 9
    other = tuple(Code(name=code.name, sha256="0", targets=("35",)) for code in now.codes)
    # 8: where cuobjdump is inside, it still lists the right code, and two readers disagree.
    assert judge(replace(now, codes=other), ("toolchain",)).exit in {6, 8, 9}


@pytest.mark.parametrize("name", [name for name in EXPECTED if "local" not in name])
def test_a_driver_in_the_image_would_have_been_seen(name: str) -> None:
    now = recorded(name)
    baked = changed(now, "loads", rc=127, out="")
    baked = changed(baked, "ldconfig", out="\tlibcuda.so.1 (libc6,x86-64) => /lib/libcuda.so.1\n")
    assert judge(baked, ("toolchain",)).exit == 6
    assert image.image_facts(baked).drivers == ("/lib/libcuda.so.1",)


def test_the_facts_of_an_image() -> None:
    found = image.image_facts(recorded("docker-wheels-13.5.json"))
    assert found.os == "debian12"
    assert {tool.name: tool.version for tool in found.compilers} == {
        "nvcc": "13.5.37",
        "gcc": "12.2",
    }
    assert found.shell == "/usr/bin/sh"
    assert found.framework == ()


def test_a_real_gpu() -> None:
    found = run.state(recorded("h200-podman.seen.json"), ("smoke",), replayed=True)
    assert found.device is not None
    assert (found.device.name, found.device.cc, found.device.sms) == ("NVIDIA H200", "9.0", 132)
    assert (found.runtimes.driver, found.runtimes.driver_cuda) == ("580.159.04", "13.0")
    assert (found.access, found.engine) == ("cdi", "podman")
    assert found.runtimes.toolkit == "13.5"


def test_real_frameworks() -> None:
    now = recorded("h200-local-frameworks.seen.json")
    found = judge(now, ("torch", "numba"))
    checks = {c.id: c for suite in found.suites for c in suite.checks}
    assert found.exit == 6
    assert checks["numba.kernels"].blame == "image"
    assert "row_stack" in checks["numba.kernels"].reason
    passed = {name for name, c in checks.items() if c.verdict == "pass" and "torch" in name}
    assert len(passed) == 9
    assert "sm_90" in builds.arch_list(now)
    tools = {tool.name: tool.version for tool in builds.tools(now)}
    assert (tools["torch.cuda"], tools["triton.ptxas"], tools["cupy.nvrtc"]) == (
        "13.0",
        "12.8",
        "13.0",
    )


@pytest.mark.parametrize(
    ("run_name", "triad"),
    [
        ("local-fast-1", "4406 GB/s triad"),
        ("local-fast-2", "4407 GB/s triad"),
        ("local-all", "4406 GB/s triad"),
        ("podman-all", "4406 GB/s triad"),
    ],
)
def test_a_real_gpu_at_full_speed(run_name: str, triad: str) -> None:
    """Alone and in a container, on three machines of one kind: all of it passes."""
    suites = judge(recorded(f"h200-{run_name}.seen.json"), ("fast",)).suites
    checks = {check.id: check for one in suites if one.name == "fast" for check in one.checks}
    assert len(checks) == 25
    assert {check.verdict for check in checks.values()} == {"pass"}
    found, bf16 = checks["fast.dram-triad"].measure, checks["fast.cublas-bf16"].measure
    assert found is not None
    assert bf16 is not None
    assert (found.shown, bf16.shown.split()[1:]) == (triad, ["TFLOP/s", "bf16"])


def test_a_cache_that_names_a_driver_left_behind() -> None:
    """The image was made of a machine's root, whose cache names the driver mounted there."""
    now = recorded("h200-podman-all.seen.json")
    listed = now.step("ldconfig")
    assert listed is not None
    assert "libcuda.so.1 (libc6,x86-64) => /usr/local/nvidia" in listed.out
    assert image.image_facts(now).drivers == ()


def test_a_control_that_stays_green_below_what_is_required_is_no_certificate() -> None:
    """The control of `smoke` finds nothing: `fast` stands on a comparison that cannot fail."""
    now = recorded("h200-local-fast-1.seen.json")
    assert judge(now, ("fast",)).exit == 0
    ran = now.step("smoke")
    assert ran is not None
    text, n = re.subn(r'("event":"skipped".*"wrong":)\d+', r"\g<1>0", ran.out)
    assert n == 1
    assert judge(changed(now, "smoke", out=text), ("fast",)).exit == 9
