"""What several answers need."""

from collections.abc import Iterable

from envbuild.matrix.load import load
from envbuild.matrix.model import Capability, TorchBuild
from envbuild.matrix.show import span
from envbuild.planner.gencode import runs_on
from envbuild.planner.ranges import numbers
from envbuild.planner.table import Table, table_of


def table() -> Table:
    """The matrices with their look-ups."""
    return table_of(load())


def capability(cc: str) -> Capability:
    """The row of a cc that `names.cc_of` gave."""
    return table().capabilities[cc]


def ordered(versions: Iterable[str]) -> list[str]:
    """Versions, each once, oldest first."""
    return sorted(set(versions), key=numbers)


def toolkits(some: Iterable[str]) -> str:
    """Toolkits as runs: ``10.2, 11.4, 11.7-12.9``."""
    return span(some, ordered(row.cuda for row in load().toolkits))


def serving(build: TorchBuild, cc: str) -> list[str]:
    """The targets of a build whose code runs on this cc; empty = none does."""
    row = capability(cc)
    return [target for target in build.targets if runs_on(target, row, table())]


def words(parts: Iterable[object]) -> str:
    """The parts that are there, with commas between them."""
    return ", ".join(str(part) for part in parts if part)


def least(version: str | None) -> str:
    """``1.18.0 or newer: `` before a sentence; empty where no version is known."""
    return f"{version} or newer: " if version else ""
