"""What a note sees: a finished choice."""

import msgspec

from envbuild.matrix.model import Capability
from envbuild.planner.choose import Choice
from envbuild.planner.gencode import Code
from envbuild.planner.table import Table
from envbuild.planner.target import Target
from envbuild.values.finding import Finding, Severity


class Chosen(msgspec.Struct, frozen=True):
    """A plan as the notes see it; ``cc`` is what it serves, ``codes`` what it compiles."""

    table: Table
    target: Target
    choice: Choice
    codes: tuple[Code, ...]
    cc: tuple[str, ...]

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """Rows of the cc; ``--cc all`` may name targets that have none."""
        known = self.table.capabilities
        return tuple(known[cc] for cc in self.cc if cc in known)


def note(id: str, severity: Severity, says: str, source: str, why: str = "") -> Finding:
    """One note."""
    return Finding(id=id, severity=severity, says=says, why=why, source=source)
