"""An overlay works for every table: a row of the same key is replaced, another one is added."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

from envbuild.errors import InputError
from envbuild.matrix import load as loading
from envbuild.matrix.load import OVERLAY, load, load_errors, load_names, load_reference
from envbuild.matrix.tables import ERRORS, NAMES, REFERENCE, TABLES

MINE = "of my own machine"


def rows_of(table: str) -> tuple[Any, ...]:
    parts: dict[str, Callable[[], object]] = dict.fromkeys(NAMES, load_names)
    parts |= dict.fromkeys(REFERENCE, load_reference)
    parts |= dict.fromkeys(ERRORS, load_errors)
    rows: tuple[Any, ...] = getattr(parts.get(table, load)(), table)
    return rows


def key_of(table: str, row: object) -> tuple[Any, ...]:
    return tuple(getattr(row, field) for field in TABLES[table].key)


def free_field(table: str) -> str:
    """A field of the key that takes any text or number."""
    hints = get_type_hints(TABLES[table].row)
    return next(field for field in TABLES[table].key if hints[field] in (str, int))


def overlay(table: str) -> tuple[list[dict[str, Any]], Any]:
    """The table's last row with a note of its own, and the same row under a new key."""
    row = rows_of(table)[-1]
    data = msgspec.to_builtins(row)
    told = "says" if table == "sources" else "note"
    field = free_field(table)
    new = 990 if isinstance(data[field], int) else "99.9"
    return [{**data, told: MINE}, {**data, told: MINE, field: new}], row


@pytest.fixture(autouse=True)
def no_overlay(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(OVERLAY, raising=False)
    yield
    loading._compiled.cache_clear()


@pytest.mark.parametrize("table", TABLES)
def test_a_row_is_replaced_and_a_row_is_added(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, digest = rows_of(table), load().digest
    rows, old = overlay(table)
    (tmp_path / "mine.yaml").write_text(json.dumps({table: rows}))
    monkeypatch.setenv(OVERLAY, str(tmp_path))
    after = rows_of(table)
    assert len(after) == len(before) + 1
    mine = [row for row in after if MINE in (getattr(row, "note", ""), getattr(row, "says", ""))]
    assert key_of(table, mine[0]) == key_of(table, old)
    assert key_of(table, mine[1]) not in {key_of(table, row) for row in before}
    rest = [row for row in before if key_of(table, row) != key_of(table, old)]
    assert [row for row in after if row not in mine] == rest
    assert load().digest != digest


@pytest.mark.parametrize("table", TABLES)
def test_a_bad_row_is_refused_with_file_line_and_what_is_expected(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row, _), _old = overlay(table)
    key = free_field(table)
    bad = {f"{field}x" if field == key else field: value for field, value in row.items()}
    (tmp_path / "mine.yaml").write_text(f"# rows of my own\n{table}:\n- {json.dumps(bad)}\n")
    monkeypatch.setenv(OVERLAY, str(tmp_path))
    with pytest.raises(InputError) as e:
        rows_of(table)
    assert f"mine.yaml:3: unknown key '{key}x'" in e.value.what
    assert f"did you mean {key!r}?" in e.value.fix
    assert e.value.exit_code == 2


@pytest.mark.parametrize("argv", [["matrix", "show", "--cc", "6.1"], ["plan", "--cc", "6.1"]])
def test_a_bad_overlay_ends_a_command_with_2(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text("toolkits:\n- {cuda: '14.0', gcc_max: many}\n")
    monkeypatch.setenv(OVERLAY, str(tmp_path))
    ran = subprocess.run(
        [sys.executable, "-m", "envbuild", *argv], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert "mine.yaml:2:" in ran.stderr
    assert "gcc_max" in ran.stderr
    assert ran.stdout == ""


def test_an_overlay_that_nothing_is_read_from_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OVERLAY, str(tmp_path))
    (tmp_path / "mine.yml").write_text("toolkits: []\n")
    with pytest.raises(InputError, match="no file that ends in"):
        load()
    (tmp_path / "mine.yaml").write_bytes(b"toolkits: \xff")
    with pytest.raises(InputError, match=r"mine.yaml: cannot be read: 'utf-8'") as e:
        load()
    assert e.value.fix.startswith("give text in UTF-8")


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("", True),
        ("# rows will come\n", True),
        ("toolkits: []\n", True),
        ("date: '2026-12-02'\n", False),
    ],
)
def test_an_overlay_that_changes_nothing_is_a_mistake(
    text: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    monkeypatch.setenv(OVERLAY, str(tmp_path))
    if refused:
        with pytest.raises(InputError, match="holds a row or a date"):
            load()
    else:
        assert load().date == "2026-12-02"
