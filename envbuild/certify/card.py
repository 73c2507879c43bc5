"""What rows know of the GPU in use: what its arithmetic can reach, and whether it has all of it."""

from typing import TypeVar

from envbuild.errors import InputError
from envbuild.matrix.model.gpus import Product
from envbuild.values.codec import Value
from envbuild.values.host import Gpu

T = TypeVar("T")


class Rating(Value):
    """What one kind of arithmetic can reach: a physical limit, from a row.

    Attributes:
        unit: ``fma`` or ``tensor``.
        accumulate: type of the sum, where a tensor rate depends on it.
        per_sm_clock: operations an SM and clock; a multiply-add counts as two.
        half: products of this card's brand run it at half that rate.
    """

    unit: str
    dtype: str
    accumulate: str = ""
    per_sm_clock: int
    half: bool = False
    source: str = ""


class Card(Value):
    """The GPU as rows know it; a card that no row names has the rates of its capability.

    Attributes:
        brand: geforce, quadro, tesla ...; empty = not known, or products of one name differ.
        tensor_cores: None = follows from the capability.
    """

    brand: str = ""
    tensor_cores: bool | None = None
    rates: tuple[Rating, ...] = ()

    def rate(self, unit: str, dtype: str, accumulate: str = "") -> Rating | None:
        """The rate of this kind of arithmetic; None = no row, the limit is unknown."""
        wanted = (unit, dtype, accumulate)
        return next((r for r in self.rates if (r.unit, r.dtype, r.accumulate) == wanted), None)


def card_of(gpu: Gpu | None) -> Card:
    """What the installed rows know of a GPU, by its exact capability and its name."""
    if gpu is None or gpu.cc is None:
        return Card()
    from envbuild.matrix.load import load_reference

    rows = _products(gpu)
    brand = _agreed({row.brand for row in rows}) or ""
    rates = tuple(
        Rating(
            unit=row.unit,
            dtype=row.dtype,
            accumulate=row.accumulate,
            per_sm_clock=row.per_sm_clock,
            half=brand in row.half_on,
            source=f"rates/{row.cc} {row.status}",
        )
        for row in load_reference().rates
        if row.cc == gpu.cc
    )
    return Card(brand=brand, tensor_cores=_agreed({row.tensor_cores for row in rows}), rates=rates)


def _products(gpu: Gpu) -> tuple[Product, ...]:
    """The rows that its PCI id, else its name, leads to; of those the ones of its capability."""
    from envbuild.matrix import names

    rows = names.of_pci(gpu.pci_id) if gpu.pci_id else ()
    if not rows and gpu.name:
        try:
            rows = names.product(gpu.name)
        except InputError:
            return ()
    return tuple(row for row in rows if gpu.cc in names.ccs((row,)))


def _agreed(values: set[T]) -> T | None:
    """What all of them say."""
    return next(iter(values)) if len(values) == 1 else None
