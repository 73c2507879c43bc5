"""How a row is measured, and what is said of it.

A `Measurer` covers one table. For a row it names the `Part`s: which files of the index hold the
facts, and which `Reader` takes them out. What a reader found is kept by the file's sha256, so a
run that was cut goes on, and two rows that need the same file download it once. From the facts of
a row's parts the measurer gives the values that the row's fields should have; `judge` compares.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from envbuild.matrix.model import Matrices, Row, Status
from envbuild.values.codec import Value

if TYPE_CHECKING:
    from envbuild.matrix.vendor.index import Index

Verdict = Literal["agrees", "differs", "cannot be measured", "not reachable"]


class VendorFile(Value, omit_defaults=True):  # type: ignore[call-arg]
    """One file that a vendor published.

    Attributes:
        project: its normalised name, ``nvidia-cuda-nvcc-cu12``.
        version: ``12.9.86``.
        file: its file name; ``sha256`` in hex, as the index lists it.
        suite: suite and components of the archive it is from; empty = a package index.
    """

    project: str
    version: str
    file: str
    sha256: str
    suite: str = ""


class Reader(NamedTuple):
    """Takes facts out of one file.

    Attributes:
        name: names the stored result, with a number that grows when it reads more:
            ``ptxas-1``.
        kind: the struct of its facts.
        read: path of the file (a wheel as it came, a zip) to facts. It may raise `Unreadable`.
    """

    name: str
    kind: type[Value]
    read: Callable[[Path], Value]


class Part(NamedTuple):
    """A file that a row is measured in, and what reads it."""

    file: VendorFile
    reader: Reader


@dataclass(frozen=True)
class Measurer:
    """What measures the rows of one table.

    Attributes:
        table: name of the table (`matrix.tables.TABLES`).
        group: the word of ``--only`` that it belongs to: ``toolkits`` or ``frameworks``.
        fields: fields of a row that it can measure; the others are never compared.
        parts: the files a row is measured in. Raises `Unreachable` or `Unmeasurable`.
        measured: values by field name, from the row and the facts of its parts in their order.
            A field that it leaves out is not compared for this row. May raise `Unmeasurable`.
        remark: what else a reader of the row should know (an older release that differs).
        listed: values of what the index's own pages say (interpreters that have a wheel), from
            the row, the facts and the index.
        unknown: rows of releases on the index that the matrices do not have; only the fields
            that name the row matter, `measured` fills the others in. For ``matrix update``.
    """

    table: str
    group: str
    fields: tuple[str, ...]
    parts: "Callable[[Any, Index], Sequence[Part]]"
    measured: Callable[[Any, Sequence[Any]], Mapping[str, object]]
    remark: Callable[[Any, Sequence[Any]], str] = lambda _row, _facts: ""
    listed: "Callable[[Any, Sequence[Any], Index], Mapping[str, object]]" = lambda *_: {}
    unknown: "Callable[[Matrices, Index], Iterable[Row]]" = lambda _matrices, _index: ()


class Unreachable(Exception):
    """The bytes that could tell are not to be had from here; the text says which."""


class Unmeasurable(Exception):
    """No package holds this fact, or not for this row; the text says why."""


class Unreadable(Exception):
    """A file came, and what was to be read is not in it; the text says what."""


class Difference(Value):
    """One field whose measured value is not the row's; both as text."""

    field: str
    row: str
    measured: str


class Judged(Value, omit_defaults=True):  # type: ignore[call-arg]
    """One row and its verdict.

    Attributes:
        table, key: which row, ``torch`` and ``2.15.0/pypi/x86_64``.
        status: of the row.
        compared: fields whose values were compared with what was read.
        differences: those that differ.
        why: for a row that was not compared; else a remark on what was read.
        read: names of the files that were read; the report has their sha256.
    """

    table: str
    key: str
    status: Status
    verdict: Verdict
    compared: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    why: str = ""
    read: tuple[str, ...] = ()
