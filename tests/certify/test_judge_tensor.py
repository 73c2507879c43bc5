"""Tensor cores and the image's cuBLAS, judged: well, sick, cut, wrong, and whose fault it is."""

import re

import pytest

from envbuild.certify.judge import judge
from envbuild.certify.seen import Seen
from envbuild.values.certificate import Check
from envbuild.values.codec import replace
from tests.certify import samples
from tests.certify.fast_samples import TENSOR, Device, seen
from tests.certify.samples import changed

HEALTHY = Device()
TYPES = tuple(name for name, _, _ in TENSOR)
BLAS = ("bf16", "f16", "tf32", "f32", "f64", "f8")


def known(device: Device) -> Seen:
    """The same as a product that rows name."""
    now = seen(device)
    return replace(now, card=replace(now.card, brand="tesla"))


def checks(now: Seen) -> dict[str, Check]:
    suite = next(s for s in judge(now, ("fast",)).suites if s.name == "fast")
    found = {c.id.removeprefix("fast."): c for c in suite.checks}
    return {name: c for name, c in found.items() if name.startswith(("tensor", "cublas"))}


def edited(now: Seen, part: str, *edits: tuple[str, str]) -> Seen:
    return samples.smoke(now, *edits, step=f"fast.{part}")


def without(now: Seen, part: str, word: str) -> Seen:
    """The same without the lines of one part that hold a word."""
    ran = now.step(f"fast.{part}")
    assert ran is not None
    kept = [line for line in ran.out.splitlines() if word not in line]
    assert len(kept) < len(ran.out.splitlines()), word
    return changed(now, f"fast.{part}", out="\n".join(kept))


def test_a_healthy_device() -> None:
    found = checks(seen())
    assert set(found) == {f"tensor-{n}" for n in TYPES} | {f"cublas-{n}" for n in BLAS}
    assert {name: c.reason for name, c in found.items() if c.verdict != "pass"} == {}
    assert all(k.red for c in found.values() for k in c.controls)
    assert not any(c.core for c in found.values())
    assert judge(seen(), ("fast",)).exit == 0


def test_what_people_read() -> None:
    measure = checks(seen())["cublas-bf16"].measure
    assert measure is not None
    assert measure.shown == "963 TFLOP/s bf16"
    assert (measure.dtype, measure.owner, measure.limit) == ("bf16", "image", 4096)
    assert measure.intensity == pytest.approx(2 * 8192 / 6)
    inputs = checks(seen())["cublas-bf16"].inputs
    assert inputs.get("cuBLAS") == "13.1.0"
    assert inputs.get("size") == "8192 x 8192 x 8192"
    s8 = checks(seen())["tensor-s8"].measure
    assert s8 is not None
    assert (s8.unit, s8.shown.split()[1]) == ("OP/SM/clock", "TOP/s")


class TestTensorCores:
    """The machine's, whatever is in the image."""

    @pytest.mark.parametrize("field", ['"work": ', '"us": ['])
    def test_what_was_measured_amiss_is_not_said_to_be_impossible(self, field: str) -> None:
        """A part with odd samples of a type is no card that lacks the type: that is a skip."""
        ran = seen().step("fast.tensor")
        assert ran is not None
        line = rf'("samples", "name": "tensor.f16"[^\n]*?{re.escape(field)})'
        text, n = re.subn(line, r"\1-", ran.out)
        assert n == 1
        found = checks(changed(seen(), "fast.tensor", out=text))["tensor-f16"]
        assert (found.verdict, found.blame) == ("inconclusive", "suite")

    def test_slow(self) -> None:
        found = checks(known(HEALTHY._replace(tensor=0.4)))["tensor-f16"]
        assert (found.verdict, found.blame) == ("fail", "machine")

    @pytest.mark.parametrize("share", [0.5, 0.25])
    def test_a_product_that_no_row_names_may_be_cut(self, share: float) -> None:
        device = HEALTHY._replace(tensor=0.66 * share)
        found = checks(seen(device))["tensor-bf16"]
        assert found.verdict == "pass"
        assert found.inputs.get("product") == f"cut to {share:g} of the rate"
        assert checks(known(device))["tensor-bf16"].verdict == "fail"

    def test_more_than_there_can_be(self) -> None:
        assert checks(seen(HEALTHY._replace(tensor=1.05)))["tensor-f16"].verdict == "void"

    def test_a_sum_that_missed_a_step(self) -> None:
        edit = ('"name": "tensor.tf32", "compared": 1048576, "wrong": 0', '"wrong": 7')
        now = edited(seen(), "tensor", (edit[0], edit[0].replace('"wrong": 0', edit[1])))
        found = checks(now)["tensor-tf32"]
        assert (found.verdict, found.blame) == ("fail", "machine")

    def test_half_the_sms_that_do_all_the_work(self) -> None:
        now = edited(seen(), "tensor", ('"tensor.f16.half"', '"x"'))
        now = edited(now, "tensor", ('"name": "tensor.bf16"', '"name": "tensor.f16.half"'))
        assert checks(now)["tensor-f16"].verdict == "void"

    def test_a_control_that_did_not_run(self) -> None:
        now = without(seen(), "tensor", "tensor.f16.more")
        assert checks(now)["tensor-f16"].verdict == "inconclusive"

    def test_a_type_that_the_device_has_not(self) -> None:
        now = without(seen(), "tensor", "tensor.f8")
        found = checks(now)["tensor-f8"]
        assert (found.verdict, found.blame) == ("skip", None)
        assert judge(now, ("fast",)).exit == 0

    def test_a_card_without_tensor_cores_is_not_asked(self) -> None:
        now = seen()
        now = replace(now, card=replace(now.card, tensor_cores=False))
        assert {checks(now)[f"tensor-{name}"].verdict for name in TYPES} == {"skip"}

    def test_a_rate_that_no_row_has(self) -> None:
        now = seen()
        now = replace(now, card=replace(now.card, rates=()))
        assert checks(now)["tensor-f16"].verdict == "inconclusive"


