"""Suite `tools` on what tools printed on an H200, and on what they say where they may not work."""

import pytest

from envbuild.certify.judge import judge
from envbuild.certify.run import state
from envbuild.certify.seen import Ran, Seen, Session
from envbuild.values.certificate import Check
from envbuild.values.codec import replace
from tests.certify import samples
from tests.certify.tool_samples import HOLDS, recorded, watched

# ncu 2024, on https://developer.nvidia.com/ERR_NVGPUCTRPERM and in the reports of cases C40, C64.
REFUSED = (
    "==PROF== Connected to process 7 (/s/probe)\n"
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device 0. For instructions on enabling permissions and to "
    "get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
)
MODPROBE = "NVreg_RestrictProfilingToAdminUsers"


def checks(now: Seen) -> dict[str, Check]:
    suite = next(one for one in judge(now, ("tools",)).suites if one.name == "tools")
    return {check.id.removeprefix("tools."): check for check in suite.checks}


def exit_code(now: Seen) -> int:
    return judge(now, ("tools",)).exit


def test_all_tools_work() -> None:
    found = checks(watched())
    assert {name: check.verdict for name, check in found.items()} == dict.fromkeys(
        ("cuda-gdb", "nsys", "ncu", "sampling", "works"), "pass"
    )
    assert [name for name, check in found.items() if check.core] == ["works"]
    assert found["works"].value == "cuda-gdb, nsys, ncu"
    assert found["ncu"].value == "3948.000000"
    assert all(control.red for check in found.values() for control in check.controls)
    assert [len(found[name].controls) for name in ("cuda-gdb", "nsys", "ncu")] == [1, 3, 2]
    assert exit_code(watched()) == 0


def refused(platform: str = "linux", inside: str | None = None, text: str = REFUSED) -> Seen:
    denied = Ran(step="", rc=0, out=text)
    now = watched(ncu=denied, ncu_other=denied, sampling=denied, ncu_read=None, ncu_other_read=None)
    return replace(now, platform=platform, inside=inside)


@pytest.mark.parametrize("text", [REFUSED, "NVPA_STATUS_INSUFFICIENT_PRIVILEGE\n"])
@pytest.mark.parametrize(
    ("platform", "inside", "says", "never"),
    [
        ("linux", None, ("administrator of the host", MODPROBE, "SYS_ADMIN", "--user 0"), ()),
        ("linux", "docker", ("provider", "docker", MODPROBE), ()),
        ("wsl2", None, ("Windows", "NVIDIA Control Panel"), (MODPROBE, "modprobe", "CAP_")),
        ("wsl2", "docker", ("Windows", "NVIDIA Control Panel"), (MODPROBE, "modprobe", "CAP_")),
    ],
)
def test_counters_that_are_refused_are_a_skip_with_who_can_allow_them(
    platform: str, inside: str | None, says: tuple[str, ...], never: tuple[str, ...], text: str
) -> None:
    now = refused(platform, inside, text)
    ncu = checks(now)["ncu"]
    assert (ncu.verdict, ncu.blame) == ("skip", "machine")
    assert all(word in ncu.reason for word in says)
    assert not any(word in ncu.reason for word in never)
    assert checks(now)["sampling"].verdict == "skip"
    # The other tools still show that tools work here; a required smoke is not touched at all.
    assert exit_code(now) == 0
    assert judge(now, ("smoke",)).exit == 0


def test_sampling_is_not_tried_on_wsl() -> None:
    now = replace(watched(), platform="wsl2")
    sampling = checks(now)["sampling"]
    assert (sampling.verdict, sampling.blame) == ("skip", "machine")
    assert "not supported on WSL 2" in sampling.reason
    assert exit_code(now) == 0


def test_samples_that_this_ncu_cannot_take_are_nobodys_fault() -> None:
    plain = Ran(step="", rc=0, out=recorded("ncu.read"))
    now = watched(sampling_read=plain)
    assert checks(now)["sampling"].verdict == "skip"
    assert exit_code(now) == 0


