"""The suite `torch`: each check passes, fails, and is void when its control stays green."""

import pytest

from envbuild.certify.seen import Seen
from envbuild.certify.suites.torch.build import runs_on
from envbuild.values.codec import replace
from tests.certify import framework_samples as made
from tests.certify import samples
from tests.certify.framework_samples import (
    PASCAL,
    answers,
    built,
    cut,
    doing,
    error,
    found,
    instead,
    near,
    required,
    seen,
    verdict,
)

CU128 = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")


def test_a_healthy_torch_is_certified_by_nine_checks_each_with_a_red_control() -> None:
    result = required(seen("torch"), "torch")
    suite = result.suites[-1]
    assert (result.exit, suite.verdict, len(suite.checks)) == (0, "pass", 9)
    assert {c.id for c in suite.checks if not c.core} == {
        "torch.cudnn",
        "torch.extension",
        "torch.compile",
    }
    for check in suite.checks:
        assert check.verdict == "pass", check
        assert check.controls, check
        assert all(control.red for control in check.controls), check


class TestBuild:
    """Case C01: the verdict comes from the list of architectures, before a kernel runs."""

    @staticmethod
    def of(cc: str, version: str, targets: tuple[str, ...], cuda: str = "12.8") -> Seen:
        now = cut(seen("torch", cc=cc), "torch.parts")
        return answers(now, "torch.build", built(version, cuda, targets))

    @pytest.mark.parametrize(
        ("cc", "targets", "word"),
        [
            ("6.1", CU128, "sm_70"),  # C01
            ("12.0", PASCAL, "sm_90"),  # a 5090 with a wheel for CUDA 12.6
            ("5.2", ("sm_70", "sm_75", "compute_75"), "compute_75"),  # PTX is newer than the card
            ("9.0", ("sm_80", "sm_100a", "sm_120"), "sm_100a"),
        ],
    )
    def test_no_code_for_the_device(self, cc: str, targets: tuple[str, ...], word: str) -> None:
        now = self.of(cc, "2.8.0+cu128", targets)
        check = found(now, "torch.build")
        assert (check.verdict, check.blame) == ("fail", "image")
        assert "built for" in check.reason
        assert word in check.reason
        assert f"the device is {cc}" in check.reason
        assert required(now, "torch").exit == 6
        # torch finds the GPU all the same: that alone never passes.
        assert check.inputs.get("torch.cuda.is_available") == "yes"
        assert verdict(now, "torch.eager") == ("skip", "image")

    @pytest.mark.parametrize(
        ("cc", "targets", "way"),
        [
            ("6.1", PASCAL, ""),
            ("8.9", ("sm_80", "sm_86"), ""),
            ("12.0", ("sm_90", "compute_90"), "compute_90"),
            ("9.0", ("sm_90a",), ""),
        ],
    )
    def test_code_or_ptx_for_the_device(self, cc: str, targets: tuple[str, ...], way: str) -> None:
        check = found(self.of(cc, "2.8.0+cu126", targets), "torch.build")
        assert check.verdict == "pass"
        assert (way in check.reason) if way else not check.reason
        assert check.reason.startswith("warning") == bool(way)
        assert [control.red for control in check.controls] == [True]

    def test_a_promised_cc_that_torch_has_nothing_for_fails_on_any_device(self) -> None:
        now = self.of("8.6", "2.8.0+cu128", CU128)
        now = replace(now, terms=replace(now.terms, cc=("6.1", "8.6"), promise=("61", "86")))
        check = found(now, "torch.build")
        assert (check.verdict, check.blame) == ("fail", "image")
        assert "promises 6.1" in check.reason

    @pytest.mark.parametrize(
        ("line", "word"),
        [
            (built("2.8.0", "", ()), "CPU build"),  # C26
            (built("2.12.0+cpu", "", ()), "CPU build"),
            ({**built("2.8.0", "", ()), "other": "ROCm"}, "ROCm build"),
        ],
    )
    def test_a_torch_without_cuda(self, line: made.Line, word: str) -> None:
        check = found(
            answers(cut(seen("torch"), "torch.parts"), "torch.build", line), "torch.build"
        )
        assert (check.verdict, check.blame) == ("fail", "image")
        assert word in check.reason

    def test_a_cpu_build_is_known_from_its_version_file_alone(self) -> None:
        now = cut(seen("torch"), "torch.parts", "torch.build")
        build = '"torch":{"version":"2.8.0","cuda":null}'
        text = f'{{"python":"3.12","packages":{{"torch":"2.8.0"}},{build},"error":""}}'
        check = found(samples.changed(now, "packages", out=text), "torch.build")
        assert (check.verdict, check.blame) == ("fail", "image")
        assert "without CUDA" in check.reason

    def test_a_torch_of_a_newer_major_than_the_driver(self) -> None:
        now = samples.smoke(self.of("9.0", "2.12.0+cu130", made.CU130, "13.0"), ("13000", "12080"))
        check = found(now, "torch.build")
        assert check.verdict == "fail"
        assert "CUDA 13.0" in check.reason
        assert "CUDA 12.8" in check.reason

    @pytest.mark.parametrize(
        ("says", "word"),
        [
            ("libcudnn.so.9: cannot open shared object file: No such file", "libcudnn.so.9"),
            ("/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister", "ncclCommRegister"),
            ("No module named 'typing_extensions'", "typing_extensions"),
        ],
    )
    def test_a_torch_that_cannot_be_imported(self, says: str, word: str) -> None:
        lines = (doing("import torch"), error("ImportError", says))
        check = found(
            answers(cut(seen("torch"), "torch.parts"), "torch.build", *lines), "torch.build"
        )
        assert (check.verdict, check.blame) == ("fail", "image")
        assert word in check.reason

    def test_a_torch_that_lists_nothing_is_open(self) -> None:
        assert verdict(self.of("9.0", "1.6.0", ()), "torch.build")[0] == "inconclusive"

    def test_the_rule_of_machine_code(self) -> None:
        assert runs_on(("60",), (), "6.1") == "sm_60"
        assert not runs_on(("61",), (), "6.0")
        assert not runs_on(("90a",), (), "9.1")
        assert runs_on((), ("70", "80"), "9.0") == "compute_80"
        assert not runs_on((), ("90a",), "10.0")


