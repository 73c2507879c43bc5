"""Conflicts and corrections against brute force, and each correction against the planner."""

import re
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given

from envbuild.cli.app import run
from envbuild.matrix.load import load
from envbuild.planner.choose import feasible
from envbuild.planner.conflict import conflict, eased
from envbuild.planner.plan import plan as make
from envbuild.planner.resolve import resolve
from envbuild.planner.target import Part, Target, parts, without
from envbuild.values.codec import replace
from envbuild.values.plan import Plan
from envbuild.values.request import Request
from tests.planner.ask import ask, table, target
from tests.planner.requests import wishful
from tests.planner.test_properties import many

Parts = tuple[Part, ...]


def _subsets(every: Parts) -> list[Parts]:
    return [s for size in range(len(every) + 1) for s in combinations(every, size)]


def _serves(asked: Target, kept: Parts) -> bool:
    dropped = tuple(p for p in parts(asked) if p not in kept)
    return feasible(table(), without(asked, dropped))


def _cures(asked: Target, droppable: Parts) -> set[Parts]:
    """By brute force: every subset that cures, of the smallest size."""
    cures = [s for s in _subsets(droppable) if feasible(table(), eased(asked, s))]
    least = min(map(len, cures), default=0)
    return {s for s in cures if len(s) == least}


@many
@given(wishful())
def test_conflict_and_corrections_equal_brute_force(request: Request) -> None:
    asked = resolve(request, None, load())
    if feasible(table(), asked):
        return
    made = conflict(table(), asked)
    every = parts(asked)
    refused = [s for s in _subsets(every) if not _serves(asked, s)]
    assert made.core in refused
    assert len(made.core) == min(map(len, refused))
    wishes = tuple(p for p in every if p.kind == "wish")
    jetson = any(table().capability(cc).tegra for cc in asked.cc)
    fixed = {"cards", "l4t"} if jetson else {"cards"}
    facts = tuple(p for p in every if p.kind == "fact" and p.field not in fixed)
    cards = tuple(p for p in every if p.field == "cards")
    assert set(made.corrections) == _cures(asked, wishes)
    fewer = {cure for cure in _cures(asked, cards) if len(cure) < len(cards)}
    assert set(made.changes) == _cures(asked, facts) | fewer
    # What takes a wish and a fact is shown where nothing smaller is enough.
    smaller = min(map(len, (*made.corrections, *made.changes)), default=len(every))
    both = {s for s in _cures(asked, (*wishes, *facts)) if len({p.kind for p in s}) == 2}
    assert set(made.mixed) == {s for s in both if len(s) <= smaller}


@many
@given(wishful())
def test_each_way_out_really_plans(request: Request) -> None:
    asked = resolve(request, None, load())
    plan = make(asked, load())
    assert isinstance(plan, Plan)
    if plan.outcome != "refuse":
        return
    for step in plan.findings[0].steps:
        assert "dropp" not in step.why
        if step.argv[:1] == ("envbuild",):
            assert run([*step.argv[1:], "--json"]) == 0, step.argv
        elif step.argv:
            # What is built elsewhere, for a Jetson or a new card: no plan, but seen to work.
            assert step.check, step.argv
        elif found := re.search(r"driver ([\d.]+) or newer", step.text):
            assert feasible(table(), resolve(replace(request, driver=found[1]), None, load()))


@many
@given(wishful())
def test_a_correction_for_each_smallest_set_is_printed(request: Request) -> None:
    asked = resolve(request, None, load())
    plan = make(asked, load())
    assert isinstance(plan, Plan)
    if plan.outcome != "refuse":
        return
    whys = [step.why for step in plan.findings[0].steps]
    clash = conflict(table(), asked)
    for dropped in (*clash.corrections, *clash.mixed):
        gone = [p.says for p in dropped if p.kind == "wish"]
        assert any(all(f"without {says}" in why for says in gone) for why in whys)


def test_a_fact_is_changed_and_a_wish_is_dropped() -> None:
    plan = ask("6.1", driver="595.71.05", cuda="12.9")
    conflict_finding = plan.findings[0]
    assert "cc 6.1 and driver 595.71.05" in conflict_finding.says
    assert "--cuda" not in conflict_finding.says
    assert [s.argv for s in conflict_finding.steps] == [()]


