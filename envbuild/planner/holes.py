"""Which published holes a release of the container toolkit has."""

from collections.abc import Iterable

from envbuild.matrix.model import Hole
from envbuild.planner.ranges import numbers


def has(hole: Hole, version: str, *, cdi: bool) -> bool:
    """A release has the hole, in CDI mode or in the others."""
    since = hole.cdi_since if cdi else hole.other_since
    return since != "" and numbers(since) <= numbers(version) < numbers(hole.fixed)


def least(holes: Iterable[Hole]) -> str:
    """The first release that has none of them."""
    return max((hole.fixed for hole in holes), key=numbers)
