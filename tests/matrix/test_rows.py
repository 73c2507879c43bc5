"""A row enters only whole: every refusal names the file, the line and the nearest right word."""

from pathlib import Path

import pytest

from envbuild.data import folder
from envbuild.errors import InputError
from envbuild.matrix.compile import artifacts, compile_matrices
from envbuild.matrix.model import Row
from envbuild.matrix.rows import read
from envbuild.matrix.tables import TABLES

GOOD = """date: '2026-12-01'
sources:
- {id: here, says: made for a test}
torch:
- {torch: 2.10, index: cu126, cuda: 12.6, targets: [90, 90a],
   source: [here], status: measured}
"""


def compiled(tmp_path: Path, text: str) -> object:
    (tmp_path / "rows.yaml").write_text(text)
    return compile_matrices(tmp_path).matrices


def refusal(tmp_path: Path, text: str) -> InputError:
    with pytest.raises(InputError) as e:
        compiled(tmp_path, text)
    return e.value


def test_scalars_are_text(tmp_path: Path) -> None:
    (tmp_path / "rows.yaml").write_text(GOOD)
    row = compile_matrices(tmp_path).matrices.torch[0]
    assert (row.torch, row.cuda, row.targets) == ("2.10", "12.6", ("90", "90a"))


@pytest.mark.parametrize(
    ("wrong", "right", "line", "says"),
    [
        ("source: [here], ", "", 5, "source"),
        (", status: measured", "", 5, "status"),
        ("status: measured", "status: recalled", 6, "recalled"),
        ("source: [here]", "source: []", 5, "source"),
        ("source: [here]", "source: [elsewhere]", 5, "'elsewhere'"),
        ("targets:", "target:", 5, "did you mean 'targets'?"),
        ("torch:\n", "torhc:\n", 4, "did you mean 'torch'?"),
        ("targets: [90, 90a]", "targets: 90", 5, "targets"),
        ("index: cu126,", "index: cu126, index: cu128,", 5, "'index'"),
        ("torch: 2.10, ", "", 5, "torch"),
        ("torch:\n- ", "torch:\n  ", 5, "list"),
        ("[90, 90a]", "[90, 90a", 6, "not YAML"),
        ("index:", "[index]:", 5, "one word"),
    ],
)
def test_a_bad_row_is_refused(tmp_path: Path, wrong: str, right: str, line: int, says: str) -> None:
    compiled(tmp_path, GOOD)  # the same text without the fault loads
    assert wrong in GOOD
    error = refusal(tmp_path, GOOD.replace(wrong, right, 1))
    assert f"rows.yaml:{line}:" in error.what
    assert says in f"{error.what} {error.fix}"
    assert error.exit_code == 2


def test_two_rows_of_one_key_are_refused(tmp_path: Path) -> None:
    row = GOOD.partition("torch:\n")[2]
    error = refusal(tmp_path, GOOD + row)
    assert "rows.yaml:7:" in error.what
    assert "rows.yaml:5" in error.what


def test_a_file_without_a_date_is_refused(tmp_path: Path) -> None:
    assert "date" in refusal(tmp_path, GOOD.partition("\n")[2]).what
    assert "date" in refusal(tmp_path, GOOD.replace("2026-12-01", "soon")).what


@pytest.mark.parametrize("text", ["sources: &a [*a]", "sources: " + "[" * 9000, "\x00", "- 1"])
def test_a_file_made_to_break_the_reader_is_refused(tmp_path: Path, text: str) -> None:
    assert "rows.yaml" in refusal(tmp_path, text).what


def test_null_is_none_and_a_quoted_null_is_text(tmp_path: Path) -> None:
    (tmp_path / "rows.yaml").write_text(GOOD.replace("cuda: 12.6", "cuda: null, note: 'null'"))
    row = compile_matrices(tmp_path).matrices.torch[0]
    assert row.cuda is None
    assert row.note == "null"


def test_every_row_loads_with_source_and_status() -> None:
    seen = set()
    for path in sorted(folder("matrices").glob("*.yaml")):
        _, rows = read(path)
        for placed in rows:
            seen.add(placed.table)
            if isinstance(placed.row, Row):
                assert placed.row.source, placed.where
                assert placed.row.status in {"measured", "sourced", "derived"}, placed.where
    assert seen == set(TABLES)


def test_every_source_is_used() -> None:
    matrices = compile_matrices(folder("matrices"))
    parts = (matrices.matrices, matrices.names, matrices.reference, matrices.errors)
    tables = (getattr(part, name, ()) for part in parts for name in TABLES)
    used = {s for rows in tables for row in rows if isinstance(row, Row) for s in row.source}
    assert used == {source.id for source in matrices.reference.sources}


def test_the_committed_files_are_what_the_rows_compile_to() -> None:
    for name, fresh in artifacts(folder("matrices")).items():
        stale = f"{name}: run script/compile-matrices"
        assert (folder("matrices") / name).read_bytes() == fresh, stale


def test_no_schema_is_left_over() -> None:
    written = {path.stem for path in (folder("matrices") / "schema").iterdir()}
    assert written == set(TABLES)
