"""Every row against the packages that hold its facts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from envbuild.io.net import Net
from envbuild.io.workspace import Workspace
from envbuild.matrix.load import load, load_names, load_reference
from envbuild.matrix.model import Row
from envbuild.matrix.vendor import measurers
from envbuild.matrix.vendor.bench import VERDICTS, Bench
from envbuild.matrix.vendor.fetch import Store
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import (
    Difference,
    Judged,
    Measurer,
    Part,
    Unmeasurable,
    Unreachable,
)
from envbuild.matrix.vendor.report import Report, report
from envbuild.values.codec import fields, replace


def verify(
    only: tuple[str, ...], work: Path, net: Net, say: Callable[[str], None] = lambda _: None
) -> Report:
    """Every row of the matrices against the packages that hold its facts.

    Args:
        only: groups or tables; empty = all.
        work: folder of what was read; the next run goes on from it.
        net: index and CA.
        say: takes a line for each page and file.

    Raises:
        InputError: a word of ``only`` is not known.
        MachineError: the index does not answer, the disk is full, another run is at work.
    """
    tables = measurers.chosen(only)
    holders = (matrices := load(), load_names(), load_reference())
    rows = {name: getattr(h, name) for name in tables for h in holders if hasattr(h, name)}
    with Workspace(work).held(say=say):
        index = Index(work, net, say)
        store = Store(work, net, index.archive, say)
        judged, parts = measure(rows, Bench(index, store), say)
        index.check()
        files = {part.file.file: part.file for part in parts if store.kept(part)}
        return report(matrices, judged, files.values(), store.failed)


def measure(
    rows: Mapping[str, Sequence[Row]], bench: Bench, say: Callable[[str], None] = lambda _: None
) -> tuple[tuple[Judged, ...], list[Part]]:
    """One verdict for each row, and the parts that were looked at.

    Args:
        rows: by table.
        bench: reads files.
        say: takes a line for each stage.

    Raises:
        MachineError: the index does not answer, or the disk is full.
    """
    known = measurers.measurers()
    planned: list[tuple[str, Row, Sequence[Part] | Exception]] = []
    for table, entries in rows.items():
        planned += [(table, row, _parts(known.get(table), row, bench.index)) for row in entries]
    parts = [part for _, _, found in planned if not isinstance(found, Exception) for part in found]
    say(f"read      {len({part.file.sha256 for part in parts})} files for {len(planned)} rows")
    bench.read(parts)
    judged = (_judged(table, row, known.get(table), found, bench) for table, row, found in planned)
    return tuple(judged), parts


def _parts(measurer: Measurer | None, row: Row, index: Index) -> Sequence[Part] | Exception:
    if measurer is None:
        return ()
    try:
        return measurer.parts(row, index)
    except (Unreachable, Unmeasurable) as e:
        return e


def _judged(
    table: str,
    row: Row,
    measurer: Measurer | None,
    parts: Sequence[Part] | Exception,
    bench: Bench,
) -> Judged:
    start = Judged(table=table, key=measurers.key(table, row), status=row.status, verdict="agrees")
    if measurer is None:
        verdict, why = measurers.rest(table)
        return replace(start, verdict=verdict, why=why)
    try:
        if isinstance(parts, Exception):
            raise parts
        facts = bench.facts(parts)
        values = {**measurer.measured(row, facts), **measurer.listed(row, facts, bench.index)}
        start = replace(start, read=_files(parts), why=measurer.remark(row, facts))
    except tuple(VERDICTS) as e:
        return replace(start, verdict=VERDICTS[type(e)], why=str(e))
    return judge(start, row, values)


def judge(start: Judged, row: Row, values: Mapping[str, object]) -> Judged:
    """The verdict of a row whose files were read; a list in another order is the same list."""
    has = fields(row)
    differences = tuple(
        Difference(field=field, row=text(has[field]), measured=text(value))
        for field, value in values.items()
        if _plain(has[field]) != _plain(value)
    )
    return replace(
        start,
        verdict="differs" if differences else "agrees",
        compared=tuple(values),
        differences=differences,
    )


def text(value: object) -> str:
    """A value of a field as people read it."""
    if isinstance(value, tuple | list):
        return " ".join(str(entry) for entry in value) or "nothing"
    return "nothing" if value is None else str(value)


def _plain(value: Any) -> Any:  # noqa: ANN401 - a field of any row
    return sorted(map(str, value)) if isinstance(value, tuple | list) else value


def _files(parts: Sequence[Part]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.file.file for part in parts))
