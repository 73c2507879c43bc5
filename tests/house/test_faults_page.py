"""The page of faults names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_named_test_exists() -> None:
    rows = [line for line in (ROOT / "docs/faults.md").read_text().splitlines() if ".py`" in line]
    named = {name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row)}
    there = {path.name for path in (ROOT / "tests").rglob("*.py")}
    assert len(rows) > 30
    assert named <= there, named - there
