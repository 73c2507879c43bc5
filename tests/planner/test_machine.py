"""What a plan says of cards and machines: undriven cards, MIG, vGPU."""

from pathlib import Path
from typing import Any

import pytest

from envbuild.advice.doctor import diagnose
from envbuild.advice.scene import Scene
from envbuild.planner.cards import is_vgpu
from envbuild.values.codec import Pairs, replace
from envbuild.values.codec import load as read
from envbuild.values.host import Driver, Gpu, Host, Mig, Module, Os
from tests.planner.ask import ask, ids

HOSTS = Path(__file__).resolve().parents[1] / "hosts"


def host(name: str) -> Host:
    return read(Host, (HOSTS / f"{name}.json").read_bytes(), name)


def says(plan_host: Host, id: str) -> list[str]:
    return [f"{f.says}: {f.why}" for f in ask(host=plan_host).findings if f.id == id]


def test_a_second_card_that_only_the_bus_shows_is_spoken_of() -> None:
    """Made: the 5090's machine with a GTX 1080 Ti on its bus (open-gpu-kernel-modules#696)."""
    here = host("rtx5090-gtx1080ti-open")
    pascal = Gpu(name="NVIDIA GeForce GTX 1080 Ti", cc="6.1", pci_id="10de:1b06", source="pci")
    driven = tuple(gpu for gpu in here.gpus if gpu.source != "pci")
    both = replace(here, gpus=(*driven, pascal))
    plan = ask(host=both)
    assert plan.cc == ("12.0",)
    (text,) = says(both, "card-not-driven")
    assert "GTX 1080 Ti" in text
    assert "needs the proprietary ones" in text
    assert "needs a machine of its own" in text
    assert not says(replace(here, gpus=driven), "card-not-driven")
    newer = replace(both, driver=replace(here.driver, version="590.48.01", module=None))
    assert "R580 is its last driver branch" in says(newer, "card-not-driven")[0]
    # A machine whose only cards are undriven is planned for them.
    assert ask(host=replace(both, gpus=(pascal,), driver=None)).cc == ("6.1",)


ADA = Gpu(name="NVIDIA GeForce RTX 4090", cc="8.9", source="nvml")
AMPERE = Gpu(name="NVIDIA GeForce RTX 3060", cc="8.6", source="nvml")
PASCAL = Gpu(name="NVIDIA GeForce GTX 1080 Ti", cc="6.1", source="pci")
KEPLER = Gpu(name="NVIDIA GeForce GT 710", cc="3.5", source="pci")


@pytest.mark.parametrize(
    ("cards", "driver", "module", "why", "one"),
    [
        ((ADA, PASCAL), "580.95.05", "open", "needs the proprietary ones", "install R580"),
        ((ADA, PASCAL), "610.43.02", "open", "R580 is its last driver branch", "install R580"),
        ((AMPERE, KEPLER), "580.95.05", "proprietary", "R470 is its last", "install R470"),
        ((ADA, KEPLER), "580.95.05", "proprietary", "needs a machine of its own", ""),
        ((ADA, PASCAL), "580.95.05", "proprietary", "by another driver, or by none", ""),
    ],
)
def test_one_driver_for_both_cards_is_named_where_there_is_one(
    cards: tuple[Gpu, Gpu], driver: str, module: Module, why: str, one: str
) -> None:
    """Made: two cards on one bus, of which the driver in hand holds the first."""
    here = Host(
        kind="made",
        gpus=cards,
        driver=Driver(version=driver, module=module),
        os=Os(id="ubuntu24.04", arch="x86_64"),
        platform="linux",
    )
    (found,) = (f for f in ask(host=here).findings if f.id == "card-not-driven")
    assert why in found.why
    assert ("needs a machine of its own" in found.why) is (cards == (ADA, KEPLER))
    assert [one in step.text for step in found.steps] == [True] * bool(one)


@pytest.mark.parametrize(
    ("instances", "id"), [(("MIG-1", "MIG-2"), "mig"), ((), "mig-no-instance")]
)
def test_a_partitioned_card(instances: tuple[str, ...], id: str) -> None:
    here = host("h200")
    whole = here.gpus[0]
    cut = replace(whole, mig=Mig(enabled=True, instances=instances))
    found = ids(ask(host=replace(here, gpus=(cut,))))
    assert {"mig", "mig-no-instance"} & found == {id}
    assert not {"mig", "mig-no-instance"} & ids(ask(host=here))


def test_a_slice_of_a_card_in_a_virtual_machine() -> None:
    here = host("h200")
    slice_ = replace(here.gpus[0], name="NVIDIA H200-18C")
    assert "vgpu" in ids(ask(host=replace(here, gpus=(slice_,))), "watch")
    assert "vgpu" not in ids(ask(host=here))
    assert not is_vgpu("NVIDIA A100-SXM4-40GB")
    assert is_vgpu("GRID T4-2B4")


