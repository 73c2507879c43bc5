"""Suite `correct` judged on what one H200 printed, as it was and with one thing changed."""

from pathlib import Path

import pytest

from envbuild.certify.judge import judge
from envbuild.certify.seen import Choice, Ran, Seen, Session
from envbuild.certify.suites.correct.formats import FORMATS
from envbuild.values.certificate import Check
from envbuild.values.codec import replace
from envbuild.values.host import Gpu
from tests.certify import samples
from tests.certify.samples import changed

TEXT = Path(__file__).with_name("recorded").joinpath("h200-correct.txt").read_text()
FILES = ("correct", "tensor8")


def seen(text: str = TEXT, *, own: bool = True) -> Seen:
    """A devel image that came through `smoke`, and this answer; else a runtime stage."""
    now = samples.seen("toolchain", "smoke", "correct")
    now = now if own else samples.runtime(now)
    compiled = tuple(Ran(step=f"correct.compile.{file}", rc=0) for file in FILES)
    sessions = [Session(name="correct.compile", rc=0, steps=compiled)] if own else []
    sessions.append(Session(name="correct", rc=0, steps=(Ran(step="correct", rc=0, out=text),)))
    return replace(now, sessions=(*now.sessions, *sessions))


def checks(now: Seen) -> dict[str, Check]:
    suite = next(s for s in judge(now, ("correct",)).suites if s.name == "correct")
    return {c.id.removeprefix("correct."): c for c in suite.checks}


def edited(old: str, new: str, *, reference: str = "") -> Seen:
    """The answer with one text replaced; ``reference`` is what the prebuilt code answered."""
    assert old in TEXT, old
    now = seen(TEXT.replace(old, new))
    if not reference:
        return now
    ran = Ran(step="correct.reference", rc=0, out=reference)
    return replace(
        now, sessions=(*now.sessions, Session(name="correct.reference", rc=0, steps=(ran,)))
    )


def wrong(name: str, which: str) -> tuple[str, str]:
    """A replacement that makes one result of a format wrong."""
    start = f'"name":"{name}","which":"{which}","compared":32768,'
    return f'{start}"wrong":0', f'{start}"wrong":1'


def test_an_h200_is_right() -> None:
    for own in (True, False):
        found = checks(seen(own=own))
        passed = {name for name, check in found.items() if check.verdict == "pass"}
        asked = {form.name.replace("_", "-") for form in FORMATS if form.since <= 90}
        assert passed == asked | {"atomics", "launches"}
        assert all(control.red for name in passed for control in found[name].controls)
        assert found["tensor-f16"].inputs.get("code") == ("image" if own else "prebuilt")
        assert judge(seen(own=own), ("correct",)).exit == 0


def test_the_bound_is_in_the_certificate() -> None:
    check = checks(seen())["tensor-tf32"]
    assert "g = 2 * 2^-11 + 64 * 2^-22" in check.formula
    assert check.value == "0.18"
    assert check.inputs.get("largest error") == "1.8e-04 of sum|a*b|"


@pytest.mark.parametrize("which", ["integers", "reals"])
@pytest.mark.parametrize(("reference", "blame", "code"), [("", "machine", 4), (TEXT, "image", 6)])
def test_whose_fault_a_wrong_result_is(which: str, reference: str, blame: str, code: int) -> None:
    now = edited(*wrong("tensor_bf16", which), reference=reference)
    check = checks(now)["tensor-bf16"]
    assert (check.verdict, check.blame) == ("fail", blame)
    assert f"1 of 32768 products of {which} are wrong" in check.reason
    assert judge(now, ("correct",)).exit == code


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        # Each control, green.
        ('"name":"plain_f32","which":"planted","compared":32768,"wrong":3',
         '"name":"plain_f32","which":"planted","compared":32768,"wrong":2', "void"),
        ('"name":"plain_f32","which":"operand","compared":32768,"wrong":103',
         '"name":"plain_f32","which":"operand","compared":32768,"wrong":0', "void"),
        ('"name":"plain_f32","which":"zeros","compared":32768,"wrong":32398',
         '"name":"plain_f32","which":"zeros","compared":32768,"wrong":398', "void"),
        ('"name":"plain_f32","which":"stride","compared":32768,"wrong":32485',
         '"name":"plain_f32","which":"stride","compared":32768,"wrong":16384', "void"),
        # Left out, said twice, of fewer results.
        ('"name":"plain_f32","which":"stride"', '"name":"x","which":"stride"', "inconclusive"),
        ('"name":"plain_f32","which":"reals"', '"name":"x","which":"reals"', "inconclusive"),
        ('"name":"plain_f64","which":"reals"', '"name":"plain_f32","which":"reals"',
         "inconclusive"),
        ('"name":"plain_f32","which":"reals","compared":32768',
         '"name":"plain_f32","which":"reals","compared":32767', "inconclusive"),
    ],
)  # fmt: skip
def test_an_answer_that_proves_nothing(old: str, new: str, verdict: str) -> None:
    assert checks(edited(old, new))["plain-f32"].verdict == verdict


def test_tf32_that_is_as_exact_as_f32_is_not_tf32() -> None:
    narrow = '"which":"narrow","compared":32768,"wrong":'
    check = checks(edited(f"{narrow}30501", f"{narrow}0"))["tensor-tf32"]
    assert (check.verdict, check.blame) == ("void", "suite")


