"""Each condition of the rows, where it holds and where it does not."""

from typing import Any

import pytest

from envbuild.advice.scene import Scene
from envbuild.advice.when import CONDITIONS, holds
from envbuild.values.diagnosis import Seen
from tests.cases.machines import host_of

SIDES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "wsl2": ({"wsl": True}, {}),
    "jetson": ({"l4t": "r36.4"}, {}),
    "native": ({}, {"wsl": True}),
    "driver-works": ({}, {"nvidia_smi": "No devices were found"}),
    "podman": ({"podman": "5.4.2"}, {}),
    "apt": ({"os": "debian13"}, {"os": "fedora43"}),
    "rpm": ({"os": "rockylinux9"}, {"os": "ubuntu24.04"}),
    "vgpu": ({"gpus": [{"name": "NVIDIA A10-24Q", "cc": 8.6}]}, {}),
    "mig": ({"gpus": [{"name": "NVIDIA A100-SXM4-40GB", "mig_mode": True}]}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", SIDES)
def test_a_condition_has_two_sides(name: str) -> None:
    there, elsewhere = (Scene(host=host_of(given)) for given in SIDES[name])
    assert holds(name, there)
    assert not holds(name, elsewhere)
    assert holds(f"not-{name}", elsewhere)


def test_another_text_of_the_logs_can_be_asked_for() -> None:
    seen = Seen(id="image-build", log="log", line=1, text="")
    assert holds("saw-image-build", Scene(seen=(seen,)))
    assert holds("not-saw-image-build", Scene())


def test_every_condition_is_tested() -> None:
    assert CONDITIONS.keys() == SIDES.keys()