def test_a_slice_of_a_card_is_known_by_its_name() -> None:
    assert "mig" in ids(ask(gpus=("NVIDIA A100-SXM4-80GB MIG 1g.10gb",)))
    assert "mig" not in ids(ask(gpus=("NVIDIA A100-SXM4-80GB",)))


def test_what_is_said_of_the_machine_does_not_change_an_image() -> None:
    assert "not-of-image" in ids(ask("8.0", glibc="2.17"), "watch")
    assert "not-of-image" not in ids(ask("8.0", glibc="2.35", gcc="11", where="host"))


def test_a_name_that_lies_says_so() -> None:
    assert "name-note" in ids(ask(gpus=("Quadro M4000M",)), "info")
    assert "name-note" not in ids(ask(gpus=("GTX 1080 Ti",)))


def test_cards_that_the_profilers_left() -> None:
    assert "profilers" in ids(ask("6.1"), "info")
    assert "profilers" not in ids(ask("9.0"))


def test_a_known_machine_is_judged_by_its_own_way_in() -> None:
    """CDI reads no requirement: the purge alone is enough there, and nothing is refused."""
    here = host("rtx5090-docker-cdi")
    old = replace(here, driver=replace(here.driver, version="570.124.06", cuda="12.8"))
    plan = ask(host=old, cuda="12.9", toolkit_source="image")
    assert "image-require" not in ids(plan)
    assert "image-compat" in ids(plan, "info")
    assert plan.layout.purge_compat
    declared = ask("12.0", driver="570.124.06", cuda="12.9", toolkit_source="image")
    assert "image-require" in ids(declared, "warn")


def _board(count: int, pci_id: str = "10de:2330", **fields: Any) -> Host:  # noqa: ANN401
    """Made: a machine with so many of these GPUs; the ids are those of `gpus.yaml`."""
    cc = {"10de:2330": "9.0", "10de:2331": "9.0", "10de:3182": "10.3"}[pci_id]
    gpus = (Gpu(cc=cc, pci_id=pci_id, source="nvml", fabric=fields.pop("fabric", None)),) * count
    driver = Driver(version="580.95.05", cuda="13.0", module="open")
    made = Host(kind="made", gpus=gpus, driver=driver, os=Os(id="ubuntu24.04", arch="x86_64"))
    return replace(made, **fields)


@pytest.mark.parametrize(
    ("here", "severity", "text"),
    [
        (_board(8), "watch", "not known"),
        (_board(7), None, ""),
        (_board(8, "10de:2331"), None, ""),  # on PCIe cards
        (_board(2, nvswitches=4), "watch", "not known"),
        (_board(8, fabric="completed"), None, ""),
        (_board(8, fabric="in-progress"), "warn", "wait to be joined"),
        (_board(8, services=Pairs({"nvidia-fabricmanager": "active"})), "watch", "not known"),
        (_board(8, services=Pairs({"docker": "active"})), "warn", "is not installed"),
        (_board(8, services=Pairs({"nvidia-fabricmanager": "failed"})), "warn", "is failed"),
        (
            _board(8, packages=Pairs({"nvidia-fabricmanager-580": "580.82.07-1"})),
            "warn",
            "580.82.07 is not of the driver's version 580.95.05",
        ),
        (_board(8, driver=None), "watch", "the driver alone does not join them"),
    ],
)
def test_gpus_behind_nvswitches_need_the_fabric_manager(
    here: Host, severity: str | None, text: str
) -> None:
    found = [f for f in ask(host=here).findings if f.id == "fabric-manager"]
    assert [f.severity for f in found] == ([severity] if severity else [])
    assert all(text in f.why and f.steps for f in found)
    # What `doctor` calls a fault is a warning of the plan, and the other way round.
    told = {f.id for f in diagnose(Scene(host=here))}
    assert ("fabric-manager" in told) == (severity == "warn")


def test_the_switches_of_a_newer_board_need_their_subnet_manager() -> None:
    (found,) = (f for f in ask(host=_board(8, "10de:3182")).findings if f.id == "fabric-manager")
    assert any("nvidia-fabricmanager=580.95.05*' nvlsm" in " ".join(s.argv) for s in found.steps)
    inside = _board(8, "10de:3182", inside_container="docker")
    (found,) = (f for f in ask(host=inside).findings if f.id == "fabric-manager")
    assert "ask who runs the machine" in found.steps[0].text


@pytest.mark.parametrize(
    ("l4t", "told"),
    [("r32.4.4", True), ("32.7", False), ("r32.7.1", False), ("r32.7.6", False), ("r36.4", False)],
)
def test_an_image_that_is_newer_than_the_jetson_it_borrows_cuda_from(
    l4t: str, *, told: bool
) -> None:
    """The image of L4T 32 is one tag, 32.7.1; later ones hold their own CUDA (`jetson.yaml`)."""
    cc = "6.2" if "32" in l4t else "8.7"
    assert ("l4t-image-newer" in ids(ask(cc, l4t=l4t), "warn")) is told
