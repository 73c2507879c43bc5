"""Public reports about frameworks in images, each with siblings: verdict, blame, words, exit code.

The numbers are those of `tests/cases/open.yaml`; observations are made (`framework_samples.py`).
"""

import json

import pytest

from envbuild.certify.seen import Seen
from envbuild.values.codec import Pairs, replace
from tests.certify import framework_samples as made
from tests.certify import samples
from tests.certify.framework_samples import (
    P100,
    answers,
    built,
    cut,
    doing,
    error,
    found,
    required,
    seen,
)

PASCAL = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
CU128 = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")


def torch(cc: str, version: str, cuda: str, targets: tuple[str, ...]) -> Seen:
    return answers(seen("torch", cc=cc), "torch.build", built(version, cuda, targets))


@pytest.mark.parametrize(
    ("cc", "version", "targets", "exit_code"),
    [
        ("6.1", "2.8.0+cu128", CU128, 6),  # C01
        ("6.1", "2.8.0+cu126", PASCAL, 0),
        ("12.0", "2.6.0+cu124", PASCAL, 6),
        ("7.5", "2.8.0+cu128", CU128, 0),
        ("8.7", "2.8.0+cu126", ("sm_90", "compute_90"), 6),
    ],
)
def test_c01_a_wheel_without_code_for_the_card(
    cc: str, version: str, targets: tuple[str, ...], exit_code: int
) -> None:
    now = torch(cc, version, version[-3:-1] + "." + version[-1], targets)
    assert required(now, "torch").exit == exit_code
    check = found(now, "torch.build")
    assert check.blame == ("image" if exit_code else None)
    assert ("built for" in check.reason) == bool(exit_code)


@pytest.mark.parametrize(
    ("cc", "says", "want"),
    [
        ("6.0", P100, "skip"),  # C09
        ("6.1", "GPU too old for the Triton compiler, needs capability >= 7.0", "skip"),
        ("5.2", P100.replace("P100", "M60"), "skip"),
        ("7.0", "PTXASError: PTXAS error: Internal Triton PTX codegen error", "fail"),
    ],
)
def test_c09_what_triton_does_not_serve_is_no_broken_image(cc: str, says: str, want: str) -> None:
    now = torch(cc, "2.8.0+cu126", "12.6", PASCAL)
    now = replace(now, floors=())  # as an image has it whose Triton no row names
    now = answers(now, "torch.compile", error("BackendCompilerFailed", says))
    assert found(now, "torch.eager").verdict == "pass"
    assert found(now, "torch.compile").verdict == want
    assert required(now, "torch").exit == (0 if want == "skip" else 6)


@pytest.mark.parametrize(
    ("version", "other", "word"),
    [
        ("2.8.0", "", "without CUDA"),  # C26
        ("2.8.0+cpu", "", "CPU build"),
        ("2.10.0", "", "CPU build"),
        ("2.9.1+rocm6.4", "ROCm", "ROCm build"),
    ],
)
def test_c26_a_torch_of_another_kind(version: str, other: str, word: str) -> None:
    line = {**built(version, "", ()), "other": other, "available": False}
    now = answers(cut(seen("torch"), "torch.parts"), "torch.build", line)
    check = found(now, "torch.build")
    assert (required(now, "torch").exit, check.blame) == (6, "image")
    assert word in check.reason


@pytest.mark.parametrize(
    ("package", "nvrtc", "says", "word"),
    [
        ("cupy-cuda13x", "12.9", "", "NVRTC 12.9 does not match cupy-cuda13x"),  # C76
        ("cupy-cuda12x", "11.8", "", "NVRTC 11.8 does not match cupy-cuda12x"),
        ("cupy-cuda12x", "", "libnvrtc.so.12: cannot open shared object file", "NVRTC is missing"),
        ("cupy-cuda13x", "", "", "NVRTC cannot be loaded"),
    ],
)
def test_c76_cupy_without_the_nvrtc_it_needs(
    package: str, nvrtc: str, says: str, word: str
) -> None:
    packages = {"cupy-cuda13x": "", **made.PACKAGES}
    del packages["cupy-cuda13x"]
    now = cut(seen("cupy", packages={**packages, package: "14.2.0"}), "cupy.parts")
    line: made.Line = {"event": "build", "version": "14.2.0", "nvrtc": nvrtc, "says": says}
    now = answers(now, "cupy.build", line)
    check = found(now, "cupy.build")
    assert (required(now, "cupy").exit, check.blame) == (6, "image")
    assert word in check.reason
    assert "nvrtc" in check.reason.lower()


def test_c80_a_warmed_up_capture_replays_right() -> None:
    now = torch("8.9", "2.8.0+cu128", "12.8", CU128)
    assert required(now, "torch").exit == 0
    graph = found(now, "torch.graph")
    assert graph.verdict == "pass"
    assert {c.name for c in graph.controls} >= {
        "synchronize in a capture",
        "replay 1: the other input",
    }


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ("CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", ("cuBLAS",)),
        ("operation failed due to a previous error during capture", ("warm-up", "default stream")),
        ("operation not permitted when stream is capturing", ("waited for the GPU",)),
    ],
)
def test_c80_a_capture_that_fails_says_why(says: str, words: tuple[str, ...]) -> None:
    lines = (doing("capture"), error("RuntimeError", f"CUDA error: {says}"))
    now = answers(seen("torch"), "torch.graph", *lines)
    assert required(now, "torch").exit == 6
    assert all(word in found(now, "torch.graph").reason for word in words)


@pytest.mark.parametrize(
    ("locked", "have", "want"),
    [
        (
            {"torch": "2.8.0+cu126"},
            {"torch": "2.9.1+cu128"},
            "torch 2.9.1+cu128, locked 2.8.0+cu126",
        ),
        ({"torch": "2.11.0+cu126"}, {"torch": "2.11.0+cu130"}, "locked 2.11.0+cu126"),  # C86
        ({"torch": "2.11.0+cu126"}, {"torch": "2.11.0"}, "locked 2.11.0+cu126"),
        ({"torch": "2.8.0+cu126"}, {}, "torch 2.8.0+cu126 is missing"),
        ({"nvidia-cudnn-cu12": "9.10.2.21"}, {"nvidia-cudnn-cu12": "9.11.0.98"}, "cudnn"),
        ({"torch": "2.8.0+cu126"}, {"torch": "2.8.0+cu126"}, ""),
    ],
)
def test_c85_c86_what_is_inside_is_compared_with_the_lock(
    locked: dict[str, str], have: dict[str, str], want: str
) -> None:
    now = samples.seen("toolchain")
    text = {"python": "3.12", "packages": have, "torch": None, "error": ""}
    now = samples.changed(now, "packages", rc=0, out=json.dumps(text))
    now = replace(now, terms=replace(now.terms, wheels=Pairs(locked)))
    check = found(now, "toolchain.lock-drift")
    assert required(now, "toolchain").exit == (6 if want else 0)
    assert check.blame == ("image" if want else None)
    assert want in check.reason
