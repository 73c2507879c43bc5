"""What torch makes in the image: compiled functions, an extension, graphs, convolutions."""

import pytest

from envbuild.certify.suites.torch import conv
from tests.certify import framework_samples as made
from tests.certify import samples
from tests.certify.framework_samples import (
    P100,
    PASCAL,
    answers,
    built,
    doing,
    error,
    found,
    instead,
    required,
    seen,
    verdict,
)


class TestCompile:
    """Case C09: what Triton does not support is no fault of the image."""

    def test_below_the_floor_it_is_not_tried_and_the_rest_passes(self) -> None:
        now = answers(seen("torch", cc="6.0"), "torch.build", built("2.8.0+cu126", "12.6", PASCAL))
        now = samples.without(now, "torch.compile")
        check = found(now, "torch.compile")
        assert (check.verdict, check.blame) == ("skip", "machine")
        assert "7.0" in check.reason
        assert "6.0" in check.reason
        result = required(now, "torch")
        assert (result.exit, found(now, "torch.eager").verdict) == (0, "pass")

    @pytest.mark.parametrize(
        ("kind", "says", "want", "word"),
        [
            (
                "BackendCompilerFailed",
                P100,
                "skip",
                "Triton needs compute capability 7.0",
            ),
            ("GPUTooOldForTriton", "GPU too old for the Triton compiler", "skip", "7.0"),
            ("InductorError", "RuntimeError: Failed to find C compiler.", "skip", "C compiler"),
            ("InductorError", "main.c:4: fatal error: Python.h: No such file", "skip", "Python.h"),
            ("TritonMissing", "Cannot find a working triton installation", "skip", "Triton is not"),
            (
                "InductorError",
                "ptxas fatal: Value 'sm_103' is not defined for option 'gpu-name'",
                "fail",
                "sm_103",
            ),
            ("Unsupported", "a thing of its own", "fail", "a thing of its own"),
        ],
    )
    def test_errors_in_plain_words(self, kind: str, says: str, want: str, word: str) -> None:
        now = answers(seen("torch"), "torch.compile", doing("torch.compile"), error(kind, says))
        check = found(now, "torch.compile")
        assert check.verdict == want
        assert word in check.reason
        assert "Traceback" not in check.reason
        assert required(now, "torch").exit == (0 if want == "skip" else 6)

    def test_a_torch_before_2_has_none(self) -> None:
        line: made.Line = {
            "event": "missing",
            "says": "torch.compile (torch 1.12.1 is older than 2.0)",
        }
        assert verdict(answers(seen("torch"), "torch.compile", line), "torch.compile")[0] == "skip"

    @pytest.mark.parametrize(("count", "want"), [(0, "fail"), (None, "inconclusive")])
    def test_the_kernels_made_are_counted(self, count: int | None, want: str) -> None:
        lines = [dict(line) for line in made.ANSWERS["torch.compile"]]
        lines[1]["count"] = count
        lines = [line for line in lines if line.get("count", 0) is not None]
        assert verdict(answers(seen("torch"), "torch.compile", *lines), "torch.compile")[0] == want


class TestExtension:
    @pytest.mark.parametrize(
        ("lines", "err", "want", "word"),
        [
            (({"event": "missing", "says": "a CUDA toolkit"},), "", "skip", "lacks a CUDA toolkit"),
            (({"event": "missing", "says": "a C++ compiler"},), "", "skip", "C++ compiler"),
            (
                (
                    error(
                        "RuntimeError",
                        "The detected CUDA version (12.4) mismatches the version that was used to "
                        "compile\nPyTorch (13.0). Please make sure",
                    ),
                ),
                "",
                "fail",
                "toolkit inside is CUDA 12.4, torch is built for CUDA 13.0",
            ),
            (
                (
                    error(
                        "RuntimeError", "Command '['ninja', '-v']' returned non-zero exit status 1."
                    ),
                ),
                "/usr/bin/ld: cannot find -lcudart: No such file or directory\n",
                "fail",
                "no libcudart",
            ),
            (
                (
                    error(
                        "RuntimeError", "Command '['ninja', '-v']' returned non-zero exit status 1."
                    ),
                ),
                "ninja: error: build.ninja:31: something\n",
                "fail",
                "build.ninja:31",
            ),
            (
                (
                    {"event": "toolkit", "path": "/usr/local/cuda", "target": "8.0"},
                    error("RuntimeError", "no kernel image is available for execution"),
                ),
                "",
                "fail",
                "TORCH_CUDA_ARCH_LIST=8.0",
            ),
        ],
    )
    def test_what_keeps_it_from_being_built(
        self, lines: tuple[made.Line, ...], err: str, want: str, word: str
    ) -> None:
        now = answers(seen("torch"), "torch.extension", *lines)
        check = found(samples.changed(now, "torch.extension", err=err), "torch.extension")
        assert check.verdict == want
        assert word in check.reason


