"""What doctor says of drivers: their level, their branch, what holds them and whose they are."""

import pytest

from envbuild.advice.scene import Scene
from envbuild.values.codec import Pairs, replace
from envbuild.values.host import (
    Driver,
    Gpu,
    Host,
    Kernel,
    Os,
    Pin,
    Probe,
)
from tests.advice.machines import PASCAL, SMI, bare, made, told
from tests.cases.machines import host_of


def test_a_card_whose_drivers_ended_is_watched_until_its_branch_is_held() -> None:
    loose = made({"gpus": [PASCAL]}, packages=Pairs({"cuda-drivers": "580.95.05-1"}))
    found = next(f for f in told(loose) if f.id == "driver-not-held")
    assert found.severity == "watch"
    assert "nvidia-driver-pinning-580" in found.steps[0].argv
    for held in (
        replace(loose, held=("cuda-drivers",)),
        replace(loose, packages=Pairs({"cuda-drivers-580": "580.95.05-1"})),
        replace(
            loose,
            pins=(Pin(path="/etc/apt/preferences.d/x", package="*nvidia*", rule="version 580.*"),),
        ),
        replace(host_of({}), packages=loose.packages),
    ):
        assert "driver-not-held" not in {f.id for f in told(held)}


@pytest.mark.parametrize(
    ("version", "cuda", "id", "says"),
    [
        ("535.288.01", "12.8", "driver-cuda-level", "serves up to CUDA 12.2"),
        ("535.288.01", "12.2", "", "serves up to CUDA 12.2"),
        ("535.288.01", None, "", "serves up to CUDA 12.2"),
        # Lower than its own may be true of what was asked.
        ("580.95.05", "12.9", "", "serves up to CUDA 12.9"),
        (None, None, "driver-unread", "driver: version not read"),
    ],
)
def test_the_level_of_a_driver_is_its_own(
    version: str | None, cuda: str | None, id: str, says: str
) -> None:
    host = made({}, driver=Driver(version=version, cuda=cuda))
    if version is None:
        host = replace(host, kernel=Kernel(), libraries=(), packages=Pairs())
    found = {f.id: f for f in told(host)}
    assert found.keys() & {"driver-cuda-level", "driver-unread"} == ({id} if id else set())
    assert says in found["cuda-versions"].says


def test_a_card_that_a_driver_does_not_hold_is_never_called_sound() -> None:
    card = Gpu(cc="8.6", pci_id="10de:2204", source="pci")
    lone = Host(kind="made", gpus=(card,), driver=Driver(version="580.95.05"), platform="linux")
    lone = replace(lone, os=Os(id="ubuntu24.04", arch="x86_64"))
    assert {f.id for f in told(lone)} >= {"card-not-driven"}
    # Where a reason is known, that is told instead.
    for other, id in (
        (
            replace(
                lone,
                driver=Driver(version="580.95.05"),
                gpus=(Gpu(cc="3.7", pci_id="10de:102d", source="pci"),),
            ),
            "driver-too-new-for-gpu",
        ),
        (
            replace(
                lone, probes=(Probe(name="nvml", ok=False, says="Driver/library version mismatch"),)
            ),
            "nvml-mismatch",
        ),
        (replace(lone, gpus=(replace(card, held_by="vfio-pci"),)), "card-for-a-guest"),
    ):
        found = {f.id for f in told(other)}
        assert id in found
        assert "card-not-driven" not in found


def test_a_card_on_a_system_with_a_way_of_its_own_has_the_steps_of_the_plan() -> None:
    for system in ("nixos25.11", "alpine3.22", "kylin10", "sles15", "ubuntu24.04"):
        host = bare(os=Os(id=system, arch="x86_64"))
        finding = next(f for f in told(host) if f.id == "driver-missing")
        plan = Scene(host=host, image=None, seen=(), logs=()).plan()
        assert plan is not None
        planned = next(f for f in plan.findings if f.id == "driver-missing")
        assert planned.steps == finding.steps


def test_a_driver_that_is_held_or_newer_goes_first() -> None:
    host = made(
        {"gpus": [PASCAL], "driver": "595.71.05", "nvidia_smi": SMI},
        packages=Pairs(
            {"nvidia-driver-595-open": "595.71.05", "nvidia-container-toolkit": "1.18.1"}
        ),
        held=("nvidia-driver-595-open",),
    )
    steps = [step.argv[1:3] + step.argv[-1:] for step in told(host)[0].steps[:2]]
    assert steps == [
        ("apt-mark", "unhold", "nvidia-driver-595-open"),
        ("apt-get", "purge", "nvidia-driver-595-open"),
    ]


def test_holes_of_the_toolkit_warn_only_where_fixes_were_missed() -> None:
    levels = {
        version: next((f.severity for f in told(host_of({"container_toolkit": version}))
                       if f.id == "container-toolkit-old"), None)
        for version in ("1.16.1", "1.17.7", "1.18.1", "1.20.0")
    }  # fmt: skip
    assert levels == {"1.16.1": "warn", "1.17.7": "warn", "1.18.1": "info", "1.20.0": None}
