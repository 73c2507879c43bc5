"""How a toolkit of a vendor's archive comes to a machine itself: each step and its check."""

from typing import Any

import pytest

from envbuild.values.finding import Step
from tests.planner.ask import ask


def steps(source: str, **fields: Any) -> tuple[Step, ...]:  # noqa: ANN401
    plan = ask("6.1", where="host", toolkit_source=source, cuda="12.9", **fields)
    found = [finding for finding in plan.findings if finding.id == "host-install"]
    assert len(found) == 1
    return found[0].steps


def words(found: tuple[Step, ...]) -> str:
    return "\n".join(" ".join(step.argv) for step in found)


def test_on_wsl_the_key_is_checked_first_and_a_driver_is_kept_out() -> None:
    found = steps("apt", platform="wsl2", base_os="ubuntu24.04")
    assert all(step.why and step.check for step in found)
    assert "repos/wsl-ubuntu/x86_64/3bf863cc.pub" in words(found[:1])
    assert "EB693B3035CD5710E231E123A4B469963BF863CC and no other key" in found[0].check
    assert "Package: cuda /^cuda-[0-9]+-[0-9]+$/ cuda-drivers*" in words(found)
    assert words(found).index("no-cuda-driver") < words(found).index("apt-get update")
    assert found[-1].argv[-1] == "cuda-toolkit-12-9"
    assert "--no-install-recommends" in found[-1].argv
    assert "apt-key" not in words(found)


def test_elsewhere_the_machine_keeps_its_own_driver_packages() -> None:
    found = steps("apt", base_os="ubuntu24.04")
    assert "repos/ubuntu2404/x86_64/" in words(found)
    assert "preferences" not in words(found)
    assert "signed-by=" in words(found)


def test_on_arm_the_repository_is_the_servers() -> None:
    found = steps("apt", base_os="ubuntu24.04", arch="aarch64")
    assert "repos/ubuntu2404/sbsa/" in words(found)


@pytest.mark.parametrize("source", ["redist", "conda"])
def test_archives_need_no_root(source: str) -> None:
    found = steps(source, base_os="ubuntu24.04")
    assert words(found) == (
        f"envbuild build --engine local --cc 6.1 --toolkit-source {source} --cuda 12.9"
    )
    assert "sudo" not in words(found)
