"""The suites `numba`, `cupy`, `triton`, `cuda-python`: pass, fail, void, and whose fault."""

import json

import pytest

from envbuild.certify.seen import Seen
from envbuild.values.codec import replace
from tests.certify import framework_samples as made
from tests.certify import samples
from tests.certify.framework_samples import (
    Line,
    answers,
    cut,
    doing,
    error,
    found,
    instead,
    required,
    seen,
    verdict,
)

CORE = {
    "numba": ["numba.kernels"],
    "cupy": ["cupy.build", "cupy.jit", "cupy.matmul"],
    "triton": ["triton.softmax"],
    "cuda-python": ["cuda-python.bindings"],
}
PACKAGES = {
    "numba": ("numba", "numba-cuda"),
    "cupy": ("cupy-cuda13x",),
    "triton": ("triton",),
    "cuda-python": ("cuda-bindings",),
}


def without(*names: str) -> dict[str, str]:
    return {name: text for name, text in made.PACKAGES.items() if name not in names}


@pytest.mark.parametrize("suite", CORE)
class TestEach:
    def test_a_healthy_one_is_certified_with_red_controls(self, suite: str) -> None:
        result = required(seen(suite), suite)
        assert (result.exit, result.suites[-1].verdict) == (0, "pass")
        checks = result.suites[-1].checks
        assert [c.id for c in checks if c.core] == CORE[suite]
        assert all(c.controls and all(k.red for k in c.controls) for c in checks)

    def test_an_image_without_it_fails_where_it_is_required(self, suite: str) -> None:
        sessions = [s.name for s in seen(suite).sessions if s.name.startswith(suite)]
        now = cut(seen(suite, packages=without(*PACKAGES[suite])), *sessions)
        assert required(now, suite).exit == 6
        checks = required(now, suite).suites[-1].checks
        assert {(c.verdict, c.blame) for c in checks} == {("skip", "image")}
        assert "not in the image" in checks[0].reason

    def test_without_a_gpu_it_is_the_machines(self, suite: str) -> None:
        now = seen(suite)
        now = replace(now, choice=replace(now.choice, gpu=None, reason="no NVIDIA GPU here"))
        assert required(now, suite).exit == 4

    def test_what_never_ran_is_open(self, suite: str) -> None:
        sessions = [s.name for s in seen(suite).sessions if s.name.startswith(suite)]
        assert required(cut(seen(suite), *sessions), suite).exit == 8


FAILS = [
    ("numba.kernels", "add", {"wrong": 4}),
    ("numba.kernels", "reduction", {"wrong": 1}),
    ("cupy.jit", "raw kernel", {"wrong": 1}),
    ("cupy.jit", "elementwise", {"wrong": 12}),
    ("cupy.matmul", "f32", {"error": 1e-3}),
    ("cupy.matmul", "f64", {"error": None}),
    ("triton.softmax", "softmax", {"error": 0.01}),
    ("cuda-python.bindings", "add", {"wrong": 262147}),
    ("cuda-python.core", "add", {"wrong": 1}),
]


@pytest.mark.parametrize(("step", "name", "fields"), FAILS)
def test_wrong_numbers_fail(step: str, name: str, fields: dict[str, object]) -> None:
    suite = step.partition(".")[0]
    now = instead(seen(suite), step, name, "", **fields)
    assert verdict(now, step) == ("fail", "image")
    assert required(now, suite).exit == 6


GREEN = [
    ("numba.kernels", "add", "skipped kernel", {"wrong": 0}),
    ("numba.kernels", "reduction", "an element less", {"wrong": 0}),
    ("cupy.jit", "elementwise", "swapped inputs", {"wrong": 0}),
    ("cupy.jit", "broken source", "", {"says": ""}),
    ("cupy.matmul", "f64", "wrong stride", {"error": 1e-16}),
    ("triton.softmax", "softmax", "a column left out", {"error": 1e-7}),
    ("cuda-python.bindings", "bad launch", "", {"code": 0}),
    ("cuda-python.bindings", "broken source", "", {"says": "1 error"}),
    ("cuda-python.core", "add", "changed element", {"wrong": 0}),
]


