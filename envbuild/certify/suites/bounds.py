"""How far a sum of products may lie from its exact value, by dtype; from rounding alone.

In units of the sum of |products|: each term rounds once when it is added (``add``), operands once
where they are shortened (``operands``), the result once when it is stored (``store``).
"""

from typing import NamedTuple

from envbuild.certify.suites.frameworks import Bound, Said

FORMULA = "operands + store + terms * add, in units of the sum of |a * b|"


class Rounding(NamedTuple):
    """Unit roundoffs of one dtype's arithmetic."""

    operands: float
    store: float
    add: float


# Tensor cores add in f32 and cut off where they align: 2^-22 instead of 2^-24.
ROUNDING = {
    "f64": Rounding(0.0, 2.0**-53, 2.0**-53),
    "f32": Rounding(0.0, 2.0**-24, 2.0**-24),
    "tf32": Rounding(2 * 2.0**-10, 2.0**-24, 2.0**-22),
    "f16": Rounding(0.0, 2.0**-11, 2.0**-22),
    "bf16": Rounding(0.0, 2.0**-8, 2.0**-22),
}


def of_sums(terms: int, times: float = 1.0) -> Bound:
    """The bounds of sums of so many products, by the dtype that a result is called as.

    A name that is no dtype has the bound 0: nothing unknown passes.
    """

    def bound(s: Said) -> float:
        one = ROUNDING.get(s.name)
        return times * (one.operands + one.store + terms * one.add) if one else 0.0

    return bound


def of_f32(roundings: int) -> Bound:
    """The relative bound of positive terms in f32 that are rounded so many times."""
    return lambda _: roundings * ROUNDING["f32"].add