@pytest.mark.parametrize(
    ("check", "old", "new", "verdict"),
    [
        ("atomics", '"which":"shared f32","compared":257,"wrong":0',
         '"which":"shared f32","compared":257,"wrong":1', "fail"),
        ("atomics", '"which":"plain","compared":257,"wrong":257',
         '"which":"plain","compared":257,"wrong":0', "void"),
        ("atomics", '"which":"global i32"', '"which":"global"', "inconclusive"),
        ("launches", '"which":"no block","answer":1', '"which":"no block","answer":0', "fail"),
        ("launches", '"which":"no block","answer":1', '"which":"no block","answer":9', "pass"),
        ("launches", '"which":"no block","answer":1', '"which":"no block","answer":2', "fail"),
        ("launches", '"answer":0,"right":1', '"answer":0,"right":0', "fail"),
        ("launches", '"which":"no thread"', '"which":"no"', "inconclusive"),
    ],
)  # fmt: skip
def test_atomics_and_launches(check: str, old: str, new: str, verdict: str) -> None:
    assert checks(edited(old, new))[check].verdict == verdict


def test_a_kernel_that_is_not_there() -> None:
    at = TEXT.index('{"event":"number","name":"tensor_e4m3"')
    failed = '{"event":"failed","call":"module_function","says":"NOT_FOUND","code":500}\n'
    end = '{"event":"end","nonce":"0123456789abcdef","calls":9,"bad":1}\n'
    found = checks(seen(TEXT[:at] + failed + end))
    assert (found["tensor-e4m3"].verdict, found["tensor-e4m3"].blame) == ("fail", "machine")
    assert "module_function answers 500" in found["tensor-e4m3"].reason
    assert found["tensor-e5m2"].verdict == "inconclusive"
    assert found["plain-f64"].verdict == "pass"


class TestNotAsked:
    """What the device, the card or the image's toolkit has not is skipped, and listed."""

    def test_a_card_without_tensor_cores(self) -> None:
        now = seen()
        found = checks(replace(now, card=replace(now.card, tensor_cores=False)))
        tensor = [check for name, check in found.items() if name.startswith("tensor")]
        assert {(check.verdict, check.core) for check in tensor} == {("skip", False)}
        assert found["plain-f16"].verdict == "pass"

    @pytest.mark.parametrize(
        ("cc", "lacking"),
        [
            ("6.1", {"tensor-f16", "tensor-s8", "tensor-f64"}),
            ("5.0", {"plain-f16", "plain-s8", "tensor-f16"}),
            ("7.5", {"tensor-bf16", "tensor-tf32", "tensor-f64", "tensor-e4m3"}),
            ("8.6", {"tensor-e4m3", "tensor-e5m2"}),
            ("10.0", {"tensor-e2m1", "tensor-e3m2"}),
        ],
    )
    def test_a_device_without_the_instruction(self, cc: str, lacking: set[str]) -> None:
        now = seen()
        target = cc.replace(".", "")
        now = replace(
            now,
            terms=replace(now.terms, cc=(cc,), promise=(target,)),
            choice=Choice(gpu=Gpu(cc=cc), access="cdi"),
        )
        found = checks(now)
        assert {found[name].verdict for name in lacking} == {"skip"}
        assert not any(found[name].core for name in lacking)
        assert all(found[name].blame is None for name in lacking)

    def test_a_toolkit_that_cannot_write_it(self) -> None:
        line = "envbuild_pair host gcc 12 2 cuda 12 2 140 end\n"
        now = changed(changed(seen(), "pair", out=line), "pair-anyway", out=line)
        found = checks(now)["tensor-e4m3"]
        assert (found.verdict, found.core) == ("skip", False)
        assert "12.4 is the first that can" in found.reason


def test_a_compiler_that_does_not_make_it() -> None:
    now = changed(seen(), "correct.compile.correct", rc=2, err="error: no such file")
    found = checks(now)
    assert (found["plain-f64"].verdict, found["plain-f64"].blame) == ("fail", "image")
    assert "its compiler does not make correct.cu: error" in found["plain-f64"].reason
    assert found["tensor-e4m3"].verdict == "pass"
    assert judge(now, ("correct",)).exit == 6


@pytest.mark.parametrize(
    ("reference", "verdict", "blame"), [("", "inconclusive", "machine"), (TEXT, "fail", "image")]
)
def test_one_that_dies(reference: str, verdict: str, blame: str) -> None:
    now = changed(edited("x", "x", reference=reference), "correct", rc=-1, signal=11)
    check = checks(now)["atomics"]
    assert (check.verdict, check.blame) == (verdict, blame)


def test_another_device() -> None:
    found = checks(edited('"uuid":"GPU-1"', '"uuid":"GPU-2"'))["plain-f64"]
    assert (found.verdict, found.blame) == ("fail", "machine")
    assert "GPU-1 was chosen, GPU-2 came in" in found.reason


@pytest.mark.parametrize("which", ["integers", "reals"])
@pytest.mark.parametrize("counts", ['0,"unreal":1', '1,"unreal":2', '32769,"unreal":0'])
def test_counts_that_contradict_each_other_are_no_pass(which: str, counts: str) -> None:
    start = f'"name":"plain_f32","which":"{which}","compared":32768,"wrong":'
    check = checks(edited(f'{start}0,"unreal":0', f"{start}{counts}"))["plain-f32"]
    assert (check.verdict, check.blame) == ("inconclusive", "suite")


def test_a_control_that_finds_more_than_it_compared_is_none() -> None:
    start = '"name":"plain_f32","which":"zeros","compared":'
    assert checks(edited(f"{start}32768", f"{start}0"))["plain-f32"].verdict == "void"
