"""The fewest images that cover every machine: exact, and each machine in one that runs on it."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuild.matrix.load import load
from envbuild.matrix.model import Matrices
from envbuild.planner.alike import Node, alike, kinds
from envbuild.planner.choose import builds, choose, feasible, places
from envbuild.planner.cover import fewest, largest, parts
from envbuild.planner.fleet import cover
from envbuild.planner.join import join
from envbuild.planner.plan import plan as make
from envbuild.planner.resolve import resolve
from envbuild.planner.share import Sharing
from envbuild.planner.table import table_of
from envbuild.planner.target import Target
from envbuild.planner.window import apart
from envbuild.values.codec import dump, replace
from envbuild.values.codec import load as read
from envbuild.values.plan import Fleet, Plan
from tests.planner.ask import ask_fleet, ids, request, table, target
from tests.planner.test_properties import many

SETS = [
    "3.5,6.1,12.0",
    "5.0,7.0,7.5,9.0",
    "3.7,6.0,8.6,10.3,12.1",
    "6.1,8.6,9.0,12.0",
    "3.5,3.7,5.2,6.1,7.0,7.5,8.0,8.6,8.9,9.0,10.0,10.3,12.0",
]
CARDS = ["3.5", "5.2", "6.1", "7.0", "7.5", "8.0", "8.6", "9.0", "10.3", "11.0", "12.0", "12.1"]
DRIVERS = [None, None, "470.256.02", "535.309.01", "550.163.01", "580.95.05", "595.45.04"]
WISHES: list[dict[str, Any]] = [
    {},
    {"packages": "torch"},
    {"packages": "numba,cupy"},
    {"packages": "tensorflow"},
    {"packages": "torch==2.8.0,triton"},
    {"cuda": ">=12.4"},
    {"features": "extension", "base_os": "ubuntu24.04"},
]


def _machine(cards: str, **fields: Any) -> Target:  # noqa: ANN401
    return target(cards, **fields)


@st.composite
def machines(draw: st.DrawFn) -> list[Target]:
    """Up to six machines with the same wishes, their own cards and drivers."""
    wishes = draw(st.sampled_from(WISHES))
    found = []
    for _ in range(draw(st.integers(2, 6))):
        cards = draw(st.lists(st.sampled_from(CARDS), min_size=1, max_size=2, unique=True))
        platform = draw(st.sampled_from([None, None, None, "wsl2"]))
        fields = {"driver": draw(st.sampled_from(DRIVERS)), "platform": platform}
        found.append(_machine(",".join(cards), **fields, **wishes))
    return found


def _share(group: tuple[Target, ...]) -> bool:
    """One image is for one architecture, and some place and build serve every machine."""
    return len({one.arch for one in group}) == 1 and feasible(table(), join(group))


def _least(served: list[Target]) -> int:
    """By brute force over all groups: how many cover the machines."""
    every = [g for n in range(1, len(served) + 1) for g in combinations(range(len(served)), n)]
    good = [frozenset(g) for g in every if _share(tuple(served[i] for i in g))]
    whole = [g for g in good if not any(g < other for other in good)]
    everyone = set(range(len(served)))
    for size in range(len(served) + 1):
        if any(frozenset().union(*some) == everyone for some in combinations(whole, size)):
            return size
    raise AssertionError


@many
@given(machines())
def test_no_fewer_images_serve_the_machines(made: list[Target]) -> None:
    nodes = [Node(f"n{i}", one) for i, one in enumerate(made)]
    fleet = cover(nodes, load(), split=True)
    possible = [t for t in made if t.l4t or not apart(table(), t.cards, windows=t.windows)]
    served = [one for one in dict.fromkeys(possible) if feasible(table(), one)]
    good = [entry for entry in fleet.entries if entry.plan.outcome != "refuse"]
    assert len(good) == _least(served)
    by_name = {node.name: node.target for node in nodes}
    for number, entry in enumerate(fleet.entries, 1):
        group = tuple(by_name[name] for name in entry.nodes)
        assert entry.plan.outcome == "refuse" or _share(group)
        assert {n.name for n in fleet.nodes if n.entry == number} == set(entry.nodes)
    named = [name for entry in fleet.entries for name in entry.nodes]
    assert sorted([*named, *(n.name for n in fleet.nodes if n.entry is None)]) == sorted(by_name)
    assert read(Fleet, dump(fleet), "fleet") == fleet


@many
@given(machines())
def test_an_image_of_a_fleet_can_be_asked_for_alone(made: list[Target]) -> None:
    fleet = cover([Node(f"n{i}", one) for i, one in enumerate(made)], load(), split=True)
    for entry in fleet.entries:
        if entry.plan.outcome != "refuse":
            again = make(resolve(entry.plan.request, None, load()), load())
            assert isinstance(again, Plan)
            assert again.cuda == entry.plan.cuda
            assert again.image.ref == entry.plan.image.ref
            assert again.gencode == entry.plan.gencode
            assert again.torch == entry.plan.torch


@many
@given(machines())
def test_sharing_knows_every_largest_group(made: list[Target]) -> None:
    one_arch = [m for m in dict.fromkeys(made) if m.arch == made[0].arch and feasible(table(), m)]
    if not one_arch:
        return
    sharing = Sharing(table(), one_arch)
    every = range(1, 1 << len(one_arch))
    good = [
        some
        for some in every
        if feasible(table(), join([m for i, m in enumerate(one_arch) if some >> i & 1]))
    ]
    assert all(sharing.share(some) == (some in good) for some in every)
    assert set(sharing.largest()) == {g for g in good if not any(g & h == g != h for h in good)}


@many
@given(st.lists(st.integers(1, 255), min_size=1, max_size=9))
def test_a_cover_is_a_minimum(sets: list[int]) -> None:
    every = 0
    for one in sets:
        every |= one
    chosen = fewest(largest(sets), every)
    covered = 0
    for one in chosen:
        covered |= one
    assert covered == every
    for size in range(len(chosen)):
        for some in combinations(sets, size):
            union = 0
            for one in some:
                union |= one
            assert union != every


def test_parts_are_the_largest_sets_without_a_forbidden_pair() -> None:
    def serves(some: int) -> bool:
        return not (some & 0b011 == 0b011 or some & 0b1100 == 0b1100)

    assert set(parts(0b1111, [1, 2, 4, 8], serves)) == {0b0101, 0b1001, 0b0110, 0b1010}
    # Elements of one group stay together: 1 and 4 are wanted both or neither.
    assert set(parts(0b0111, [0b101, 0b010], serves)) == {0b101, 0b010}


@pytest.mark.parametrize("cards", SETS)
@pytest.mark.parametrize("fields", [{}, {"packages": "torch"}, {"driver": "580.95.05"}])
def test_the_cards_of_a_request_are_machines_of_their_own(
    cards: str, fields: dict[str, Any]
) -> None:
    fleet = ask_fleet(cards, **fields)
    covered = [cc for entry in fleet.entries for cc in entry.nodes]
    assert sorted(covered) == sorted(cards.split(","))


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


def test_cards_of_one_cc_are_told_apart_by_name() -> None:
    asked = request(gpus=("GTX 1650", "RTX 2080 Ti"), features="tensor-cores", split=True)
    fleet = make(resolve(asked, None, load()), load())
    outcomes = {entry.nodes[0]: entry.plan.outcome for entry in fleet.entries}  # type: ignore[union-attr]
    assert outcomes == {"GeForce RTX 2080 Ti": "ok", "GeForce GTX 1650": "refuse"}


def test_each_driver_counts_on_its_own_machine() -> None:
    """R470 drives no 5090, and a 5090's driver is no reason against an A100 with R470."""
    nodes = [
        Node("a100", _machine("8.0", driver="470.256.02")),
        Node("rtx5090", _machine("12.0", driver="580.95.05")),
    ]
    apart_ = cover(nodes, load(), split=True)
    assert [entry.nodes for entry in apart_.entries] == [("a100",), ("rtx5090",)]
    newer = [Node("a100", _machine("8.0", driver="535.309.01")), nodes[1]]
    (entry,) = cover(newer, load(), split=True).entries
    assert entry.nodes == ("a100", "rtx5090")
    assert entry.plan.cuda is not None
    assert entry.plan.cuda.startswith("12.")
    assert entry.plan.request.driver is None