FAILS = [
    ("torch.eager", "elementwise", {"wrong": 3}),
    ("torch.eager", "reduction", {"wrong": 1}),
    ("torch.eager", "gather", {"compared": 0}),
    ("torch.matmul", "f64", {"error": 1e-7}),
    ("torch.matmul", "f32", {"error": 7e-5}),
    ("torch.matmul", "tf32", {"error": None}),
    ("torch.matmul", "f16", {"error": 0.01}),
    ("torch.matmul", "bf16", {"error": 0.05}),
    ("torch.conv", "f32", {"error": 1e-3}),
    ("torch.add", "torch and kernel", {"wrong": 1}),
    ("torch.add", "torch and CPU", {"wrong": 9}),
    ("torch.graph", "replay 2", {"error": 0.5}),
    ("torch.graph", "replay after a refusal", {"error": None}),
    ("torch.extension", "extension and torch", {"wrong": 2}),
    ("torch.compile", "compiled", {"error": 0.01}),
]


@pytest.mark.parametrize(("step", "name", "fields"), FAILS)
def test_wrong_numbers_fail(step: str, name: str, fields: dict[str, object]) -> None:
    now = instead(seen("torch"), step, name, "", **fields)
    assert verdict(now, step) == ("fail", "image")
    assert name in found(now, step).reason
    assert required(now, "torch").exit == 6


GREEN = [
    ("torch.eager", "elementwise", "changed element", {"wrong": 0}),
    ("torch.eager", "elementwise", "changed element", {"wrong": 2}),
    ("torch.eager", "gather", "other order", {"wrong": 0}),
    ("torch.matmul", "bf16", "wrong stride", {"error": 1e-4}),
    ("torch.conv", "f16", "wrong stride", {"error": 1e-5}),
    ("torch.add", "torch and kernel", "skipped kernel", {"wrong": 0}),
    ("torch.graph", "replay after a refusal", "changed input, no replay", {"error": 1e-8}),
    ("torch.graph", "synchronize in a capture", "", {"says": ""}),
    ("torch.extension", "a tensor of the CPU", "", {"says": ""}),
    ("torch.compile", "compiled", "another function", {"error": 1e-7}),
    ("torch.compile", "eager", "", {"count": 1}),
]


@pytest.mark.parametrize(("step", "name", "control", "fields"), GREEN)
def test_a_green_control_voids(
    step: str, name: str, control: str, fields: dict[str, object]
) -> None:
    now = instead(seen("torch"), step, name, control, **fields)
    assert verdict(now, step) == ("void", "suite")
    assert required(now, "torch").exit == 9