class TestGraph:
    """Case C80: warm-up, capture, replay; and why a capture is refused."""

    @pytest.mark.parametrize(
        ("says", "word"),
        [
            (
                "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
                "cuBLAS",
            ),
            ("CUDA error: operation not permitted when stream is capturing", "warm-up"),
            ("operation failed due to a previous error during capture", "default stream"),
            ("cudaErrorStreamCaptureIsolation: dependency created on uncaptured work", "waited"),
        ],
    )
    def test_a_refused_capture_is_explained(self, says: str, word: str) -> None:
        lines = (doing("capture"), error("RuntimeError", says))
        check = found(answers(seen("torch"), "torch.graph", *lines), "torch.graph")
        assert (check.verdict, check.blame) == ("fail", "image")
        assert word in check.reason

    def test_the_refusal_that_is_asked_for_says_its_cause(self) -> None:
        control = found(seen("torch"), "torch.graph").controls[-1]
        assert control.red
        assert "nothing may wait" in control.says

    def test_the_refusal_must_have_been_tried(self) -> None:
        lines = [line for line in made.ANSWERS["torch.graph"] if line["event"] != "refused"]
        now = answers(seen("torch"), "torch.graph", *lines)
        assert verdict(now, "torch.graph")[0] == "inconclusive"

    def test_a_refusal_for_another_reason_is_none(self) -> None:
        now = instead(
            seen("torch"), "torch.graph", "synchronize in a capture", "", says="out of luck"
        )
        assert verdict(now, "torch.graph")[0] == "void"


class TestCudnn:
    def test_without_it_torch_convolves_by_itself(self) -> None:
        lines = ({**made.ANSWERS["torch.conv"][0], "number": 0}, *made.ANSWERS["torch.conv"][1:])
        now = answers(seen("torch"), "torch.conv", *lines)
        assert verdict(now, "torch.cudnn")[0] == "skip"
        assert verdict(now, "torch.conv")[0] == "pass"

    @pytest.mark.parametrize(
        ("fields", "want"), [({"on": False}, "fail"), ({"off": True}, "void"), ({}, "pass")]
    )
    def test_it_takes_a_tensor_only_while_it_is_on(
        self, fields: dict[str, object], want: str
    ) -> None:
        lines = ({**made.ANSWERS["torch.conv"][0], **fields}, *made.ANSWERS["torch.conv"][1:])
        assert verdict(answers(seen("torch"), "torch.conv", *lines), "torch.cudnn")[0] == want

    def test_another_cudnn_than_torchs_own(self) -> None:
        says = (
            "cuDNN version incompatibility: PyTorch was compiled against (9, 10, 2) but found "
            "runtime version (9, 1, 0)."
        )
        now = answers(seen("torch"), "torch.conv", doing("load cuDNN"), error("RuntimeError", says))
        for name in ("torch.cudnn", "torch.conv"):
            assert verdict(now, name) == ("fail", "image")
            assert "(9, 1, 0)" in found(now, name).reason

    @pytest.mark.parametrize(
        ("number", "text"), [(8907, "8.9.7"), (91002, "9.10.2"), (90100, "9.1.0"), (7605, "7.6.5")]
    )
    def test_its_version_is_spelled_out(self, number: int, text: str) -> None:
        assert conv.version(number) == text