@pytest.mark.parametrize(
    ("platform", "text", "says"),
    [
        ("linux", "warning: ptrace: Operation not permitted", "--cap-add SYS_PTRACE"),
        ("linux", "Could not trace the inferior process.", "ptrace_scope"),
        (
            "wsl2",
            "registry key SOFTWARE\\NVIDIA Corporation\\GPUDebugger\\EnableInterface is required",
            "EnableInterface = 1 (DWORD)",
        ),
        ("linux", "fatal: CUDBG_ERROR_INITIALIZATION_FAILURE(0x14)", "no debugger here"),
        (
            "linux",
            "CUDA application cannot be debugged. The CUDA driver is not compatible.",
            "does not support this GPU or its driver",
        ),
    ],
)
def test_a_debugger_that_the_machine_refuses(platform: str, text: str, says: str) -> None:
    now = replace(watched(cuda_gdb=Ran(step="", rc=1, err=text)), platform=platform)
    gdb = checks(now)["cuda-gdb"]
    assert (gdb.verdict, gdb.blame) == ("skip", "machine")
    assert says in gdb.reason
    assert exit_code(now) == 0


def test_a_debugger_that_runs_past_the_kernel() -> None:
    past = Ran(step="", rc=0, out=recorded("cuda-gdb.nothing"))
    gdb = checks(watched(cuda_gdb=past))["cuda-gdb"]
    assert (gdb.verdict, gdb.blame) == ("fail", "image")
    assert exit_code(watched(cuda_gdb=past)) == 6


def test_a_breakpoint_that_stops_anywhere_proves_nothing() -> None:
    anywhere = recorded("cuda-gdb").replace("envbuild_clean_", "envbuild_nothing_")
    now = watched(cuda_gdb_nothing=Ran(step="", rc=0, out=anywhere))
    assert checks(now)["cuda-gdb"].verdict == "void"
    assert exit_code(now) == 9


NO_REPORT = HOLDS["tools.nsys.empty.holds"].replace('"bytes":0', '"bytes":-1')


@pytest.mark.parametrize(
    ("holds", "says"),
    [
        (NO_REPORT, "left no report: skipping importation of the QDSTRM file."),
        (HOLDS["tools.nsys.empty.holds"], "does not hold the kernel"),
        (HOLDS["tools.nsys.other.holds"], "does not hold the kernel"),
        (HOLDS["tools.nsys.stale.holds"], "does not hold the kernel"),
    ],
    ids=["none", "empty", "another kernel", "stale"],
)
def test_a_trace_that_ends_with_0_and_proves_nothing(holds: str, says: str) -> None:
    # Words of nsys 2023.4 without a part of its importer; it ended with 0.
    said = Ran(step="", rc=0, err="skipping importation of the QDSTRM file.\n")
    now = watched(nsys=said, nsys_holds=Ran(step="", rc=0, out=holds))
    nsys = checks(now)["nsys"]
    assert (nsys.verdict, nsys.blame) == ("fail", "image")
    assert says in nsys.reason
    assert exit_code(now) == 6


@pytest.mark.parametrize("control", ["other", "empty", "stale"])
def test_a_search_that_finds_the_name_everywhere_proves_nothing(control: str) -> None:
    everywhere = HOLDS["tools.nsys.holds"]
    now = watched(**{f"nsys_{control}_holds": Ran(step="", rc=0, out=everywhere)})
    assert checks(now)["nsys"].verdict == "void"
    assert exit_code(now) == 9


@pytest.mark.parametrize(
    ("step", "tool"),
    [("nsys_other_holds", "nsys"), ("ncu_other_read", "ncu"), ("cuda_gdb_nothing", "cuda-gdb")],
)
def test_a_control_that_did_not_run_proves_nothing(step: str, tool: str) -> None:
    for ran in (Ran(step="", rc=1, out=""), Ran(step="", rc=0, out=NO_REPORT), None):
        now = watched(**{step: ran})
        assert checks(now)[tool].verdict == "inconclusive"
        assert exit_code(now) == 8


