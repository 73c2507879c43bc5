"""Medians with an interval that follows from the order of the samples alone; pure."""

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

# Fewer samples have no interval that holds the median with 95 %.
LEAST = 6


class Spread(NamedTuple):
    """How samples lie; ``low`` and ``high`` hold the true median with 95 %.

    Nothing is assumed of how they are distributed: the chance that the median lies outside is that
    of tossing coins. With fewer than six samples no such interval exists; it is then all of them.
    """

    n: int
    median: float
    low: float
    high: float
    smallest: float
    q1: float
    q3: float
    largest: float


def spread(samples: Sequence[float]) -> Spread:
    """Median, interval and quartiles.

    Raises:
        ValueError: there is no sample.
    """
    ordered = sorted(samples)
    n = len(ordered)
    if not n:
        msg = "no samples"
        raise ValueError(msg)
    rank = _rank(n)
    return Spread(
        n=n,
        median=_quantile(ordered, 0.5),
        low=ordered[rank],
        high=ordered[n - 1 - rank],
        smallest=ordered[0],
        q1=_quantile(ordered, 0.25),
        q3=_quantile(ordered, 0.75),
        largest=ordered[-1],
    )


def _rank(n: int) -> int:
    """The largest rank r, from 0, with P(binomial(n, 1/2) <= r) <= 2.5 %; at least 0."""
    tail, rank = 0, -1
    while True:
        tail += comb(n, rank + 1)
        if tail > 0.025 * 2**n:
            return max(rank, 0)
        rank += 1


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between neighbours, as most tools do it."""
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)
