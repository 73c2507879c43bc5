"""The lowest compute capability that packages in the image take, from their rows."""

from collections.abc import Iterator, Mapping

from envbuild.errors import InputError
from envbuild.matrix.model import Matrices
from envbuild.planner.ranges import numbers
from envbuild.values.codec import Value

COMPILE = "torch.compile"
_TRITONS = ("triton", "pytorch-triton")


class Floor(Value):
    """A package, or a part of one, and the lowest cc that it takes."""

    package: str
    cc: str
    source: str


def floors(matrices: Matrices, packages: Mapping[str, str]) -> tuple[Floor, ...]:
    """The floors of what is installed; nothing for what no row names.

    Args:
        matrices: the rows.
        packages: distributions of the image, with versions.
    """
    return (*_compile(matrices, packages), *_named(matrices, packages))


def above(found: tuple[Floor, ...], package: str, cc: str) -> Floor | None:
    """The floor of a package that lies above a device of this cc; None = none is known to."""
    floor = next((one for one in found if one.package == package), None)
    return floor if floor and cc and numbers(cc) < numbers(floor.cc) else None


def _compile(matrices: Matrices, packages: Mapping[str, str]) -> Iterator[Floor]:
    """What Inductor asks of a device, by the Triton that it compiles with."""
    text = next((packages[name] for name in _TRITONS if name in packages), None)
    try:
        version = numbers(text.partition("+")[0]) if text else None
    except InputError:
        return
    rows = [row for row in matrices.triton if version and numbers(row.triton) <= version]
    if rows:
        row = max(rows, key=lambda one: numbers(one.triton))
        yield Floor(
            package=COMPILE, cc=row.inductor_min, source=f"triton/{row.triton} {row.status}"
        )


def _named(matrices: Matrices, packages: Mapping[str, str]) -> Iterator[Floor]:
    """The lowest that any row of a distribution allows."""
    for name in packages:
        rows = [row for row in matrices.packages if row.requirement.partition("[")[0] == name]
        known = [(row.cc_min, row) for row in rows if row.cc_min]
        if known:
            cc, row = min(known, key=lambda pair: numbers(pair[0]))
            yield Floor(package=name, cc=cc, source=f"packages/{row.name} {row.status}")
