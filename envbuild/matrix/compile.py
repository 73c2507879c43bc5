"""The YAML rows, and an overlay of more rows, into one value with one digest."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date as calendar
from pathlib import Path

import msgspec

from envbuild.errors import InputError
from envbuild.matrix.model import Matrices, Names, Row
from envbuild.matrix.model.errors import Errors
from envbuild.matrix.model.reference import Reference
from envbuild.matrix.rows import Placed, read
from envbuild.matrix.tables import ERRORS, NAMES, REFERENCE, TABLES
from envbuild.values.codec import Value, dump, dump_line, replace


@dataclass(frozen=True)
class Compiled:
    """What `load` serves: the matrices, and apart from them what few commands need."""

    matrices: Matrices
    names: Names
    reference: Reference
    errors: Errors


def compile_matrices(folder: Path, overlay: Path | None = None) -> Compiled:
    """Read all rows of ``folder``; rows of ``overlay`` replace those with the same key or join.

    Raises:
        InputError: a row that does not load; names file and line.
    """
    date, rows = _folder(folder)
    if overlay is not None:
        if not overlay.is_dir():
            what = f"ENVBUILD_MATRICES: {overlay} is not a folder"
            raise InputError(what, fix="name a folder of YAML files, or unset the variable")
        if not any(overlay.glob("*.yaml")):
            what = f"ENVBUILD_MATRICES: {overlay} holds no file that ends in .yaml"
            raise InputError(what, fix="put rows into one, or unset the variable")
        later, more = _folder(overlay)
        if later is None and not more:
            what = f"ENVBUILD_MATRICES: no file of {overlay} holds a row or a date"
            raise InputError(what, fix="put rows into one, or unset the variable")
        date = later or date
        rows |= more
    if date is None:
        what = f"{folder}: no file says date: YYYY-MM-DD"
        raise InputError(what)
    try:
        calendar.fromisoformat(date)
    except ValueError as e:
        what = f"{folder}: date: {date} is not YYYY-MM-DD"
        raise InputError(what) from e
    _check_sources(rows.values())
    tables: dict[str, list[Value]] = {name: [] for name in TABLES}
    for placed in rows.values():
        tables[placed.table].append(placed.row)
    # Row order is the order in the files: where a table has a preference, the file shows it.
    names = Names(**{name: tuple(tables.pop(name)) for name in NAMES})  # type: ignore[arg-type]
    reference = Reference(**{name: tuple(tables.pop(name)) for name in REFERENCE})  # type: ignore[arg-type]
    errors = Errors(**{name: tuple(tables.pop(name)) for name in ERRORS})  # type: ignore[arg-type]
    whole = Matrices(
        date=date,
        digest="",
        **{name: tuple(table) for name, table in tables.items()},  # type: ignore[arg-type]
    )
    every = b"".join(map(dump_line, (whole, names, reference, errors)))
    digest = hashlib.sha256(every).hexdigest()
    return Compiled(replace(whole, digest=f"sha256:{digest}"), names, reference, errors)


def _folder(folder: Path) -> tuple[str | None, dict[tuple[str, ...], Placed]]:
    date = None
    rows: dict[tuple[str, ...], Placed] = {}
    for path in sorted(folder.glob("*.yaml")):
        says, placed = read(path)
        date = says or date
        for row in placed:
            key = (row.table, *row.key)
            if key in rows:
                what = f"{row.where}: a second row {'/'.join(key)}; the first is {rows[key].where}"
                raise InputError(what, fix="keep one of the two")
            rows[key] = row
    return date, rows


def _check_sources(rows: Iterable[Placed]) -> None:
    every = tuple(rows)
    known = {p.key[0] for p in every if p.table == "sources"}
    for placed in every:
        unknown = set(placed.row.source) - known if isinstance(placed.row, Row) else set()
        if unknown:
            what = f"{placed.where}: source {min(unknown)!r} is not in the table sources"
            raise InputError(what, fix="add it to sources.yaml with its public address")


def artifacts(folder: Path) -> dict[str, bytes]:
    """The generated files of ``folder`` by their path in it: compiled rows and row schemas."""
    compiled = compile_matrices(folder)
    files = {
        "compiled.json": dump_line(compiled.matrices) + b"\n",
        "compiled-names.json": dump_line(compiled.names) + b"\n",
        "compiled-reference.json": dump_line(compiled.reference) + b"\n",
        "compiled-errors.json": dump_line(compiled.errors) + b"\n",
    }
    for name, table in TABLES.items():
        schema = msgspec.json.schema(tuple[table.row, ...])  # type: ignore[name-defined]
        files[f"schema/{name}.json"] = dump(schema)
    return files