def test_a_host_that_cannot_be_is_named_and_fails_nothing_unless_asked() -> None:
    nodes = [Node("ws", _machine("6.1,12.0")), Node("other", _machine("8.6"))]
    fleet = cover(nodes, load(), split=True)
    assert fleet.outcome == "warn"
    assert [entry.nodes for entry in fleet.entries] == [("other",)]
    (finding,) = fleet.findings
    assert (finding.id, finding.severity) == ("host-impossible", "warn")
    assert "ws: no single machine" in finding.says
    assert "open" in fleet.nodes[0].says
    assert cover(nodes, load(), split=True, strict=True).outcome == "refuse"
    windows = cover([Node("ws", _machine("6.1,12.0", platform="wsl2"))], load(), split=True)
    assert windows.findings == ()


def test_several_images_without_split_name_the_pair() -> None:
    nodes = [Node("old", _machine("3.5")), Node("mid", _machine("8.6")),
             Node("new", _machine("12.0"))]  # fmt: skip
    fleet = cover(nodes, load(), split=False)
    assert fleet.outcome == "refuse"
    conflict, *reasons = fleet.findings
    assert conflict.says == "old (cc 3.5, x86_64) and new (cc 12.0, x86_64) cannot share an image"
    assert any("no sm_120 yet" in reason.says for reason in reasons)
    assert {node.entry for node in fleet.nodes} == {None}
    assert cover(nodes[1:], load(), split=False).outcome == "ok"
    both = cover([nodes[0], Node("gb10", _machine("12.1"))], load(), split=False)
    assert "one kind of machine" in both.findings[1].says


