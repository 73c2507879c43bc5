"""A plan for a machine itself: the toolkit that is there, its host compiler, root without sudo.

All machines are *made*: what a rented machine of an image with CUDA 12.4 shows, changed in one way.
"""

from typing import Any

import pytest

from envbuild.values.codec import replace
from envbuild.values.finding import Finding
from envbuild.values.host import Driver, Gpu, Host, Os, Probe, Tool
from envbuild.values.plan import Plan
from tests.planner.ask import ask, ids

GCC = tuple(Tool(name=name, version="11.4.0", path=f"/usr/bin/{name}") for name in ("gcc", "g++"))


def cuda(version: str, path: str) -> dict[str, Any]:
    nvcc = Tool(name="nvcc", version=version, path=f"{path}/bin/nvcc")
    return {"toolkits": (Tool(name="cuda", version=version, path=path),), "compilers": (*GCC, nvcc)}


RENTED = Host(
    kind="recorded",
    gpus=(Gpu(name="NVIDIA H100 PCIe", cc="9.0", source="nvml"),),
    driver=Driver(version="550.127.05", cuda="12.4", module="open"),
    os=Os(id="ubuntu22.04", glibc="2.35", arch="x86_64"),
    inside_container="docker",
    compilers=GCC,
)


def here(**changes: Any) -> Plan:  # noqa: ANN401
    return ask(host=replace(RENTED, **changes), where="host")


def one(plan: Plan, id: str) -> Finding:
    (found,) = (f for f in plan.findings if f.id == id)
    return found


def test_a_toolkit_that_is_there_is_used() -> None:
    plan = here(**cuda("12.4.1", "/usr/local/cuda-12.4"))
    assert plan.cuda == "12.4.1"
    assert "host-install" not in ids(plan)
    (step,) = one(plan, "toolkit-here").steps
    assert "CUDA_HOME=/usr/local/cuda-12.4 " in step.text
    # Without it the plan says how to install one; nor is a runtime without nvcc a toolkit.
    bare = cuda("12.4.1", "/usr/local/cuda-12.4") | {"compilers": GCC}
    for plan in (here(), here(**bare)):
        assert {"host-install"} <= ids(plan)
        assert not {"toolkit-here", "toolkit-other"} & ids(plan)
    # An image has its own.
    image = ask(host=replace(RENTED, **cuda("12.4.1", "/usr/local/cuda-12.4")))
    assert not {"toolkit-here", "toolkit-other"} & ids(image)


def test_wheels_of_a_toolkit_that_is_there_are_no_packages_of_the_plan() -> None:
    newer = {"driver": Driver(version="580.95.05", cuda="13.0", module="open")}
    wheels = "cuda-toolkit[nvcc,"
    assert any(p.startswith(wheels) for p in here(**newer).packages)
    there = here(**newer, **cuda("13.0.2", "/usr/local/cuda-13.0"))
    assert not any(p.startswith(wheels) for p in there.packages)


@pytest.mark.parametrize(
    ("version", "told"), [("12.1.1", True), ("11.7.1", False), ("13.0.2", False)]
)
def test_another_toolkit_that_would_do_is_named(version: str, *, told: bool) -> None:
    """11.7 has no code for 9.0; 13.0 needs a newer driver."""
    plan = here(**cuda(version, "/usr/local/cuda"))
    assert ("toolkit-other" in ids(plan)) is told
    if told:
        (step,) = one(plan, "toolkit-other").steps
        assert step.argv[:4] == ("envbuild", "plan", "--cc", "9.0")
        assert "12.1" in step.argv


@pytest.mark.parametrize(
    ("changes", "install"),
    [
        ({}, None),
        ({"compilers": GCC[:1]}, "apt-get update && apt-get install -y g++"),
        ({"compilers": (), "probes": (Probe(name="compilers", ok=True),)}, "install -y g++"),
        ({"compilers": (), "probes": (Probe(name="compilers", ok=False),)}, None),
        ({"compilers": GCC[:1], "kind": "made"}, None),
        ({"compilers": GCC[:1], "os": replace(RENTED.os, id="rocky9")}, "dnf install -y gcc-c++"),
        ({"compilers": GCC[:1], "os": replace(RENTED.os, id="plan9")}, ""),
    ],
)
def test_a_missing_host_compiler_is_a_step(changes: dict[str, Any], install: str | None) -> None:
    plan = here(**changes)
    assert ("host-compiler-missing" in ids(plan, "warn")) is (install is not None)
    if install is not None:
        (step,) = one(plan, "host-compiler-missing").steps
        assert install in " ".join(step.argv)
        assert step.argv or "install g++" in step.text


def test_a_compiler_that_the_toolkit_takes_is_asked_for_by_its_name() -> None:
    """CUDA 12.4 takes gcc up to 13."""
    newer = tuple(replace(tool, version="14.2.0") for tool in GCC)
    step = one(here(compilers=newer), "host-compiler-missing").steps[0]
    assert "g++-13" in " ".join(step.argv)
    both = (*newer, Tool(name="g++-13", version="13.3.0", path="/usr/bin/g++-13"))
    assert "host-compiler-missing" not in ids(here(compilers=both))


@pytest.mark.parametrize(
    ("changes", "sudo"),
    [({"root": True}, False), ({"root": False}, True), ({}, True),
     ({"root": True, "inside_container": None}, True)],
)  # fmt: skip
def test_root_in_a_container_is_told_no_sudo(changes: dict[str, Any], *, sudo: bool) -> None:
    steps = one(here(**changes), "host-install").steps
    words = [word for step in steps for word in (*step.argv, step.text, step.check)]
    assert any("sudo" in word for word in words) is sudo
    assert any("apt-get install" in " ".join(step.argv) for step in steps)
