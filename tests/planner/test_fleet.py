"""The fewest images that cover every card: exact, and each card in one that runs on it."""

from itertools import combinations
from typing import Any

import pytest

from envbuild.planner.choose import feasible
from envbuild.planner.fleet import only
from envbuild.planner.target import Target
from tests.planner.ask import ask_fleet, ids, table, target

SETS = [
    "3.5,6.1,12.0",
    "5.0,7.0,7.5,9.0",
    "3.7,6.0,8.6,10.3,12.1",
    "6.1,8.6,9.0,12.0",
    "3.5,3.7,5.2,6.1,7.0,7.5,8.0,8.6,8.9,9.0,10.0,10.3,12.0",
]


@pytest.mark.parametrize("cards", SETS)
@pytest.mark.parametrize("fields", [{}, {"packages": "torch"}, {"driver": "580.95.05"}])
def test_no_fewer_images_would_do(cards: str, fields: dict[str, Any]) -> None:
    fleet = ask_fleet(cards, **fields)
    good = [e for e in fleet.entries if e.plan.outcome != "refuse"]
    covered = [cc for entry in fleet.entries for cc in entry.nodes]
    assert sorted(covered) == sorted(cards.split(","))
    asked = target(cards, **fields)
    served = [cc for entry in good for cc in entry.nodes]
    for size in range(1, len(good)):
        assert not _covered(asked, served, size)


def _covered(asked: Target, cards: list[str], size: int) -> bool:
    """By brute force: some ``size`` groups that each have a plan hold all the cards."""
    every = (group for n in range(1, len(cards) + 1) for group in combinations(cards, n))
    groups = [set(group) for group in every if feasible(table(), only(table(), asked, group))]
    largest = [g for g in groups if not any(g < other for other in groups)]
    return any(set().union(*some) >= set(cards) for some in combinations(largest, size))


def test_a_card_without_any_plan_keeps_its_refusal() -> None:
    fleet = ask_fleet("3.0,8.6")
    assert fleet.outcome == "refuse"
    by_card = {entry.nodes: entry.plan.outcome for entry in fleet.entries}
    assert by_card == {("8.6",): "ok", ("3.0",): "refuse"}


def test_a_superchip_in_a_fleet_is_a_machine_of_its_own() -> None:
    fleet = ask_fleet("8.6,12.1,11.0")
    arches = {e.nodes: (e.plan.outcome, e.plan.arch, e.plan.platform) for e in fleet.entries}
    assert arches[("8.6",)] == ("ok", "x86_64", "linux")
    assert arches[("11.0", "12.1")] == ("warn", "aarch64", "sbsa")
    assert "l4t-assumed" in ids(fleet.entries[1].plan, "warn")
    said = ask_fleet("8.6,12.1", arch="x86_64")
    assert said.outcome == "refuse"


def test_one_image_is_a_fleet_of_one() -> None:
    fleet = ask_fleet("6.1,8.6")
    assert [entry.nodes for entry in fleet.entries] == [("6.1", "8.6")]
    assert fleet.entries[0].plan.request.split is False
