"""Reports of the same kinds as the public cases: what mends a case must mend its kind."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cases.grade import cases, flags, grade
from tests.cases.replay import planned, rendered

ROWS = yaml.safe_load(Path(__file__).with_name("siblings.yaml").read_text())


def name(row: dict[str, Any]) -> str:
    return f"{row['kind']}-{'-'.join(flags(row['given']))}".replace("--", "")


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_a_sibling_of_a_case(
    row: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if row.get("command") == "render":
        answer = rendered(row["given"], tmp_path / "ctx", capfd)
    else:
        answer = planned(flags(row["given"]), capfd)
    assert grade(answer, row["want"]) == []


def test_each_kind_has_siblings_and_each_sibling_a_public_source() -> None:
    kinds = Counter(row["kind"] for row in ROWS)
    # What C75 asks of a plan is one variable of one image: it has no siblings that could differ.
    assert kinds.keys() >= {c.id.partition(".")[0] for c in cases("plan", "render")} - {"C75"}
    assert len({name(row) for row in ROWS}) == len(ROWS) >= 80
    assert all(row["source"].startswith("https://") for row in ROWS)
