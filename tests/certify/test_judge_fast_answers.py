"""What must be noticed in the answers of the suite `fast`: controls, data, whole lines."""

import re
from collections.abc import Callable

import pytest

from envbuild.certify.judge import judge
from envbuild.certify.seen import Ran
from envbuild.values.codec import replace
from tests.certify import samples
from tests.certify.fast_checks import (
    checks,
    edited,
    exit_code,
    lines_without,
    verdicts,
)
from tests.certify.fast_samples import Device, seen
from tests.certify.judged import check as one
from tests.certify.samples import changed


class TestControls:
    """A control that stays green voids its check, and so does one that did not run."""

    @pytest.mark.parametrize(
        ("part", "check", "edit"),
        [
            ("memory", "dram-read", ('"dram.read.changed", "compared": 1048576, "wrong": 1', "0")),
            (
                "memory",
                "dram-triad",
                ('"dram.triad.halved", "compared": 1048576, "wrong": 524288', "0"),
            ),
            (
                "memory",
                "dram-copy",
                ('"dram.copy.halved", "compared": 1048576, "wrong": 524288', "0"),
            ),
            (
                "memory",
                "dram-write",
                ('"dram.write.other", "compared": 1048576, "wrong": 1048576', "0"),
            ),
            ("compute", "fma-f32", ('"fma.f32.more", "compared": 1048576, "wrong": 1048576', "0")),
            ("copies", "copies", ('"copy.changed", "compared": 1048576, "wrong": 1', "0")),
            ("compute", "clock", ('"both_ns": 25000000', '"both_ns": 10000000')),
        ],
    )
    def test_what_must_be_noticed_is_not(
        self, part: str, check: str, edit: tuple[str, str]
    ) -> None:
        old, new = edit
        if new == "0":
            new = old[: old.rindex(" ")] + " 0"
        found = checks(edited(seen(), part, (old, new)))[check]
        assert (found.verdict, found.blame) == ("void", "suite")
        assert "stayed green" in found.reason

    @pytest.mark.parametrize(
        ("check", "part", "words"),
        [
            ("fma-f32", "compute", ("fma.f32.half", "fma.f32.more")),
            ("clock", "compute", ("spins",)),
            ("dram-triad", "memory", ("dram.chase", "dram.triad.halved")),
            ("l2-read", "memory", ("l2.read.far",)),
            ("copies", "copies", ("copy.changed", "copy.to.small")),
            ("launch", "latency", ("launch.spun",)),
            ("graph", "latency", ("graph.apart",)),
            ("codegen-fma", "codegen", ("codegen.fma.half",)),
        ],
    )
    def test_none_that_ran_is_void(self, check: str, part: str, words: tuple[str, ...]) -> None:
        now = seen()
        for word in words:
            now = lines_without(now, part, word)
        assert verdicts(now)[check] == "void"

    def test_speed_that_does_not_depend_on_the_sms(self) -> None:
        # The same work on half of them, in the same time.
        made = Device(noise=0.0)
        ten, five = (f'"us": [{t}, ' for t in ("10000.0", "5000.0"))
        now = edited(
            seen(made), "compute", (ten, five), (f"{10000 * made.mhz}", f"{5000 * made.mhz}")
        )
        assert verdicts(now)["fma-f32"] == "void"


class TestData:
    """A result that is wrong or was not compared is never a figure."""

    @pytest.mark.parametrize(
        ("part", "name", "check", "blame"),
        [
            ("compute", "fma.f32", "fma-f32", "machine"),
            ("codegen", "codegen.fma", "codegen-fma", "image"),
            ("memory", "dram.triad", "dram-triad", "machine"),
            ("memory", "l2.read", "l2-read", "machine"),
            ("codegen", "codegen.triad", "codegen-triad", "image"),
            ("copies", "copy.to.pinned", "copies", "machine"),
        ],
    )
    def test_it_fails(self, part: str, name: str, check: str, blame: str) -> None:
        data = f'"data", "name": "{name}", "compared": 1048576, "wrong": 0'
        for bad in (data.replace('"wrong": 0', '"wrong": 5'), data.replace("1048576", "0")):
            found = checks(edited(seen(), part, (data, bad)))[check]
            assert (found.verdict, found.blame) == ("fail", blame)


