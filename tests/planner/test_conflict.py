"""Conflicts and corrections against brute force, and each correction against the planner."""

from itertools import combinations

from hypothesis import given

from envbuild.cli.app import run
from envbuild.matrix.load import load
from envbuild.planner.choose import feasible
from envbuild.planner.conflict import conflict
from envbuild.planner.plan import plan as make
from envbuild.planner.resolve import resolve
from envbuild.planner.target import Part, Target, parts, without
from envbuild.values.plan import Plan
from envbuild.values.request import Request
from tests.planner.ask import ask, table, target
from tests.planner.requests import requests
from tests.planner.test_properties import many


def _subsets(every: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    return [s for size in range(len(every) + 1) for s in combinations(every, size)]


def _serves(asked: Target, kept: tuple[Part, ...]) -> bool:
    dropped = tuple(p for p in parts(asked) if p not in kept)
    return feasible(table(), without(asked, dropped))


@many
@given(requests())
def test_conflict_and_corrections_equal_brute_force(request: Request) -> None:
    asked = resolve(request, None, load())
    if feasible(table(), asked):
        return
    made = conflict(table(), asked)
    every = parts(asked)
    refused = [s for s in _subsets(every) if not _serves(asked, s)]
    assert made.core in refused
    assert len(made.core) == min(map(len, refused))
    for kind, found in (("wish", made.corrections), ("fact", made.changes)):
        droppable = tuple(p for p in every if p.kind == kind)
        cures = [s for s in _subsets(droppable) if feasible(table(), without(asked, s))]
        least = min(map(len, cures), default=0)
        assert set(found) == {s for s in cures if len(s) == least}


@many
@given(requests())
def test_each_correction_works(request: Request) -> None:
    asked = resolve(request, None, load())
    plan = make(asked, load())
    assert isinstance(plan, Plan)
    if plan.outcome != "refuse":
        return
    for step in plan.findings[0].steps:
        if step.argv and "--split" not in step.argv:
            assert run([*step.argv[1:], "--json"]) == 0, step.argv


def test_a_fact_is_changed_and_a_wish_is_dropped() -> None:
    plan = ask("6.1", driver="595.71.05", cuda="12.9")
    conflict_finding = plan.findings[0]
    assert "cc 6.1 and driver 595.71.05" in conflict_finding.says
    assert "--cuda" not in conflict_finding.says
    assert [s.argv for s in conflict_finding.steps] == [()]


def test_every_smallest_correction_is_offered() -> None:
    plan = ask("6.1", cuda="13", packages="torch==2.8.0")
    whys = [s.why for s in plan.findings[0].steps]
    assert len(whys) == 1
    assert whys[0].startswith("without --cuda 13: torch 2.8.0 from cu126")
    two = ask("8.6", cuda="12.6", packages="torch==2.15.0")
    assert len(two.findings[0].steps) == 2
    newer = next(s for s in two.findings[0].steps if "--torch" in s.why)
    assert "torch 2.14.1 from cu126" in newer.why


def test_a_long_request_still_gets_a_conflict_without_waste() -> None:
    every = ",".join(c for c in table().capabilities if not table().capability(c).tegra)
    asked = target(every, features="bf16,fp8,wgmma,tcgen05,fp4", base_os="debian13", arch="x86_64")
    made = conflict(table(), asked)
    assert not _serves(asked, made.core)
    for part in made.core:
        assert _serves(asked, tuple(p for p in made.core if p != part))
