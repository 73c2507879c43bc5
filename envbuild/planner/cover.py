"""The fewest sets that cover all elements: exact, with nothing known of what they stand for.

A set is a bit mask; bit ``i`` stands for element ``i``.
"""

from collections.abc import Callable, Iterable, Sequence

from envbuild.planner.table import bits


def largest(sets: Iterable[int]) -> tuple[int, ...]:
    """The sets that are in no other, by their first elements."""
    kept: list[int] = []
    for one in sorted(set(sets), key=lambda mask: (-mask.bit_count(), bits(mask))):
        if not any(one | other == other for other in kept):
            kept.append(one)
    return tuple(sorted(kept, key=bits))


def parts(whole: int, groups: Sequence[int], serves: Callable[[int], bool]) -> tuple[int, ...]:
    """The largest unions of groups, inside a set, that still serve.

    Args:
        whole: the set.
        groups: elements of which all or none are in such a union.
        serves: false for every set that holds one for which it is false.
    """
    if serves(whole):
        return (whole,)
    inside = [group & whole for group in groups if group & whole]
    found: list[int] = []

    def grow(union: int, left: Sequence[int]) -> None:
        open_ = [group for group in left if serves(union | group)]
        if not open_:
            found.append(union)
        for i, group in enumerate(open_):
            rest = union
            for later in open_[i:]:
                rest |= later
            if not any(rest | known == known for known in found):
                grow(union | group, open_[i + 1 :])

    grow(0, inside)
    return largest(found)


def fewest(sets: Sequence[int], every: int) -> tuple[int, ...]:
    """As few of these sets as cover ``every`` element; of several such choices, the first found.

    The smallest number is tried first, so that the first cover is a minimum. Each step covers the
    element that the fewest sets hold, and ends where even disjoint needs ask for more sets.
    """
    for size in range(len(sets) + 1):
        found = _of_size(tuple(sets), every, size)
        if found is not None:
            return tuple(next(one for one in sets if part | one == one) for part in found)
    return ()


def _of_size(sets: tuple[int, ...], left: int, size: int) -> tuple[int, ...] | None:
    if not left:
        return ()
    holding = {i: [one for one in sets if one >> i & 1] for i in bits(left)}
    if _at_least(holding) > size:
        return None
    rarest = min(holding, key=lambda i: len(holding[i]))
    for one in holding[rarest]:
        # What a chosen set covers is of no more use in the others: equal rests are one.
        rest = largest(other & left & ~one for other in sets)
        found = _of_size(rest, left & ~one, size - 1)
        if found is not None:
            return (one, *found)
    return None


def _at_least(holding: dict[int, list[int]]) -> int:
    """Elements of which no set holds two: each needs a set of its own."""
    count, near = 0, 0
    for i in sorted(holding, key=lambda i: len(holding[i])):
        if not near >> i & 1:
            count += 1
            for one in holding[i]:
                near |= one
    return count
