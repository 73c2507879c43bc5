"""What rows tell of the GPU in use."""

import pytest

from envbuild.certify.card import Card, card_of
from envbuild.values.host import Gpu


@pytest.mark.parametrize(
    ("gpu", "brand", "tensor_cores"),
    [
        (Gpu(name="NVIDIA H200", cc="9.0"), "tesla", None),
        (Gpu(name="NVIDIA GeForce GTX 1650", cc="7.5"), "geforce", False),
        (Gpu(name="a card of next year", cc="8.9"), "", None),
        (Gpu(name="NVIDIA H200", cc="7.5"), "", None),
    ],
)
def test_the_card_is_known_by_its_name(gpu: Gpu, brand: str, tensor_cores: bool | None) -> None:
    card = card_of(gpu)
    assert (card.brand, card.tensor_cores) == (brand, tensor_cores)
    assert all(rate.source for rate in card.rates)


def test_a_rate_is_of_the_exact_capability() -> None:
    card = card_of(Gpu(name="NVIDIA H200", cc="9.0"))
    bf16, none = card.rate("tensor", "bf16", "f32"), card.rate("tensor", "f4", "f32")
    assert bf16 is not None
    assert (bf16.per_sm_clock, bf16.half) == (4096, False)
    assert none is None
    assert card_of(Gpu(cc="11.0")).rate("fma", "f32") is None


def test_some_brands_run_a_type_at_half() -> None:
    for name, half in (("NVIDIA GeForce RTX 4090", True), ("NVIDIA L4", False)):
        rate = card_of(Gpu(name=name, cc="8.9")).rate("tensor", "f16", "f32")
        assert rate is not None
        assert rate.half is half


def test_no_card_has_no_rates() -> None:
    assert card_of(None) == card_of(Gpu(name="NVIDIA H200")) == Card()