def test_what_a_node_needs_of_its_driver() -> None:
    nodes = [Node("p100-a100", _machine("6.0,8.0")), Node("rtx5090", _machine("12.0"))]
    fleet = cover(nodes, load(), split=True)
    mixed, new = (node.driver for node in fleet.nodes)
    assert (mixed.last_branch, mixed.module, mixed.cc) == (580, "proprietary", None)
    assert (new.last_branch, new.module, new.min) == (None, "open", "570.86.16")


def _two_releases() -> Matrices:
    """Made: a package of which no one release serves both the oldest and the newest card."""
    row = next(r for r in load().packages if r.name == "tensorflow" and r.cuda_major == 12)
    new = replace(row, version_min=None, cc_min="6.0", cc_max="9.0", cuda_min="12.2")
    old = replace(new, requirement="tensorflow[and-cuda]<2.16", cc_min="5.0", cc_max="8.9")
    return replace(load(), digest="made: two releases", packages=(new, old))


def test_what_is_asked_of_all_cards_at_once_counts() -> None:
    """An old release for 5.2, a new one for 9.0, both beside the same toolkit: not in one."""
    made = _two_releases()
    asked = [request(cc, packages="tensorflow", cuda="12.9") for cc in ("5.2", "9.0", "8.0")]
    sharing = Sharing(table_of(made), [resolve(one, None, made) for one in asked])
    assert sharing.takes[0] == sharing.takes[1] == sharing.takes[2]
    assert not sharing.share(0b011)
    assert sharing.largest() == (0b101, 0b110)
    assert len(sharing.fewest()) == 2


def test_a_window_that_is_empty() -> None:
    k80, h100, p100 = (_machine(cc).cards for cc in ("3.7", "9.0", "6.0"))
    reason, source = apart(table(), k80 + h100) or ("", "")
    assert reason.startswith("Kepler (3.7) ends with R470, Hopper (9.0) begins with 5")
    assert source == "capabilities/3.7 sourced · capabilities/9.0 sourced"
    assert apart(table(), k80 + h100, windows=True) is not None
    assert apart(table(), p100 + h100) is None


def test_equal_machines_are_one_kind() -> None:
    one = _machine("8.6")
    fleet = cover([Node(f"n{i}", one) for i in range(1000)], load(), split=True)
    assert len(fleet.entries) == 1
    assert len(fleet.entries[0].nodes) == len(fleet.nodes) == 1000


@many
@given(st.lists(st.sampled_from(CARDS), min_size=1, max_size=2, unique=True), st.data())
def test_no_rule_tells_machines_of_one_kind_apart(cards: list[str], data: st.DataObject) -> None:
    """Any releases of a few branches: machines of one kind have equal places, builds and choice."""
    branch = st.sampled_from(["470", "525", "535", "550", "570", "575", "580", "595"])
    minor = st.integers(10, 300)
    releases = data.draw(st.lists(st.tuples(branch, minor), min_size=2, max_size=6, unique=True))
    platform = data.draw(st.sampled_from([None, "wsl2"]))
    wishes = data.draw(st.sampled_from(WISHES))
    nodes = [
        Node(
            f"{major}.{number}.02",
            _machine(",".join(cards), driver=f"{major}.{number}.02", platform=platform, **wishes),
        )
        for major, number in releases
    ]
    for kind in kinds(nodes, alike(table(), nodes)):
        assert kind.target.driver in {node.target.driver for node in nodes}
        for node in kind.nodes:
            assert places(table(), node.target) == places(table(), kind.target)
            assert builds(table(), node.target) == builds(table(), kind.target)
            one, other = choose(table(), node.target), choose(table(), kind.target)
            assert (one and (one.place, one.build)) == (other and (other.place, other.build))


def test_drivers_between_which_no_row_names_another_are_one_kind() -> None:
    """R580 has rows at 580.65.06 and 580.173.02: below, on, between and above them."""
    drivers = ["580.1.01", "580.65.06", "580.70.01", "580.71.01", "580.173.02", "580.200.01"]
    nodes = [Node(name, _machine("8.6", driver=name)) for name in drivers]
    found = kinds(nodes, alike(table(), nodes))
    assert [[node.name for node in kind.nodes] for kind in found].count(drivers[2:4]) == 1
    assert {kind.target.driver for kind in found if len(kind.nodes) > 1} == {"580.70.01"}


def test_an_image_for_several_drivers_that_are_alike_names_none() -> None:
    nodes = [Node(d, _machine("8.6", driver=d)) for d in ("580.70.01", "580.71.01")]
    (entry,) = cover(nodes, load(), split=False).entries
    assert entry.plan.request.driver is None
    assert not any(p.fact == "driver" for p in entry.plan.provenance)
    (same,) = cover([nodes[1]], load(), split=False).entries
    assert same.plan.request.driver == "580.71.01"
    fleet = cover(nodes, load(), split=False)
    assert [node.given for node in fleet.nodes] == ["580.70.01", "580.71.01"]
