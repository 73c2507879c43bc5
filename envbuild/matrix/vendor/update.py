"""Releases that the index has and the matrices lack, as measured rows for review."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import yaml

from envbuild.io.net import Net
from envbuild.io.workspace import Workspace
from envbuild.matrix.load import load
from envbuild.matrix.model import Row, Source
from envbuild.matrix.vendor import measurers
from envbuild.matrix.vendor.bench import VERDICTS, Bench
from envbuild.matrix.vendor.fetch import Store
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import Measurer, Part
from envbuild.values.codec import Value, fields, replace

# Parts may hang on what was measured first: a metapackage names the compiler that is read next.
_ROUNDS = 2


class Skipped(Value):
    """A release that could not be measured, and why."""

    table: str
    key: str
    why: str


class Proposal(Value):
    """What the matrices lack.

    Attributes:
        rows: table and row, with its sources.
        sources: the files that were read, each with its sha256.
        skipped: releases that stay out.
    """

    rows: tuple[tuple[str, Row], ...]
    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...]


def update(
    only: tuple[str, ...], work: Path, net: Net, say: Callable[[str], None] = lambda _: None
) -> Proposal:
    """Measure the releases that no row is about; arguments and errors as for `verify`."""
    matrices = load()
    tables = set(measurers.chosen(only))
    rows: list[tuple[str, Row]] = []
    sources: dict[str, Source] = {}
    skipped: list[Skipped] = []
    with Workspace(work).held(say=say):
        index = Index(work, net, say)
        bench = Bench(index, Store(work, net, index.archive, say))
        for measurer in measurers.measurers().values():
            if measurer.table not in tables:
                continue
            for new in measurer.unknown(matrices, index):
                found = _measured(measurer, new, bench)
                if isinstance(found, Skipped):
                    skipped.append(found)
                    continue
                row, parts = found
                rows.append((measurer.table, row))
                sources |= {source.id: source for source in map(_source, parts)}
        index.check()
    return Proposal(rows=tuple(rows), sources=tuple(sources.values()), skipped=tuple(skipped))


def _measured(measurer: Measurer, row: Row, bench: Bench) -> tuple[Row, Sequence[Part]] | Skipped:
    """The row with all that its files say, and the files."""
    parts: Sequence[Part] = ()
    try:
        for _ in range(_ROUNDS):
            parts = measurer.parts(row, bench.index)
            bench.read(parts)
            facts = bench.facts(parts)
            values = {**measurer.measured(row, facts), **measurer.listed(row, facts, bench.index)}
            row = replace(row, **values)
    except tuple(VERDICTS) as e:
        key = measurers.key(measurer.table, row)
        return Skipped(table=measurer.table, key=key, why=str(e))
    names = dict.fromkeys(_source(part).id for part in parts)
    return replace(row, source=tuple(names), status="measured"), parts


def _source(part: Part) -> Source:
    file = part.file
    name = f"{file.project}-{file.version}-{file.sha256[:8]}"
    return Source(id=name, says=f"{file.file}, sha256 {file.sha256}")


def text(proposal: Proposal) -> str:
    """The proposal as YAML that `matrices/` and ``ENVBUILD_MATRICES`` take, if it is reviewed."""
    tables: dict[str, list[object]] = {"sources": [_plain(one) for one in proposal.sources]}
    for table, row in proposal.rows:
        tables.setdefault(table, []).append(_plain(row))
    head = (
        "# Releases that the matrices do not know, measured by `envbuild matrix update`. Review\n"
    )
    head += (
        "# each row before it goes into matrices/; what no package tells (drivers) is missing.\n"
    )
    left = [f"# left out: {one.table}/{one.key}: {one.why}\n" for one in proposal.skipped]
    body = yaml.safe_dump({k: v for k, v in tables.items() if v}, sort_keys=False, width=120)
    return head + "".join(left) + (body if proposal.rows else "")


def _plain(row: Row | Source) -> dict[str, object]:
    """The fields of a row that say something, in their order."""
    kind: type = type(row)
    blank = {field.name: field.default for field in msgspec.structs.fields(kind)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in fields(row).items()
        if value != blank[name]
    }