class TestCublas:
    """The image's, where the machine is shown to be well."""

    def test_slow_beside_tensor_cores_that_are_well(self) -> None:
        now = seen(HEALTHY._replace(blas=0.5))
        found = checks(now)["cublas-bf16"]
        assert (found.verdict, found.blame) == ("fail", "image")
        assert judge(now, ("fast",)).exit == 6

    def test_slow_beside_tensor_cores_that_are_slow_too(self) -> None:
        found = checks(known(HEALTHY._replace(blas=0.5, tensor=0.4)))["cublas-bf16"]
        assert (found.verdict, found.blame) == ("fail", "machine")

    def test_f32_is_held_to_multiply_adds(self) -> None:
        assert checks(seen(HEALTHY._replace(blas_f32=0.6)))["cublas-f32"].blame == "image"
        sick = HEALTHY._replace(blas_f32=0.6, fma=0.5)
        assert checks(seen(sick))["cublas-f32"].blame == "machine"

    def test_wrong(self) -> None:
        line = '"name": "cublas.f64", "compared": 24576, "wrong": 0'
        now = edited(seen(), "cublas", (line, line.replace('"wrong": 0', '"wrong": 3')))
        found = checks(now)["cublas-f64"]
        assert (found.verdict, found.blame) == ("fail", "image")
        assert "3 of 24576" in found.reason

    @pytest.mark.parametrize(
        ("dtype", "which", "found"),
        [("bf16", "perturbed", 3), ("tf32", "narrow", 16384)],
    )
    def test_what_must_be_noticed(self, dtype: str, which: str, found: int) -> None:
        line = f'"name": "cublas.{dtype}.{which}", "compared": 24576, "wrong": {found}'
        blind = line.replace(f'"wrong": {found}', '"wrong": 0')
        now = edited(seen(), "cublas", (line, blind))
        assert checks(now)[f"cublas-{dtype}"].verdict == "void"

    def test_a_clock_that_does_not_see_twice_the_work(self) -> None:
        now = without(seen(), "cublas", '"cublas.f16.twice"')
        now = edited(now, "cublas", ('"cublas.bf16.twice"', '"cublas.f16.twice"'))
        assert checks(now)["cublas-bf16"].verdict == "inconclusive"
        swapped = edited(seen(), "cublas", ('"cublas.f16"', '"x"'))
        swapped = edited(swapped, "cublas", ('"cublas.f16.twice"', '"cublas.f16"'))
        assert checks(swapped)["cublas-f16"].verdict != "pass"

    def test_tensor_cores_that_make_no_difference(self) -> None:
        now = without(seen(), "cublas", '"cublas.bf16.pedantic"')
        now = edited(now, "cublas", ('"cublas.f16"', '"cublas.bf16.pedantic"'))
        found = checks(now)["cublas-bf16"]
        assert (found.verdict, found.blame) == ("void", "suite")

    def test_no_cublas(self) -> None:
        now = without(seen(), "cublas", '"cublas.')
        now = edited(now, "cublas", ("/usr/local/cuda/lib64/libcublas.so.13.1.0", ""))
        assert {checks(now)[f"cublas-{name}"].verdict for name in BLAS} == {"skip"}
        assert judge(now, ("fast",)).exit == 0

    def test_a_type_that_it_refuses(self) -> None:
        ran = seen().step("fast.cublas")
        assert ran is not None
        kept = [line for line in ran.out.splitlines() if "cublas.f8" not in line]
        kept.insert(-1, '{"event": "refused", "name": "cublas.f8", "code": 15}')
        now = changed(seen(), "fast.cublas", out="\n".join(kept))
        found = checks(now)["cublas-f8"]
        assert (found.verdict, found.blame) == ("fail", "image")
        # Where the capability has no such type, a refusal is the right answer.
        rates = tuple(rate for rate in now.card.rates if rate.dtype != "f8")
        now = replace(now, card=replace(now.card, rates=rates))
        assert checks(now)["cublas-f8"].verdict == "skip"

    def test_a_type_that_it_does_by_other_means(self) -> None:
        """As cuBLAS does bf16 on Turing: right, and with no rate to hold it to."""
        now = seen()
        rates = tuple(rate for rate in now.card.rates if rate.dtype != "bf16")
        now = replace(now, card=replace(now.card, rates=rates))
        found = checks(now)["cublas-bf16"]
        assert (found.verdict, found.measure is not None) == ("skip", True)
