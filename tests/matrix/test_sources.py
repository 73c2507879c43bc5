"""Every row is proven: its sources have an address or name the packages that were opened."""

import re
from collections.abc import Iterable, Iterator

import pytest

from envbuild.matrix.load import load, load_errors, load_names, load_reference
from envbuild.matrix.model import Die, Product, Row, Source
from envbuild.matrix.tables import TABLES

# What was read in packages that anybody can fetch has their names and versions for an address.
PACKAGES = {
    "apt-texts",
    "bash-locales",
    "cuda-driver-types",
    "cuda-errors",
    "ld-texts",
    "nvcc-texts",
    "cuda-toolkit-wheels",
    "cudnn-wheels",
    "debian-archive",
    "die-map",
    "nvcc-wheels",
    "package-index",
    "bitsandbytes-wheels",
    "cccl-wheels",
    "package-arm",
    "cudf-metadata",
    "package-sdists",
    "package-shares",
    "package-wheels",
    "ptxas-probe",
    "tensorflow-wheels",
    "torch-companions",
    "torch-metadata",
    "torch-wheels",
    "triton-wheels",
    "xformers-wheels",
    "vllm-metadata",
    "wheel-pythons",
}

# Words of a search tool or of a memory: nobody else can look there.
NOWHERE = re.compile(
    r"\b(?:ids?|excerpts?) ?:? ?\d{4,}|\brecalled\b|from memory|stored copy", re.IGNORECASE
)


def source_faults(source: Source) -> Iterator[str]:
    if not source.says.strip():
        yield f"{source.id}: says nothing"
    if NOWHERE.search(f"{source.says} {source.url or ''}"):
        yield f"{source.id}: nobody else can look there"
    if source.url is None and source.id not in PACKAGES:
        yield f"{source.id}: no address, and no package that was opened"
    if source.url is not None and not re.fullmatch(r"https://[\w.-]+\.\w+/\S*", source.url):
        yield f"{source.id}: {source.url} is no address"


def row_faults(row: Row, sources: dict[str, Source]) -> Iterator[str]:
    if row.status not in {"measured", "sourced", "derived"}:
        yield f"status {row.status}"
    yield from (f"no source {one}" for one in row.source if one not in sources)
    if NOWHERE.search(row.note):
        yield f"note {row.note!r}"
    if row.status == "measured" and not PACKAGES & set(row.source):
        yield "measured, but in no package"
    if isinstance(row, (Die, Product)) and row.pci_ids and "pci-ids" not in row.source:
        yield "PCI ids without pci-ids"
    if isinstance(row, Product):
        if (row.first_driver or row.open_from) and "open-modules" not in row.source:
            yield "a first driver without open-modules"
        if row.by_die and not row.note:
            yield "several chips under one name, and no note that says so"


def faults(rows: Iterable[Row], sources: Iterable[Source]) -> list[str]:
    known = {source.id: source for source in sources}
    found = [fault for source in known.values() for fault in source_faults(source)]
    for row in rows:
        found += [f"{row}: {fault}" for fault in row_faults(row, known)]
    return found


def every_row() -> list[Row]:
    parts = (load(), load_names(), load_reference(), load_errors())
    tables = (getattr(part, name, ()) for part in parts for name in TABLES)
    return [row for rows in tables for row in rows if isinstance(row, Row)]


def test_every_row_is_proven() -> None:
    rows = every_row()
    assert len(rows) > 1200
    assert faults(rows, load_reference().sources) == []


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (Source(id="x", says="excerpt 1234"), "nobody else"),
        (Source(id="x", says="a page, id 5678", url="https://a.example/"), "nobody else"),
        (Source(id="x", says="recalled", url="https://a.example/"), "nobody else"),
        (Source(id="x", says="the vendor's table"), "no address"),
        (Source(id="x", says="the vendor's table", url="see the docs"), "no address"),
        (Source(id="x", says=" ", url="https://a.example/"), "says nothing"),
    ],
)
def test_a_source_that_nobody_can_follow_is_a_fault(source: Source, fault: str) -> None:
    assert any(fault in one for one in faults((), [source]))


GOOD = Source(id="a", says="a page", url="https://a.example/page")


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (Product(name="X", source=("b",), status="sourced"), "no source b"),
        (Product(name="X", source=("a",), status="measured"), "in no package"),
        (Product(name="X", source=("a",), status="sourced", note="recalled"), "note"),
        (Product(name="X", source=("a",), status="sourced", pci_ids=("1b06",)), "pci-ids"),
        (Product(name="X", source=("a",), status="sourced", first_driver="525"), "open-modules"),
        (Product(name="X", source=("a",), status="sourced", by_die=(("A", "3.0"),)), "no note"),
    ],
)
def test_a_row_without_its_proof_is_a_fault(row: Row, fault: str) -> None:
    assert any(fault in one for one in faults([row], [GOOD]))
    assert faults([Product(name="X", source=("a",), status="sourced")], [GOOD]) == []