class TestAnswers:
    """Whatever a part prints is a verdict, and one part takes no other with it."""

    @pytest.mark.parametrize(
        ("fields", "verdict", "blame"),
        [
            ({"out": "", "rc": 0}, "inconclusive", "suite"),
            ({"out": "{not json", "rc": 0}, "inconclusive", "suite"),
            ({"out": "", "rc": -1, "signal": 11}, "inconclusive", "machine"),
            ({"out": "", "rc": -1, "timed_out": True, "ms": 25000}, "inconclusive", "machine"),
            ({"out": "", "rc": 127, "err": "probe: not found"}, "skip", "image"),
            ({"out": "", "rc": 0, "cut": True}, "inconclusive", "machine"),
        ],
    )
    def test_a_part_that_says_nothing(
        self, fields: dict[str, object], verdict: str, blame: str
    ) -> None:
        found = checks(changed(seen(), "fast.memory", **fields))
        assert (found["dram-read"].verdict, found["dram-read"].blame) == (verdict, blame)
        assert found["fma-f32"].verdict == "pass"

    @pytest.mark.parametrize(
        "edit",
        [
            lambda text: text.replace(samples.NONCE, "0" * 16),
            lambda text: f"{text}\n{text.splitlines()[-3]}",
            lambda text: text.replace('"uuid": "GPU-1"', '"uuid": "GPU-2"'),
            lambda text: "\n".join(text.splitlines()[:1]),
            lambda text: text.replace('"us": [', '"us": [0, '),
        ],
    )
    def test_a_lie_is_never_a_pass(self, edit: Callable[[str], str]) -> None:
        for part in ("compute", "memory"):
            ran = seen().step(f"fast.{part}")
            assert isinstance(ran, Ran)
            now = changed(seen(), f"fast.{part}", out=edit(ran.out))
            assert exit_code(now) in {4, 8, 9}

    @pytest.mark.parametrize(
        ("name", "series"),
        [
            ("fma.f32", "[]"),
            ("fma.f32", "[17000000]"),
            ("fma.f32", "[17000000, 17000000]"),
            ("fma.f32", "[0, 0, 0, 0, 0, 0, 0]"),
            ("fma.f32", "[-1, -1, -1, -1, -1, -1, -1]"),
            ("fma.f32.half", "[0, 0, 0, 0, 0, 0, 0]"),
        ],
    )
    def test_series_that_cannot_be_are_no_figure(self, name: str, series: str) -> None:
        """Other counts than of the times beside them, and cycles that never went by."""
        ran = seen().step("fast.compute")
        assert ran is not None
        line = rf'("samples", "name": "{re.escape(name)}"[^\n]*"cycles": )\[[^\]]*\]'
        text, n = re.subn(line, rf"\1{series}", ran.out)
        assert n == 1
        found = checks(changed(seen(), "fast.compute", out=text))
        assert found["fma-f32"].verdict == "inconclusive"

    def test_a_device_without_sms_is_no_device(self) -> None:
        ran = seen().step("fast.compute")
        assert ran is not None
        text, n = re.subn(r'("minor": "0", "sms": )132', r"\g<1>0", ran.out)
        assert n == 1
        found = checks(changed(seen(), "fast.compute", out=text))["fma-f32"]
        assert (found.verdict, found.blame) == ("inconclusive", "suite")

    def test_a_control_in_which_no_cycle_went_by_is_none(self) -> None:
        ran = seen().step("fast.compute")
        assert ran is not None
        text, n = re.subn(r'"both_cycles": \d+', '"both_cycles": 0', ran.out)
        assert n == 1
        assert verdicts(changed(seen(), "fast.compute", out=text))["clock"] == "void"

    def test_few_samples_are_no_interval(self) -> None:
        ran = seen().step("fast.memory")
        assert ran is not None
        text = re.sub(r'("us": |"ns": |"cycles": )\[([^,\]]*)[^\]]*\]', r"\1[\2]", ran.out)
        found = checks(changed(seen(), "fast.memory", out=text))["dram-read"]
        assert (found.verdict, found.blame) == ("inconclusive", "suite")
        assert found.reason == "1 samples have no interval"

    @pytest.mark.parametrize("part", ["compute", "memory", "copies"])
    def test_an_answer_without_its_end_is_none(self, part: str) -> None:
        """The program ended with 0 before it had said all."""
        found = verdicts(lines_without(seen(), part, "end"))
        assert "inconclusive" in found.values()
        assert exit_code(lines_without(seen(), part, "end")) == 8

    def test_a_call_that_fails_is_named(self) -> None:
        now = lines_without(seen(), "memory", "dram.read")
        ran = now.step("fast.memory")
        assert ran is not None
        failed = '{"event": "failed", "call": "allocate", "code": 2, "says": "OUT_OF_MEMORY"}'
        found = checks(changed(now, "fast.memory", out=f"{ran.out}\n{failed}"))["dram-read"]
        assert (found.verdict, found.blame) == ("fail", "machine")
        assert "allocate answers 2 OUT_OF_MEMORY" in found.reason

    def test_no_gpu(self) -> None:
        now = seen()
        now = replace(now, choice=replace(now.choice, reason="there is no NVIDIA GPU here"))
        assert exit_code(now) == 4
        assert set(verdicts(replace(now, sessions=())).values()) == {"skip"}

    def test_smoke_comes_first(self) -> None:
        now = seen()
        now = replace(now, sessions=now.sessions[:3])
        found = judge(now, ("fast",))
        assert found.exit == 8
        assert "smoke" in one(found, "fast.clock").reason
