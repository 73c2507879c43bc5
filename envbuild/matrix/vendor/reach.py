"""Which capabilities the device code of libraries reaches."""

from collections.abc import Iterable, Sequence

from envbuild.matrix.vendor.fatbin import Library
from envbuild.matrix.vendor.wheel import WheelFacts

Counted = tuple[tuple[str, int], ...]


def general(counted: Counted, fatbins: int) -> tuple[str, ...]:
    """Targets that at least half of a library's fatbins hold.

    A framework compiles nearly all its sources for one list of targets; a few sources are made
    for targets of their own (``90a``) and do not let the library run there.
    """
    return tuple(target for target, count in counted if 2 * count >= fatbins)


def special(counted: Counted, fatbins: int) -> tuple[str, ...]:
    """The others: targets of a few kernels."""
    return tuple(target for target, count in counted if 2 * count < fatbins)


def floor(libraries: Iterable[Library]) -> str | None:
    """The lowest capability for which every library with device code has machine code.

    ``7.5``; None where no library has device code, or none is reached by all.
    """
    coded = [library for library in libraries if library.sass]
    numbers = {int(target.rstrip("af")) for library in coded for target, _ in library.sass}
    for number in sorted(numbers):
        if all(any(_runs(target, number) for target, _ in one.sass) for one in coded):
            return f"{number // 10}.{number % 10}"
    return None


def _runs(target: str, number: int) -> bool:
    """Whether code of a target runs on a capability: same major, lower or equal minor."""
    least = int(target.rstrip("af"))
    if target.endswith("a"):
        return least == number
    return least // 10 == number // 10 and least <= number


def glibc(wheels: Sequence[WheelFacts]) -> str | None:
    """The oldest C library that wheels run on: what their tags promise, or their libraries ask for.

    A tag may promise too much (torch up to 2.6 is tagged for 2.5 and asks for 2.17).
    """
    named = [wheel.glibc for wheel in wheels]
    named += [library.glibc for wheel in wheels for library in wheel.libraries]
    found = [version for version in named if version]
    return max(found, key=lambda version: int(version.partition(".")[2]), default=None)