@pytest.mark.parametrize("step", [name for name in made.ANSWERS if name.startswith("torch.")])
class TestAnswers:
    """Whatever an answer is, it never passes by being less than whole."""

    def test_each_result_is_needed_and_each_needs_a_control(self, step: str) -> None:
        lines = made.ANSWERS[step]
        results = {n["name"] for n in lines if n["event"] in {"equal", "near"}}
        for name in results - {"tf32", "bf16"}:  # not every device has them
            for control in (False, True):
                left = [
                    n
                    for n in lines
                    if (n.get("name"), bool(n.get("control"))) != (name, control)
                    or n["event"] == "kernels"
                ]
                check = found(answers(seen("torch"), step, *left), step)
                assert check.verdict == "inconclusive", (name, control)

    def test_another_runs_answer_is_none(self, step: str) -> None:
        text = made.said(*made.ANSWERS[step], nonce="f" * 16)
        now = samples.changed(seen("torch"), step, out=text)
        assert found(now, step).verdict == "inconclusive"

    def test_a_crash_is_a_finding_of_its_own_check(self, step: str) -> None:
        text = made.said(doing("import torch"), doing("the middle of it")).rpartition("\n")[0]
        now = samples.changed(seen("torch"), step, out=text, rc=-1, signal=11)
        check = found(now, step)
        assert (check.verdict, check.blame) == ("fail", "image")
        assert "signal 11" in check.reason
        assert "the middle of it" in check.reason
        others = [c for c in required(now, "torch").suites[-1].checks if c.id != step]
        if step != "torch.build":
            beside = {"torch.cudnn"} if step == "torch.conv" else set()
            assert all(c.verdict == "pass" for c in others if c.id not in beside)

    def test_a_hang_while_importing_is_open_and_a_later_one_fails(self, step: str) -> None:
        for stage, want in (("import torch", "inconclusive"), ("matmul", "fail")):
            text = made.said(doing(stage)).rpartition("\n")[0]
            fields = {"out": text, "rc": -1, "signal": 9, "timed_out": True, "ms": 90000}
            check = found(samples.changed(seen("torch"), step, **fields), step)
            assert check.verdict == want
            assert f"in the stage: {stage}" in check.reason

    def test_no_memory_is_the_machines(self, step: str) -> None:
        line = error("OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 MiB")
        check = found(answers(seen("torch"), step, line), step)
        assert (check.verdict, check.blame) == ("skip", "machine")


class TestPresence:
    @pytest.mark.parametrize("python", ["3.12", None])
    def test_an_image_without_torch_fails_where_torch_is_required(self, python: str | None) -> None:
        now = cut(seen("torch"), "torch.build", "torch.parts")
        text = '{"python":"3.12","packages":{},"torch":null,"error":""}'
        step = {"out": text} if python else {"out": "", "rc": 127}
        now = samples.changed(now, "packages", **step)
        assert {c.verdict for c in required(now, "torch").suites[-1].checks} == {"skip"}
        assert required(now, "torch").exit == 6

    def test_without_a_gpu_it_is_the_machines(self) -> None:
        now = seen("torch")
        now = replace(now, choice=replace(now.choice, gpu=None, reason="no GPU here"))
        assert required(now, "torch").exit == 4

    def test_where_smoke_did_not_come_through_nothing_is_known(self) -> None:
        now = cut(seen("torch"), "torch.build", "torch.parts")
        assert verdict(now, "torch.build")[0] == "inconclusive"
        assert "smoke" in found(now, "torch.build").reason

    def test_another_device_than_the_chosen_one(self) -> None:
        for step in ("torch.eager", "triton.softmax", "numba.kernels"):
            lines = [{**n, "cc": "8.6"} if "cc" in n else n for n in made.ANSWERS[step]]
            check = found(answers(seen(), step, *lines), step)
            assert check.verdict == "inconclusive"
            assert "took a device of cc 8.6, cc 9.0 was chosen" in check.reason


def test_a_result_named_twice_is_a_lie() -> None:
    lines = (*made.ANSWERS["torch.matmul"], near("f64", 0.0))
    assert (
        verdict(answers(seen("torch"), "torch.matmul", *lines), "torch.matmul")[0] == "inconclusive"
    )
