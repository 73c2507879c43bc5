"""Matrices that were changed on purpose: what no row of today says must still be judged right."""

from typing import Any

from envbuild.matrix.load import load
from envbuild.matrix.model import Matrices
from envbuild.planner.plan import plan
from envbuild.planner.resolve import resolve
from envbuild.values.codec import replace
from envbuild.values.plan import Plan
from tests.planner.ask import ids, request


def changed(table: str, key: str, name: str, **fields: object) -> Matrices:
    """The real matrices with one row changed (made)."""
    rows = tuple(
        replace(row, **fields) if getattr(row, key) == name else row
        for row in getattr(load(), table)
    )
    assert rows != getattr(load(), table)
    return replace(load(), digest=f"made: {table} {name} {fields}", **{table: rows})


def ask(matrices: Matrices, cc: str, **fields: Any) -> Plan:  # noqa: ANN401
    made = plan(resolve(request(cc, **fields), None, matrices), matrices)
    assert isinstance(made, Plan)
    return made


def test_a_toolkit_that_ended_comes_after_one_that_is_maintained() -> None:
    made = changed("toolkits", "cuda", "12.9", ends="2026-06")
    assert (ask(made, "6.1").cuda or "").startswith("12.8")
    assert (ask(made, "6.1", as_of="2026-06-30").cuda or "").startswith("12.9")
    forced = ask(made, "6.1", cuda="12.9")
    assert "toolkit-ended" in ids(forced, "watch")


def test_a_toolkit_without_any_source_is_no_place() -> None:
    whole = load()
    later = replace(whole.toolkits[-1], cuda="14.0")
    made = replace(whole, digest="made: 14.0", toolkits=(*whole.toolkits, later), repositories=())
    refused = ask(made, "9.0", cuda="14")
    assert refused.outcome == "refuse"
    assert ask(made, "9.0").cuda == ask(whole, "9.0").cuda


def test_a_deleted_tag_is_not_chosen_while_another_remains() -> None:
    made = changed("images", "cuda", "12.9.1", withdrawn=True)
    plan = ask(made, "6.1", cuda="12.9", toolkit_source="image")
    assert "image-withdrawn" not in ids(plan)
    assert plan.cuda == "12.9.2"
    only = ask(made, "6.1", cuda="12.9.1", toolkit_source="image")
    assert "image-withdrawn" in ids(only, "warn")


def test_equal_matrices_share_what_is_known_and_others_do_not() -> None:
    made = changed("capabilities", "cc", "6.1", last_branch=470)
    assert ask(made, "6.1").driver[0].last_branch == 470
    assert ask(load(), "6.1").driver[0].last_branch == 580
    assert ask(made, "6.1").matrix.digest != ask(load(), "6.1").matrix.digest
