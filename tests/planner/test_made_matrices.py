"""Matrices that were changed on purpose: what no row of today says must still be judged right."""

from typing import Any

from envbuild.matrix.load import load
from envbuild.matrix.model import Matrices
from envbuild.planner.plan import plan
from envbuild.planner.resolve import resolve
from envbuild.values.codec import replace
from envbuild.values.plan import Plan
from tests.planner.ask import ids, request


def changed(table: str, key: str, name: object, **fields: object) -> Matrices:
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


def _builds(torch: str, index: str, **fields: object) -> Matrices:
    """The real matrices with the x86_64 build of one torch and index changed (made)."""
    rows = tuple(
        replace(row, **fields)
        if (row.torch, row.index, row.arch) == (torch, index, "x86_64")
        else row
        for row in load().torch
    )
    assert rows != load().torch
    return replace(load(), digest=f"made: {torch} {index} {fields}", torch=rows)


def test_a_wheel_with_ptx_alone_needs_a_driver_at_its_level() -> None:
    made = _builds("2.8.0", "cu129", targets=("90",), ptx=("50",))
    query = {"packages": "torch==2.8.0+cu129"}
    assert ask(made, "8.6", driver="575.57.08", **query).outcome != "refuse"
    refused = ask(made, "8.6", driver="570.124.06", **query)
    assert refused.outcome == "refuse"
    assert any("has only PTX of CUDA 12.9" in f.says for f in refused.findings)
    assert ask(made, "9.0", driver="570.124.06", **query).outcome != "refuse"
    # R470 compiles no PTX of CUDA 12.9, whatever the version.
    assert ask(made, "3.7", **query).outcome == "refuse"


def test_wheels_ask_for_a_c_library() -> None:
    made = _builds("2.8.0", "cu126", glibc="2.30")
    query = {"packages": "torch==2.8.0+cu126", "where": "host"}
    assert ask(made, "8.6", glibc="2.30", **query).outcome != "refuse"
    refused = ask(made, "8.6", glibc="2.17", **query)
    assert refused.outcome == "refuse"
    assert any("need glibc 2.30, not 2.17" in a.why for a in refused.alternatives)
    numba = changed("packages", "requirement", "numba-cuda[cu12]", glibc="2.28")
    query = {"packages": "numba", "where": "host", "cuda": "12"}
    assert ask(numba, "8.6", glibc="2.28", **query).outcome != "refuse"
    assert ask(numba, "8.6", glibc="2.17", **query).outcome == "refuse"


def test_ptx_is_made_where_the_last_driver_compiles_it() -> None:
    made = changed("branches", "branch", 470, cuda="11.8")
    caps = tuple(replace(row, ptx_jit=True) for row in made.capabilities)
    made = replace(made, digest="made: R470 compiles 11.8", capabilities=caps)
    assert ask(made, "3.5").gencode == ("arch=compute_35,code=[sm_35,compute_35]",)
    assert ask(load(), "3.5").gencode == ("arch=compute_35,code=sm_35",)


def test_the_default_torch_of_pip_follows_the_date() -> None:
    rows = tuple(
        replace(
            row,
            released={"2.15.0": "2026-10-01", "2.14.1": "2026-07-01"}.get(row.torch, "2025-01-01"),
        )
        for row in load().torch
    )
    made = replace(load(), digest="made: released", torch=rows)
    says = [f.says for f in ask(made, "6.1", packages="torch").findings if f.id == "torch-default"]
    assert "2.15.0" in says[0]
    early = ask(made, "6.1", packages="torch", as_of="2026-08-01")
    says = [f.says for f in early.findings if f.id == "torch-default"]
    assert "2.14.1" in says[0]


def test_what_a_torch_needs_and_does_not_state_stands_beside_it() -> None:
    made = _builds("2.8.0", "cu126", beside=("numpy<2",))
    plan = ask(made, "8.6", packages="torch==2.8.0+cu126")
    assert plan.packages == ("torch==2.8.0+cu126", "numpy<2")
    assert ask(load(), "8.6", packages="torch==2.8.0+cu126").packages == plan.packages[:1]
