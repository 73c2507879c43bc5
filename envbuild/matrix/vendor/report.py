"""What a verification found: a value, and how people read it."""

from collections.abc import Iterable, Sequence
from typing import Literal

from envbuild.matrix.model import Matrices
from envbuild.matrix.vendor.model import Judged, VendorFile, Verdict
from envbuild.values.codec import Value, fields
from envbuild.values.plan import MatrixId

_VERDICTS: tuple[Verdict, ...] = ("agrees", "differs", "cannot be measured", "not reachable")
_MEANS = {
    "agrees": "each compared field is what the named files hold, byte by byte checked by sha256",
    "differs": "a file holds another value than the row",
    "cannot be measured": "no package holds this fact; the row stands on its source",
    "not reachable": "the bytes that could tell were not to be had; the row stands on its source",
}


class Counts(Value):
    """How many rows got which verdict."""

    agrees: int = 0
    differs: int = 0
    cannot_be_measured: int = 0
    not_reachable: int = 0


class Report(Value):
    """One run of ``envbuild matrix verify``.

    Attributes:
        matrix: date and digest of the rows.
        only: the tables that were looked at.
        files: what was read, with its sha256; rows name these files.
        failed: files that the index lists and that did not come whole, with the reason.
    """

    schema: Literal["envbuild/matrix-report/1"] = "envbuild/matrix-report/1"
    matrix: MatrixId
    only: tuple[str, ...]
    counts: Counts
    rows: tuple[Judged, ...]
    files: tuple[VendorFile, ...] = ()
    failed: tuple[str, ...] = ()


def report(
    matrices: Matrices,
    rows: tuple[Judged, ...],
    files: Iterable[VendorFile],
    failed: tuple[str, ...],
) -> Report:
    """The rows with their counts; files sorted by name."""
    return Report(
        matrix=MatrixId(date=matrices.date, digest=matrices.digest),
        only=tuple(dict.fromkeys(row.table for row in rows)),
        counts=_counts(rows),
        rows=rows,
        files=tuple(sorted(files, key=lambda file: file.file)),
        failed=failed,
    )


def _counts(rows: Sequence[Judged]) -> Counts:
    numbers = [sum(row.verdict == verdict for row in rows) for verdict in _VERDICTS]
    return Counts(
        agrees=numbers[0],
        differs=numbers[1],
        cannot_be_measured=numbers[2],
        not_reachable=numbers[3],
    )


def table(found: Report) -> list[tuple[str, ...]]:
    """The counts of each table of rows, under a head."""
    lines = [("table", "rows", *_VERDICTS)]
    for name in found.only:
        rows = [row for row in found.rows if row.table == name]
        lines.append((name, str(len(rows)), *_numbers(_counts(rows))))
    return [*lines, ("all", str(len(found.rows)), *_numbers(found.counts))]


def _numbers(counts: Counts) -> tuple[str, ...]:
    return tuple(str(number) for number in fields(counts).values())


def differences(found: Report) -> list[str]:
    """One line for each field that differs."""
    return [
        f"{row.table}/{row.key}  {one.field}: the row says {one.row}, measured {one.measured}"
        for row in found.rows
        for one in row.differences
    ]


def reasons(found: Report) -> list[tuple[str, str, str, str]]:
    """Why rows were not compared: verdict, table, number of rows, reason; alike ones together."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in found.rows:
        if row.why:
            groups.setdefault((row.verdict, row.table, row.why), []).append(row.key)
    return [
        (verdict, name, keys[0] if len(keys) == 1 else f"{len(keys)} rows", why)
        for (verdict, name, why), keys in groups.items()
    ]


def text(found: Report) -> str:
    """The report for a terminal."""
    lines = table(found)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    out = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    out += [f"differs   {line}" for line in differences(found)]
    out += [f"{verdict:<18}  {name}  {rows}: {why}" for verdict, name, rows, why in reasons(found)]
    out += [f"failed    {line}" for line in found.failed]
    return "\n".join(out)


def markdown(found: Report) -> str:
    """The report as a page."""
    head, *lines = table(found)
    out = [
        "# The matrices against the vendors' packages",
        "",
        "Written by `envbuild matrix verify`; made anew by the same command, not by hand.",
        f"Matrices of {found.matrix.date}, {found.matrix.digest}.",
        f"{len(found.files)} files were read; their hashes are in the JSON beside this page.",
        "",
        *(f"- **{verdict}**: {_MEANS[verdict]}." for verdict in _VERDICTS),
        "",
        _row(head),
        _row(("---", *["---:"] * (len(head) - 1))),
        *(_row(line) for line in lines),
    ]
    if told := differences(found):
        out += ["", "## Differences", "", *(f"- {line}" for line in told)]
    if why := reasons(found):
        out += [
            "",
            "## Rows that were not compared, and remarks",
            "",
            _row(("verdict", "table", "rows", "why")),
        ]
        out += [_row(("---",) * 4), *(_row(line) for line in why)]
    if found.failed:
        out += ["", "## Did not come", "", *(f"- {line}" for line in found.failed)]
    return "\n".join(out) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