@pytest.mark.parametrize(
    "reading",
    [
        Ran(step="", rc=0, out=recorded("ncu.other.read")),
        Ran(
            step="", rc=0, out=recorded("ncu.read").replace("0123456789abcdef", "fedcba9876543210")
        ),
        Ran(step="", rc=0, out=recorded("ncu.read").replace("3948.000000", "")),
        Ran(step="", rc=1, out=recorded("ncu.empty.read")),
        Ran(step="", rc=0, out=""),
    ],
    ids=["another kernel", "stale", "not counted", "empty", "nothing"],
)
def test_a_report_that_does_not_hold_the_kernel(reading: Ran) -> None:
    now = watched(ncu_read=reading)
    ncu = checks(now)["ncu"]
    assert (ncu.verdict, ncu.blame) == ("fail", "image")
    assert exit_code(now) == 6


def test_a_reader_that_shows_the_kernel_in_every_report() -> None:
    always = Ran(step="", rc=0, out=recorded("ncu.read"))
    for control in ("ncu_other_read", "ncu_empty_read"):
        assert checks(watched(**{control: always}))["ncu"].verdict == "void"


@pytest.mark.parametrize(
    ("ran", "verdict", "blame", "code"),
    [
        (Ran(step="", rc=-9, signal=9, timed_out=True, ms=60000), "inconclusive", "machine", 8),
        (Ran(step="", rc=-1, signal=11), "inconclusive", "machine", 8),
        (Ran(step="", rc=0, cut=True, out="x" * 999), "inconclusive", "machine", 8),
        (Ran(step="", rc=1, out=recorded("ncu.nobody")), "inconclusive", "machine", 8),
        (Ran(step="", rc=1, err="x: No space left on device"), "inconclusive", "machine", 8),
        (Ran(step="", rc=127, err="cannot be started"), "skip", "image", 0),
        (
            Ran(step="", rc=127, err="ncu: error while loading shared libraries: libx"),
            "fail",
            "image",
            6,
        ),
        (None, "inconclusive", "machine", 8),
    ],
    ids=[
        "hangs",
        "crashes",
        "floods",
        "unwritable home",
        "full",
        "not a program",
        "no lib",
        "gone",
    ],
)
def test_a_tool_that_does_not_come_to_its_end(
    ran: Ran | None, verdict: str, blame: str, code: int
) -> None:
    for tool in ("ncu", "nsys", "cuda_gdb"):
        now = watched(**{tool: ran})
        found = checks(now)[tool.replace("_", "-")]
        assert (found.verdict, found.blame) == (verdict, blame), tool
        assert exit_code(now) == code


def test_broken_lines_and_lies_of_the_search_are_open() -> None:
    good = HOLDS["tools.nsys.holds"]
    for bad in (
        good.replace('"times":2', '"times":"two"'),
        good.replace(samples.NONCE, "0" * 16),
        good + good,
        "",
    ):
        now = watched(nsys_holds=Ran(step="", rc=0, out=bad))
        assert checks(now)["nsys"].verdict == "inconclusive"
        assert exit_code(now) == 8


def test_an_image_without_any_tool_fails_only_where_the_suite_is_required() -> None:
    now = samples.seen("toolchain", "smoke", "tools")
    works = checks(now)["works"]
    assert (works.verdict, works.blame, works.core) == ("skip", "image", True)
    assert "the image has no cuda-gdb" in works.reason
    assert exit_code(now) == 6
    assert judge(now, ("smoke",)).exit == 0


def test_a_machine_that_refuses_all_of_them() -> None:
    denied = {"ncu": Ran(step="", rc=0, out=REFUSED), "sampling": Ran(step="", rc=0, out=REFUSED)}
    gdb = Ran(step="", rc=1, err="ptrace: Operation not permitted")
    now = watched("cuda-gdb", "ncu", cuda_gdb=gdb, **denied)
    works = checks(now)["works"]
    assert (works.verdict, works.blame) == ("skip", "machine")
    assert exit_code(now) == 4


def test_no_gpu_and_no_container() -> None:
    now = watched()
    none = replace(now, choice=replace(now.choice, gpu=None, reason="there is no NVIDIA GPU here"))
    assert {c.verdict for c in checks(none).values()} == {"skip"}
    assert exit_code(none) == 4
    lost = Session(name="tools", rc=125, says="docker: no such device")
    now = replace(now, sessions=(*now.sessions[:-1], lost))
    assert "no container came up: docker: no such device" in checks(now)["ncu"].reason
    assert exit_code(now) == 4
    assert state(now, ("smoke",)).exit == 0
