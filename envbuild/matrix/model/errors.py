"""Rows of `errors.yaml`: what programs print when something is wrong, and what it means.

They are compiled into a file of their own, which only ``doctor`` reads.
"""

from typing import Literal

from envbuild.matrix.model.base import Row
from envbuild.values.codec import Value
from envbuild.values.finding import Severity

Family = Literal[
    "driver", "wsl", "jetson", "virtual", "runtime", "apt", "build", "arch", "launch", "nccl",
    "profilers",
]  # fmt: skip
"""Who knows about it, in the order in which things are mended."""


class Fix(Value):
    """One step of a row: a command (``run``, split as a shell would) or what to do (``do``).

    ``{name}`` stands for what a text of the row captured, or for a fact of the scene.
    """

    why: str
    run: str = ""
    do: str = ""
    check: str = ""


class Cause(Value):
    """What a text means where all conditions of ``when`` hold; the first that fits is told.

    Attributes:
        when: names of `advice.when`; ``not-`` in front turns one round. Empty = everywhere.
        id: of the finding, where it is not that of the row.
    """

    when: tuple[str, ...] = ()
    id: str | None = None
    severity: Severity | None = None
    says: str
    why: str = ""
    steps: tuple[Fix, ...] = ()


class ErrorText(Row):
    """What a program prints, and what it means.

    Attributes:
        texts: what is searched for, whatever the case of its letters. ``{name}`` stands for one
            word, which is captured; ``{}`` for at most 100 characters of the same line.
        code: the number that CUDA gives the error, where it has one.
        explains: texts that follow from this one: they are no faults of their own beside it.
        causes: empty = the text says nothing by itself; conditions (``saw-X``) ask for it.
    """

    id: str
    family: Family
    texts: tuple[str, ...]
    code: int | None = None
    severity: Severity = "error"
    explains: tuple[str, ...] = ()
    causes: tuple[Cause, ...]


class Errors(Value):
    """The rows that ``doctor`` loads."""

    errors: tuple[ErrorText, ...]