@pytest.mark.parametrize(("step", "name", "control", "fields"), GREEN)
def test_a_green_control_voids(
    step: str, name: str, control: str, fields: dict[str, object]
) -> None:
    suite = step.partition(".")[0]
    now = instead(seen(suite), step, name, control, **fields)
    assert verdict(now, step) == ("void", "suite")
    assert required(now, suite).exit == 9


@pytest.mark.parametrize(
    ("step", "event"),
    [
        ("cupy.jit", "refused"),
        ("cuda-python.bindings", "refused"),
        ("cuda-python.bindings", "answer"),
        ("cupy.build", "build"),
    ],
)
def test_a_control_or_a_fact_left_out_is_open(step: str, event: str) -> None:
    left = [line for line in made.ANSWERS[step] if line["event"] != event]
    now = answers(seen(step.partition(".")[0]), step, *left)
    assert verdict(now, step)[0] == "inconclusive"


class TestCupyBuild:
    """Case C76: cupy is judged by the NVRTC that it finds, not by an import."""

    @staticmethod
    def of(package: str, nvrtc: str, says: str = "", cc: str = "9.0") -> Seen:
        packages = {**without("cupy-cuda13x"), package: "14.2.0"}
        line: Line = {"event": "build", "name": "cupy", "version": "14.2.0", "cuda": "13.2"}
        now = cut(seen("cupy", cc=cc, packages=packages), "cupy.parts")
        return answers(now, "cupy.build", {**line, "nvrtc": nvrtc, "says": says})

    @pytest.mark.parametrize(
        ("package", "nvrtc", "want"),
        [
            ("cupy-cuda13x", "12.9", "fail"),  # C76
            ("cupy-cuda12x", "13.0", "fail"),
            ("cupy-cuda11x", "12.0", "fail"),
            ("cupy-cuda117", "12.0", "fail"),
            ("cupy", "12.9", "fail"),  # built from source for 13.2, as its runtime says
            ("cupy-cuda13x", "13.3", "pass"),
            ("cupy-cuda12x", "12.0", "pass"),
            ("cupy-cuda117", "11.7", "pass"),
            ("cupy", "13.0", "pass"),
        ],
    )
    def test_nvrtc_and_wheel_are_of_one_cuda(self, package: str, nvrtc: str, want: str) -> None:
        now = self.of(package, nvrtc)
        check = found(now, "cupy.build")
        assert check.verdict == want
        if want == "fail":
            assert check.blame == "image"
            assert f"NVRTC {nvrtc} does not match {package} 14.2.0" in check.reason
            assert verdict(now, "cupy.jit") == ("skip", "image")
            assert required(now, "cupy").exit == 6

    def test_a_runtime_image_without_nvrtc(self) -> None:
        says = 'Failure finding "libnvrtc.so.13 or libnvrtc.so.12": No such file'
        check = found(self.of("cupy-cuda13x", "", says), "cupy.build")
        assert (check.verdict, check.blame) == ("fail", "image")
        assert "NVRTC is missing" in check.reason
        assert "[ctk]" in check.reason

    def test_a_wheel_that_does_not_serve_the_device(self) -> None:
        check = found(self.of("cupy-cuda13x", "13.0", cc="6.1"), "cupy.build")
        assert (check.verdict, check.blame) == ("fail", "image")
        assert "needs compute capability 7.5, the device is 6.1" in check.reason

    @pytest.mark.parametrize(
        ("says", "word"),
        [
            ('cannot open source file "cuda_fp16.h"', "cuda_fp16.h"),
            ('catastrophic error: cannot open source file "vector_types.h"', "vector_types.h"),
            ("Failed to find CUDA headers. Please install", "headers"),
            ("nvrtc: error: failed to open libnvrtc-builtins.so.13.0", "libnvrtc-builtins"),
            ("nvrtc: error: invalid value for --gpu-architecture (-arch)", "no target"),
            ("CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available", "no code"),
        ],
    )
    def test_what_breaks_its_first_kernel(self, says: str, word: str) -> None:
        lines = (doing("compile a raw kernel"), error("CompileException", says))
        check = found(answers(seen("cupy"), "cupy.jit", *lines), "cupy.jit")
        assert (check.verdict, check.blame) == ("fail", "image")
        assert word in check.reason