@pytest.mark.parametrize(
    ("cc", "fields", "says", "argv"),
    [
        (
            "3.5",
            {"driver": "525.60.13", "cuda": "12.4"},
            "without --cuda 12.4 and with driver 450.80.02 or newer, at most R470 (470.256.02)",
            "plan --cc 3.5",
        ),
        (
            "3.5",
            {"driver": "525.60.13", "where": "host", "glibc": "2.41"},
            "on a system with an older C library: ubuntu24.04 has glibc 2.39",
            "plan --cc 3.5 --base-os ubuntu24.04 --where host",
        ),
        ("3.5", {"platform": "wsl2"}, "on Linux itself, not in WSL 2", "plan --cc 3.5"),
        (
            "12.1",
            {"arch": "x86_64"},
            "on another machine, with an aarch64 CPU",
            "plan --cc 12.1 --arch aarch64",
        ),
        ("8.6", {"l4t": "36.4"}, "without an L4T", "plan --cc 8.6 --arch aarch64"),
        (
            "8.7",
            {"l4t": "32"},
            "with L4T 39 (JetPack 7.2)",
            "plan --cc 8.7 --arch aarch64 --platform jetson --l4t 39",
        ),
        (
            "8.7",
            {"cuda": "12.6", "l4t": "39", "where": "host", "features": "bf16"},
            "without --cuda 12.6",
            "plan --cc 8.7 --feature bf16 --arch aarch64 --platform jetson --l4t 39 --where host",
        ),
        (
            "6.0,8.0",
            {"features": "bf16", "base_os": "debian13", "glibc": "2.41", "where": "host"},
            "without --feature bf16",
            "plan --cc 6.0 --cc 8.0 --base-os debian13 --glibc 2.41 --where host",
        ),
    ],
)
def test_a_refusal_names_the_way_out(cc: str, fields: dict[str, Any], says: str, argv: str) -> None:
    step = ask(cc, **fields).findings[0].steps[0]
    assert says in step.why
    assert " ".join(step.argv) == f"envbuild {argv}"


def test_without_an_image_the_machine_itself_is_a_way() -> None:
    """Rows as they are, but for L4T 32's image, made to be missing."""
    known = load()
    jetson = tuple(replace(row, image=None) if row.l4t == "32" else row for row in known.jetson)
    rows = replace(known, jetson=jetson, digest="made: no image of L4T 32")
    plan = make(resolve(Request(cc=("5.3",)), None, rows), rows)
    assert isinstance(plan, Plan)
    (step,) = plan.findings[0].steps
    assert step.why.startswith("on the machine itself, not in an image")
    assert step.argv[-2:] == ("--where", "host")


def test_another_l4t_is_in_the_command() -> None:
    steps = ask("8.7", cuda="12.6", l4t="39.2").findings[0].steps
    assert any(step.argv[-2:] == ("--l4t", "36.4") for step in steps)
    assert any(step.argv[-2:] == ("--l4t", "39.2") for step in steps)  # as it was written


@pytest.mark.parametrize(
    ("wish", "plain", "gives"),
    [
        ("cupy-cuda13x", "cupy", "CUDA 12.9"),
        ("jax[cuda13]", "jax", "CUDA 12.9"),
        ("torch==2.10.0+cu128", "torch==2.10.0", "torch 2.10.0 from cu126"),
    ],
)
def test_a_wish_keeps_its_plain_form_where_that_is_enough(
    wish: str, plain: str, gives: str
) -> None:
    step = ask("6.0", packages=wish).findings[0].steps[0]
    assert step.why.startswith(f"with {plain} instead of {wish}")
    assert gives in step.why
    assert step.argv[-2:] == ("--with", plain)


def test_where_the_plain_form_is_not_enough_the_version_goes() -> None:
    step = ask("12.0", packages="torch==2.6.0+cu126").findings[0].steps[0]
    assert step.why.startswith("without --torch 2.6.0+cu126: torch 2.15.0")


@pytest.mark.parametrize("wanted", ["12.7", "11.2", "14", ">=14"])
def test_a_toolkit_outside_the_matrices_is_called_that(wanted: str) -> None:
    plan = ask("8.6", cuda=wanted)
    (reason,) = plan.findings[1:]
    assert reason.says.startswith(f"no CUDA {wanted} in these matrices, which hold 11.7 to 13.5")
    # A level that a driver shows, and that people take for a toolkit's.
    assert ("nvidia-smi of R565 shows 12.7" in reason.says) == (wanted == "12.7")


def test_a_toolkit_of_jetsons_is_called_that() -> None:
    plan = ask("8.6", cuda="11.4")
    assert [f.says for f in plan.findings[1:]] == [
        "CUDA 11.4: it is part of L4T 35, for Jetsons alone"
    ]


def test_a_driver_step_names_the_least_that_would_do() -> None:
    (step,) = ask("12.0", driver="550.163.01").findings[0].steps
    assert step.text.endswith("driver 570.86.16 or newer")
    assert "; 595.91.07 gives CUDA 13.2" in step.why


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


@pytest.mark.parametrize(
    ("cc", "cuda", "driver"),
    [("2.0", "8.0", "R390"), ("2.1", "8.0", "R390"), ("3.0", "10.2", "R470"), ("3.5", None, "")],
)
def test_cards_that_every_toolkit_left_hear_of_their_last_ones(
    cc: str, cuda: str | None, driver: str
) -> None:
    """The first card that is served, 3.5, has a plan of its own."""
    plan = ask(cc)
    assert (plan.outcome == "refuse") is (cuda is not None)
    steps = [s.text for f in plan.findings if f.id == "conflict" for s in f.steps]
    assert [f"CUDA {cuda}," in s and f"driver {driver}" in s for s in steps] == [True] * bool(cuda)
