"""The report: its forms, and the one that is committed."""

import json
from pathlib import Path

from envbuild.matrix.load import load, load_names, load_reference
from envbuild.matrix.tables import TABLES
from envbuild.matrix.vendor import measurers
from envbuild.matrix.vendor.model import Difference, Judged, VendorFile
from envbuild.matrix.vendor.report import Report, markdown, report, text
from envbuild.values.codec import dump
from envbuild.values.codec import load as decode

COMMITTED = Path(__file__).parents[3] / "docs/matrix-verify.json"
FILE = VendorFile(project="p", version="1", file="p-1-py3-none-any.whl", sha256="ab" * 32)


def made() -> Report:
    """One row of each verdict."""
    wrong = (Difference(field="gcc_max", row="15", measured="16"),)
    rows = (
        Judged(table="toolkits", key="1", status="measured", verdict="agrees", read=(FILE.file,)),
        Judged(table="toolkits", key="2", status="sourced", verdict="differs", differences=wrong),
        *(
            Judged(table="images", key=key, status="sourced", verdict="not reachable", why="a|b")
            for key in ("1", "2")
        ),
        Judged(
            table="wsl", key="x", status="sourced", verdict="cannot be measured", why="nobody knows"
        ),
    )
    return report(load(), rows, [FILE], ("p-2.whl: cut",))


def test_each_verdict_is_counted_apart_and_alike_reasons_stand_once() -> None:
    lines = text(made()).splitlines()
    assert lines[-5].split() == ["all", "5", "1", "1", "1", "2"]
    assert lines[-4:] == [
        "differs   toolkits/2  gcc_max: the row says 15, measured 16",
        "not reachable       images  2 rows: a|b",
        "cannot be measured  wsl  x: nobody knows",
        "failed    p-2.whl: cut",
    ]


def test_the_page_says_the_same_and_no_cell_breaks_its_table() -> None:
    page = markdown(made())
    assert "| toolkits | 2 | 1 | 1 | 0 | 0 |" in page
    assert "- toolkits/2  gcc_max: the row says 15, measured 16" in page
    assert "| not reachable | images | 2 rows | a\\|b |" in page
    assert "## Did not come\n\n- p-2.whl: cut" in page


def test_a_report_reads_back() -> None:
    assert decode(Report, dump(made()), "report") == made()


def test_the_committed_report_has_no_difference_and_one_verdict_for_each_row() -> None:
    found = decode(Report, COMMITTED.read_bytes(), COMMITTED.name)
    assert (found.counts.differs, found.failed) == (0, ())
    holders = (load(), load_names(), load_reference())
    rows = sorted(
        (table, measurers.key(table, row))
        for table in TABLES
        if table != "sources"
        for holder in holders
        for row in getattr(holder, table, ())
    )
    assert sorted((row.table, row.key) for row in found.rows) == rows, (
        "rows came or went: run envbuild matrix verify again (README) and commit the report"
    )


def test_agrees_is_said_only_of_rows_whose_files_were_read() -> None:
    found = json.loads(COMMITTED.read_bytes())
    hashes = {file["file"]: file["sha256"] for file in found["files"]}
    assert all(len(sha) == 64 for sha in hashes.values())
    for row in found["rows"]:
        if row["verdict"] == "agrees":
            assert row["compared"], row["key"]
            assert set(row["read"]) <= set(hashes), row["key"]
            assert row["read"] or set(row["compared"]) <= {"version", "pythons"}, row["key"]
        else:
            assert row["why"], row["key"]


def test_every_covered_field_is_a_field_of_its_row() -> None:
    for measurer in measurers.measurers().values():
        fields = TABLES[measurer.table].row.__struct_fields__  # type: ignore[attr-defined]
        assert set(measurer.fields) <= set(fields), measurer.table
