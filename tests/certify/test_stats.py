"""The interval of the median: it holds what it promises, whatever the samples are."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuild.certify.stats import spread

NUMBERS = st.floats(min_value=1e-3, max_value=1e9)


@pytest.mark.parametrize(("n", "rank"), [(6, 0), (8, 0), (9, 1), (21, 5), (31, 9), (61, 22)])
def test_ranks_are_those_of_the_tables(n: int, rank: int) -> None:
    found = spread(range(n))
    assert (found.low, found.high) == (rank, n - 1 - rank)
    outside = 2 * sum(comb(n, i) for i in range(rank + 1)) / 2**n
    assert outside <= 0.05


def test_one_sample_is_its_own_interval() -> None:
    found = spread([3.0])
    assert (found.n, found.low, found.median, found.high) == (1, 3.0, 3.0, 3.0)


def test_no_sample_is_no_figure() -> None:
    with pytest.raises(ValueError, match="no samples"):
        spread([])


@given(st.lists(NUMBERS, min_size=1, max_size=70))
def test_order(values: list[float]) -> None:
    found = spread(values)
    assert min(values) == found.smallest <= found.q1 <= found.median <= found.q3 <= found.largest
    assert found.smallest <= found.low <= found.high <= found.largest
    assert spread(values[::-1]) == found


def test_one_outlier_moves_nothing() -> None:
    values = [100.0 + i / 10 for i in range(21)]
    assert spread([*values[:-1], 1e9])[:4] == spread(values)[:4]
