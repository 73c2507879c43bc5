"""What the record of a machine says of its driver beside the version; each both ways."""

import pytest

from envbuild.values.codec import replace
from envbuild.values.host import Driver, Gpu, Host, Probe
from tests.planner.ask import ask, ids
from tests.planner.test_containers import commands, found
from tests.planner.test_machine import host


def with_driver(version: str | None, cuda: str | None, **more: object) -> Host:
    """An RTX 5090 of tests/hosts, made to have this driver."""
    made = replace(host("rtx5090-docker-cdi"), driver=Driver(version=version, cuda=cuda))
    return replace(made, **more)


@pytest.mark.parametrize(
    ("version", "cuda", "planned", "told"),
    [
        ("575.57.08", "12.9", "12.9", False),
        ("575.57.08", "13.0", "12.9", True),
        # Lower than its own may be true of the tool that was asked; no row of a newer branch.
        ("580.95.05", "12.9", "12.9", False),
        ("999.10", "15.0", "13.5", False),
    ],
)
def test_a_cuda_level_that_is_not_the_driver_s(
    version: str, cuda: str, planned: str, told: bool
) -> None:
    plan = ask(host=with_driver(version, cuda))
    assert plan.cuda is not None
    assert plan.cuda.startswith(planned)
    assert ("driver-cuda-level" in ids(plan)) is told
    if told:
        finding = found(plan, "driver-cuda-level")
        assert (finding.severity, bool(finding.source)) == ("warn", True)
        assert "cuda-compat" in finding.why


@pytest.mark.parametrize(
    ("version", "flag", "told"),
    [(None, None, True), ("580.95.05", None, False), (None, "580.95.05", False)],
)
def test_a_driver_whose_version_was_not_read(
    version: str | None, flag: str | None, told: bool
) -> None:
    plan = ask(host=with_driver(version, None), driver=flag)
    assert ("driver-unread" in ids(plan)) is told
    assert not told or (plan.outcome, "driver" in commands(found(plan, "driver-unread"))) == (
        "warn",
        True,
    )


def test_no_driver_is_not_one_that_was_not_read() -> None:
    assert "driver-unread" not in ids(ask(host=replace(with_driver(None, None), driver=None)))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "install on the machine, not in the image: "),
        ({"inside_container": "kubernetes"}, "this is a container (kubernetes)"),
        ({"platform": "wsl2"}, "install on Windows, nothing inside WSL: "),
    ],
)
def test_who_installs_another_driver(more: dict[str, object], text: str) -> None:
    version = "576.02" if more.get("platform") == "wsl2" else "575.57.08"
    plan = ask(host=with_driver(version, "12.9", **more), packages="torch==2.15.0")
    assert plan.outcome == "refuse"
    assert any(step.text.startswith(text) for step in plan.findings[0].steps)


@pytest.mark.parametrize(("pci", "module"), [("10de:2342", "open"), ("10de:2330", "either")])
def test_modules_of_a_card_that_only_the_bus_shows(pci: str, module: str) -> None:
    """10de:2342 is a GH200 by every row: open modules alone. An H100 takes either."""
    card = Gpu(name=None, cc="9.0", pci_id=pci, source="pci")
    plan = ask(host=with_driver("580.95.05", "13.0", gpus=(card,)))
    assert plan.driver[0].module == module


def test_a_card_that_the_driver_does_not_hold_sends_to_the_doctor() -> None:
    card = Gpu(name=None, cc="8.6", pci_id="10de:2204", source="pci")
    failed = Probe(name="nvml", ok=False, says="Driver/library version mismatch")
    plan = ask(host=with_driver("580.95.05", None, gpus=(card,), probes=(failed,)))
    assert "envbuild doctor" in commands(found(plan, "card-not-driven"))


@pytest.mark.parametrize(
    ("ccs", "module", "last", "recommended"),
    [
        (("6.1", "8.9"), "proprietary", 580, "580.173.02"),
        (("3.7", "7.5"), "proprietary", 470, "470.256.02"),
        (("8.6", "8.9"), "either", None, "580.173.02"),
    ],
)
def test_one_machine_has_one_driver(
    ccs: tuple[str, ...], module: str, last: int | None, recommended: str
) -> None:
    """Two cards of one machine: one window, not a line for each. As a wish they may be two."""
    cards = tuple(Gpu(name=None, cc=cc, source="nvml") for cc in ccs)
    version = "470.256.02" if last == 470 else "580.95.05"
    needs = ask(host=with_driver(version, None, gpus=cards)).driver
    assert [need.cc for need in needs] == list(ccs)
    assert {(n.module, n.last_branch, n.recommended) for n in needs} == {
        (module, last, recommended)
    }
    declared = ask(",".join(ccs), driver=version).driver
    assert (len({n.module for n in declared}) == 2) is (last is not None)


@pytest.mark.parametrize(("cc", "held"), [("6.1", True), ("12.0", False)])
def test_on_windows_the_steps_are_those_of_the_doctor(cc: str, held: bool) -> None:
    card = Gpu(name=None, cc=cc, source="nvml")
    here = with_driver("591.44" if held else "522.06", None, gpus=(card,), platform="wsl2")
    plan = ask(host=here)
    assert plan.outcome == "refuse"
    words = commands(plan.findings[0])
    assert "developer.nvidia.com/cuda/wsl" in words
    assert ("decline newer drivers" in words) is held
    assert "apt-get" not in words
