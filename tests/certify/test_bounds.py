"""The bounds are wide enough for honest rounding, and too narrow for a type that is too short."""

import numpy as np
import pytest
from numpy.typing import NDArray

from envbuild.certify.suites.bounds import of_sums
from envbuild.certify.suites.frameworks import Said

M, N, K = 64, 64, 128
RANDOM = np.random.default_rng(7)
A, B = RANDOM.uniform(-1, 1, (M, K)), RANDOM.uniform(-1, 1, (K, N))


def cut(x: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    """Values with this many significant bits."""
    mantissa, exponent = np.frexp(x)
    cut_off: NDArray[np.float64] = np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits)
    return cut_off


def error(got: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float((abs(got - a @ b) / (abs(a) @ abs(b))).max())


def one_by_one(a: NDArray[np.float64], b: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    """The product with a sum that keeps only so many bits after each term."""
    total = np.zeros((M, N))
    for k in range(K):
        total = cut(total + np.outer(a[:, k], b[k]), bits)
    return total


# Significant bits: of operands, of what is stored, and of the next type that is shorter.
@pytest.mark.parametrize(
    ("name", "operands", "stored", "shorter"),
    [("f32", 24, 24, 11), ("tf32", 11, 24, 4), ("f16", 11, 11, 4), ("bf16", 8, 8, 3)],
)
def test_a_bound_takes_its_own_type_and_not_the_next_shorter(
    name: str, operands: int, stored: int, shorter: int
) -> None:
    limit = of_sums(K)(Said(event="near", name=name))
    a, b = (x if name == "tf32" else cut(x, operands) for x in (A, B))
    product = one_by_one(cut(a, operands), cut(b, operands), 24)
    assert error(cut(product, stored), a, b) <= limit
    assert error(cut(a, shorter) @ cut(b, shorter), a, b) > limit


def test_f64_is_told_from_f32() -> None:
    limit = of_sums(K)(Said(event="near", name="f64"))
    assert error(A @ B, A, B) <= limit
    assert error((A.astype(np.float32) @ B.astype(np.float32)).astype(np.float64), A, B) > limit


def test_what_is_no_dtype_has_no_room() -> None:
    assert of_sums(K)(Said(event="near", name="f99")) == 0
