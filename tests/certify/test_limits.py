"""Limits: from attributes and rows where those mean something, unknown where not; two-sided."""

import pytest

from envbuild.certify import limits
from envbuild.certify.card import Rating
from envbuild.certify.limits import Memory
from envbuild.certify.suites.fast import floors
from envbuild.matrix.load import load_reference
from envbuild.values.certificate import Check

CHECK = Check(id="made.one", core=True, verdict="pass", says="")
RATE = Rating(unit="fma", dtype="f32", per_sm_clock=256, source="made")


@pytest.mark.parametrize(
    ("clock", "bus", "gigabytes"),
    [
        (3201000, 6016, 4814.3),  # H200, measured
        (10501000, 384, 1008.1),  # RTX 4090, as nvbench prints it
        (1593000, 5120, 2039.0),  # A100 80 GB
    ],
)
def test_dram_of_known_parts(clock: int, bus: int, gigabytes: float) -> None:
    assert limits.dram_limit(Memory(clock, bus)).value == pytest.approx(gigabytes, rel=1e-4)


@pytest.mark.parametrize(
    ("memory", "why"),
    [
        (Memory(0, 256), "no memory clock"),
        (Memory(1000000, 0), "no memory clock or no bus width"),
        (Memory(1300000, 256, integrated=True), "integrated"),
        (Memory(1215000, 5120, slice=True), "MIG"),
    ],
)
def test_what_attributes_do_not_say_is_unknown(memory: Memory, why: str) -> None:
    limit = limits.dram_limit(memory)
    assert limit.value is None
    assert why in limit.why


def test_cycles() -> None:
    assert limits.cycle_limit(RATE).value == 256
    half = Rating(unit="tensor", dtype="f16", per_sm_clock=1024, half=True)
    assert limits.cycle_limit(half).value == 512
    assert limits.cycle_limit(None).value is None


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([250.0] * 21, "pass"),
        ([200.0] * 21, "fail"),
        ([256 * 1.02] * 21, "void"),
        ([220.0] * 10 + [250.0] * 11, "inconclusive"),
    ],
)
def test_the_interval_decides(values: list[float], verdict: str) -> None:
    measure = limits.figure(values, "FLOP/SM/clock", 256, 0.9)
    found = limits.against(CHECK, measure, limits.cycle_limit(RATE), "machine")
    assert found.verdict == verdict
    assert (found.blame is None) == (verdict == "pass")
    assert found.measure == measure


def test_an_unknown_limit_is_reported_and_not_judged() -> None:
    measure = limits.figure([100.0] * 21, "GB/s")
    limit = limits.dram_limit(Memory(0, 0))
    found = limits.against(CHECK, measure, limit, "machine")
    assert (found.verdict, found.value, found.limit) == ("inconclusive", "100", "unknown")
    assert found.reason.startswith("limit unknown")


class TestFloors:
    """A floor that is typed a thousand times too low can fail nothing."""

    @pytest.mark.parametrize("row", floors.FLOORS)
    def test_each_lies_between_half_and_all_of_the_limit(self, row: floors.Floor) -> None:
        assert 0.5 <= row.share < 1.0
        assert row.source
        assert row.figures

    @pytest.mark.parametrize("cc", sorted({row.cc for row in load_reference().rates}))
    @pytest.mark.parametrize("bus", [64, 384, 6016])
    def test_every_figure_of_every_device_has_one(self, cc: str, bus: int) -> None:
        for figure in ("fma.f32", "fma.f64", "dram.read", "dram.write", "dram.copy", "dram.triad"):
            assert 0.5 <= floors.floor_of(figure, cc, bus).share < 1.0

    def test_none_is_never_reached(self) -> None:
        parts = ((cc, bus) for cc in ("3.5", "6.1", "9.0") for bus in (384, 5120, 6016))
        names = {name for row in floors.FLOORS for name in row.figures}
        used = {floors.floor_of(name, cc, bus) for cc, bus in parts for name in names}
        assert used == set(floors.FLOORS)

    def test_measured_parts_are_asked_for_more(self) -> None:
        h200 = floors.floor_of("dram.read", "9.0", 6016).share
        assert h200 > floors.floor_of("dram.read", "8.0", 5120).share
        # T4 reaches 0.75, a cloud A100 of 40 GB 0.74: healthy both.
        assert floors.floor_of("dram.triad", "7.5", 256).share < 0.75
        assert floors.floor_of("dram.triad", "8.0", 5120).share < 0.74
