"""The sanitizer's check on what compute-sanitizer printed on an H200, and on changes of it."""

from pathlib import Path

import pytest

from envbuild.certify.judge import judge
from envbuild.certify.seen import Ran, Seen, Session
from envbuild.certify.steps import Bench
from envbuild.certify.suites.correct import sanitizer
from envbuild.values.certificate import Check
from envbuild.values.codec import replace
from tests.certify import here, samples
from tests.certify.tool_samples import has, recorded, sanitized


def check(now: Seen) -> Check:
    suite = judge(now, ("correct",)).suites[-1]
    return next(one for one in suite.checks if one.id == "correct.sanitizer")


def test_each_tool_finds_its_bug_and_nothing_else() -> None:
    found = check(sanitized())
    assert (found.verdict, found.value, found.core) == ("pass", "3", False)
    assert [(control.name, control.red) for control in found.controls] == [
        ("memcheck", True),
        ("racecheck", True),
        ("synccheck", True),
    ]


@pytest.mark.parametrize("tool", sanitizer.TOOLS, ids=lambda tool: tool.name)
def test_a_bug_that_is_not_found(tool: sanitizer.Tool) -> None:
    clean = Ran(step="", rc=0, out=recorded(f"{tool.name}.clean"))
    found = check(sanitized(**{f"{tool.name}_{tool.bug}": clean}))
    assert (found.verdict, found.blame, found.value) == ("fail", "image", "2")
    assert found.reason.startswith(f"{tool.name} did not name the planted bug")


@pytest.mark.parametrize("tool", sanitizer.TOOLS, ids=lambda tool: tool.name)
def test_a_tool_that_always_complains_proves_nothing(tool: sanitizer.Tool) -> None:
    always = Ran(step="", rc=86, out=recorded(f"{tool.name}.{tool.bug}"))
    found = check(sanitized(**{f"{tool.name}_clean": always}))
    assert (found.verdict, found.blame) == ("void", "suite")
    assert tool.name in found.reason


def test_a_finding_of_another_kind_or_kernel_is_none() -> None:
    text = recorded("memcheck.out_of_bounds")
    for old, new in (("Invalid __global__ write", "Invalid __local__ read"), ("out_of_", "of_")):
        other = Ran(step="", rc=86, out=text.replace(old, new))
        assert check(sanitized(memcheck_out_of_bounds=other)).verdict == "fail"


@pytest.mark.parametrize(
    ("platform", "inside", "says"),
    [
        ("linux", None, "the sandbox or the GPU's mode"),
        ("linux", "docker", "the sandbox or the GPU's mode"),
        ("wsl2", None, "EnableInterface = 1 (DWORD)"),
    ],
)
def test_a_machine_that_refuses_it_is_a_skip(platform: str, inside: str | None, says: str) -> None:
    words = "========= Error: Target application terminated before first instrumented API call\n"
    refused = Ran(step="", rc=1, out=f"========= COMPUTE-SANITIZER\n{words}")
    now = replace(sanitized(memcheck_clean=refused), platform=platform, inside=inside)
    found = check(now)
    assert (found.verdict, found.blame) == ("skip", "machine")
    assert says in found.reason
    assert "terminated before first instrumented" in found.reason
    assert ("modprobe" in found.reason) is False


@pytest.mark.parametrize(
    ("ran", "verdict", "says"),
    [
        (None, "inconclusive", "was not tried"),
        (Ran(step="", rc=-1, signal=9, timed_out=True, ms=30000), "inconclusive", "within 30 s"),
        (Ran(step="", rc=-1, signal=11), "inconclusive", "signal 11"),
        (Ran(step="", rc=127, err="cannot be started"), "skip", "lacks the program"),
        (Ran(step="", rc=0, cut=True, out="a" * 99), "inconclusive", "256 KiB"),
        (Ran(step="", rc=0, out="nothing of use"), "inconclusive", "gave no summary"),
        (Ran(step="", rc=1, err="write: No space left on device"), "inconclusive", "no room"),
        (
            Ran(step="", rc=0, out=2 * "========= ERROR SUMMARY: 0 errors\n"),
            "inconclusive",
            "gave no summary",
        ),
    ],
)
def test_a_tool_that_does_not_come_to_its_end(ran: Ran | None, verdict: str, says: str) -> None:
    found = check(sanitized(synccheck_clean=ran))
    assert found.verdict == verdict
    assert says in found.reason


def test_an_image_without_it() -> None:
    now = samples.seen("toolchain", "smoke", "correct")
    now = replace(now, sessions=(*now.sessions, Session(name="correct", rc=0)))
    found = check(now)
    assert (found.verdict, found.blame) == ("skip", "image")
    assert found.reason == "the image has no compute-sanitizer"


def test_it_runs_once_where_the_image_has_it(tmp_path: Path) -> None:
    bench = Bench(here.HereEngine(tmp_path), "made/here:1", tmp_path / "probes", tmp_path / "s")
    bench.probes.mkdir()
    (bench.probes / "bugs.fatbin").write_bytes(b"x envbuild_clean_" + b"0" * 16)
    now = samples.seen("toolchain", "smoke", "correct")
    assert sanitizer.next_work(bench, now) is None
    work = sanitizer.next_work(bench, has(now, "compute-sanitizer"))
    assert work is not None
    assert [step.name.removeprefix("correct.sanitizer.") for step in work.steps] == [
        f"{tool.name}.{kernel}" for tool in sanitizer.TOOLS for kernel in (tool.bug, "clean")
    ]
    # Only the renamed code is launched, and no command line holds a kernel's whole name.
    named = (bench.probes / "bugs.named.fatbin").read_bytes()
    assert named == b"x envbuild_clean_" + samples.NONCE.encode()
    assert not any(f"clean_{samples.NONCE}" in word for step in work.steps for word in step.argv)
    assert sanitizer.next_work(bench, sanitized()) is None