class TestTriton:
    @pytest.mark.parametrize("cc", ["5.2", "6.0", "6.1"])
    def test_a_device_that_no_triton_serves_is_the_machines(self, cc: str) -> None:
        now = cut(seen("triton", cc=cc), "triton")
        check = found(now, "triton.softmax")
        assert (check.verdict, check.blame) == ("skip", "machine")
        assert f"Triton needs compute capability 7.0, the device is {cc}" in check.reason
        assert required(now, "triton").exit == 4

    def test_its_own_assembler_is_named(self) -> None:
        inputs = found(seen("triton"), "triton.softmax").inputs
        assert inputs.get("ptxas") == "12.8 (/p)"
        assert inputs.get("target") == "sm_90a"

    @pytest.mark.parametrize(
        ("says", "word"),
        [
            ("ptxas fatal: Value 'sm_121' is not defined for option 'gpu-name'", "target sm_121"),
            ("ptxas /tmp/x.ptx, line 5; fatal: Unsupported .version 9.5", "older than its PTX 9.5"),
            ("CUDA error 222: the provided PTX was compiled with an unsupported toolchain.", "PTX"),
        ],
    )
    def test_what_its_assembler_says(self, says: str, word: str) -> None:
        now = answers(seen("triton"), "triton.softmax", error("PTXASError", says))
        check = found(now, "triton.softmax")
        assert (check.verdict, check.blame) == ("fail", "image")
        assert word in check.reason

    @pytest.mark.parametrize(
        ("line", "word"),
        [
            ({"event": "missing", "says": "torch, through which Triton reaches the GPU"}, "torch"),
            (error("RuntimeError", "Failed to find C compiler. Please specify via CC"), "compiler"),
        ],
    )
    def test_what_it_needs_beside_itself_fails_it_where_it_is_required(
        self, line: Line, word: str
    ) -> None:
        now = answers(seen("triton"), "triton.softmax", line)
        assert verdict(now, "triton.softmax") == ("skip", "image")
        assert word in found(now, "triton.softmax").reason
        assert required(now, "triton").exit == 6


class TestNumba:
    @pytest.mark.parametrize(
        ("kind", "says", "word"),
        [
            ("AttributeError", "module 'numpy' has no attribute 'row_stack'", "row_stack"),
            (
                "LinkerError",
                "[222] Call to cuLinkAddData results in UNSUPPORTED_PTX_VERSION",
                "PTX",
            ),
            (
                "NvvmSupportError",
                "libNVVM cannot be found. libnvvm.so.4: cannot open shared object file",
                "libnvvm.so.4",
            ),
            ("CudaSupportError", "CUDA driver library cannot be found.", "no driver"),
        ],
    )
    def test_errors_in_plain_words(self, kind: str, says: str, word: str) -> None:
        lines = (doing("compile and run add"), error(kind, says))
        check = found(answers(seen("numba"), "numba.kernels", *lines), "numba.kernels")
        assert (check.verdict, check.blame) == ("fail", "image")
        assert word in check.reason

    def test_numba_of_its_own_will_do(self) -> None:
        now = seen("numba", packages=without("numba-cuda"))
        assert found(now, "numba.kernels").verdict == "pass"


class TestCudaPython:
    def test_without_cuda_core_the_bindings_still_count(self) -> None:
        line: Line = {"event": "missing", "says": "cuda.core (the package cuda-core)"}
        now = answers(seen("cuda-python"), "cuda-python.core", line)
        assert verdict(now, "cuda-python.core") == ("skip", "image")
        assert required(now, "cuda-python").exit == 0

    def test_nvrtc_that_is_not_there(self) -> None:
        says = 'Failure finding "libnvrtc.so.12": No such file: libnvrtc.so.12'
        now = answers(seen("cuda-python"), "cuda-python.bindings", error("RuntimeError", says))
        assert "NVRTC is missing" in found(now, "cuda-python.bindings").reason


def test_packages_are_read_by_their_names() -> None:
    text = json.dumps(
        {"python": "3.9", "packages": {"cupy-cuda12x": "13"}, "torch": None, "error": ""}
    )
    now = samples.changed(seen("cupy"), "packages", out=text)
    assert "cupy-cuda12x 13" in found(now, "cupy.build").reason
