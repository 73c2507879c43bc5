"""Arithmetic rates against what the vendor prints of whole cards: SMs, clock and TFLOPS."""

import pytest

from envbuild.matrix.load import load, load_names, load_reference
from envbuild.matrix.model.reference import Rate

RATES: dict[tuple[str, str, str, str], Rate] = {
    (row.cc, row.unit, row.dtype, row.accumulate): row for row in load_reference().rates
}
BRANDS = {row.name: row.brand for row in load_names().products}


def of(cc: str, what: str) -> Rate:
    """The row of ``fma f32`` or ``tensor f16 f32``: unit, type, accumulator."""
    unit, dtype, accumulate = (*what.split(), "")[:3]
    return RATES[cc, unit, dtype, accumulate]


# Product, cc, SMs, GHz, what, TFLOPS as in the vendor's white papers and data sheets (dense).
CARDS = [
    ("Tesla V100", "7.0", 80, 1.53, "tensor f16 f32", 125),
    ("Tesla V100", "7.0", 80, 1.53, "fma f32", 15.7),
    ("Tesla V100", "7.0", 80, 1.53, "fma f64", 7.8),
    ("Tesla V100", "7.0", 80, 1.53, "fma f16", 31.4),
    ("GeForce RTX 2080 Ti", "7.5", 68, 1.545, "tensor f16 f16", 107.6),
    ("GeForce RTX 2080 Ti", "7.5", 68, 1.545, "tensor f16 f32", 53.8),
    ("GeForce RTX 2080 Ti", "7.5", 68, 1.545, "tensor s8", 215.2),
    ("Quadro RTX 6000", "7.5", 72, 1.77, "tensor f16 f32", 130.5),
    ("A100", "8.0", 108, 1.41, "tensor f16 f32", 312),
    ("A100", "8.0", 108, 1.41, "tensor tf32 f32", 156),
    ("A100", "8.0", 108, 1.41, "tensor s8", 624),
    ("A100", "8.0", 108, 1.41, "tensor f64", 19.5),
    ("A100", "8.0", 108, 1.41, "fma f16", 78),
    ("A100", "8.0", 108, 1.41, "fma f64", 9.7),
    ("GeForce RTX 3090", "8.6", 82, 1.695, "tensor f16 f16", 142),
    ("GeForce RTX 3090", "8.6", 82, 1.695, "tensor f16 f32", 71),
    ("GeForce RTX 3090", "8.6", 82, 1.695, "tensor s8", 284),
    ("GeForce RTX 3090", "8.6", 82, 1.695, "fma f32", 35.6),
    ("RTX A6000", "8.6", 84, 1.8, "tensor bf16 f32", 154.8),
    ("GeForce RTX 4090", "8.9", 128, 2.52, "tensor f16 f16", 330.3),
    ("GeForce RTX 4090", "8.9", 128, 2.52, "tensor bf16 f32", 165.2),
    ("GeForce RTX 4090", "8.9", 128, 2.52, "tensor f8 f16", 660.6),
    ("GeForce RTX 4090", "8.9", 128, 2.52, "tensor f8 f32", 330.3),
    ("GeForce RTX 4090", "8.9", 128, 2.52, "fma f32", 82.6),
    ("RTX 6000 Ada", "8.9", 142, 2.505, "tensor f16 f32", 364.2),
    ("H100", "9.0", 132, 1.83, "tensor bf16 f32", 989),
    ("H100", "9.0", 132, 1.98, "tensor f64", 67),
    ("H100", "9.0", 132, 1.98, "fma f32", 67),
    ("GeForce RTX 5090", "12.0", 170, 2.407, "tensor f16 f16", 419),
    ("GeForce RTX 5090", "12.0", 170, 2.407, "tensor f16 f32", 209.5),
    ("GeForce RTX 5090", "12.0", 170, 2.407, "tensor f4 f32", 1676),
    ("GeForce RTX 5090", "12.0", 170, 2.407, "fma f32", 104.8),
    ("RTX PRO 6000 Blackwell", "12.0", 188, 2.617, "tensor f16 f32", 503.8),
]


@pytest.mark.parametrize(("name", "cc", "sms", "ghz", "what", "tflops"), CARDS)
def test_a_whole_card(name: str, cc: str, sms: int, ghz: float, what: str, tflops: float) -> None:
    row = of(cc, what)
    halved = any(brand in row.half_on for brand in [BRANDS.get(name, "")])
    rate = row.per_sm_clock / (2 if halved else 1)
    assert sms * ghz * rate / 1000 == pytest.approx(tflops, rel=0.015)


def test_double_precision_is_as_far_below_single_as_the_limits_say() -> None:
    ratios = {row.cc: row.fp64 for row in load_reference().limits}
    both = [cc for cc, unit, dtype, _ in RATES if (unit, dtype) == ("fma", "f64")]
    assert len(both) == 20
    for cc in both:
        times = of(cc, "fma f32").per_sm_clock // of(cc, "fma f64").per_sm_clock
        assert ratios[cc] == f"1:{times}", cc


def test_a_rate_is_of_one_capability_alone() -> None:
    assert of("6.0", "fma f16").per_sm_clock == 64 * of("6.1", "fma f16").per_sm_clock
    assert of("10.0", "fma f64").per_sm_clock == 32 * of("10.3", "fma f64").per_sm_clock
    having = {row.cc for row in RATES.values()}
    assert having <= {row.cc for row in load().capabilities}
    # Nobody has published them, and no neighbour stands in.
    assert not having & {"7.2", "8.8", "10.7", "11.0"}
    assert not {"8.7", "10.3", "12.1"} & {row.cc for row in RATES.values() if row.unit == "tensor"}


def test_brands_that_run_at_half_are_brands_of_products() -> None:
    halved = {brand for row in RATES.values() for brand in row.half_on}
    assert halved == {"geforce", "geforcertx"}
    assert halved <= set(BRANDS.values())
    # Only a tensor rate with a wide sum is halved on any.
    assert {(r.unit, r.accumulate) for r in RATES.values() if r.half_on} == {("tensor", "f32")}


def test_cards_without_tensor_cores_have_no_tensor_rate() -> None:
    cores = {c.cc for c in load().capabilities if "tensor-cores" in c.features}
    assert {row.cc for row in RATES.values() if row.unit == "tensor"} <= cores
