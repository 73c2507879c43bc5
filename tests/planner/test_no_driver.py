"""A machine and its driver: missing, not holding the card, too old, the wrong modules, a vGPU's.

The hosts are made: cards by name, cc and PCI id as pci.ids and the vendor's tables have them.
"""

import pytest

from envbuild.matrix.load import load_names
from envbuild.planner.cards import is_vgpu
from envbuild.planner.ranges import numbers
from envbuild.values.codec import replace
from envbuild.values.finding import Finding
from envbuild.values.host import Driver, Gpu, Host, Jetson, Module, Os, Wsl
from envbuild.values.plan import Plan
from tests.planner.ask import ask, ids, table

PASCAL = Gpu(name="NVIDIA GeForce GTX 1080 Ti", cc="6.1", pci_id="10de:1b06")
ADA = Gpu(name="NVIDIA GeForce RTX 4070 SUPER", cc="8.9", pci_id="10de:2783")
BLACKWELL = Gpu(name="NVIDIA GeForce RTX 5090", cc="12.0", pci_id="10de:2b85")
GB10 = Gpu(name="NVIDIA GB10", cc="12.1", pci_id="10de:2e12")
TURING = Gpu(name="NVIDIA GeForce RTX 2080 Ti", cc="7.5", pci_id="10de:1e07")


def machine(
    *gpus: Gpu,
    driver: str | None = None,
    module: Module | None = None,
    source: str = "pci",
    system: str | None = "ubuntu24.04",
    arch: str = "x86_64",
) -> Host:
    return Host(
        kind="made",
        recorded="2026-12-02",
        gpus=tuple(replace(gpu, source=source) for gpu in gpus),
        driver=Driver(version=driver, module=module, source="nvml") if driver else None,
        os=Os(id=system, arch=arch),
    )


def found(plan: Plan, id: str) -> Finding:
    return next(f for f in plan.findings if f.id == id)


def commands(finding: Finding) -> str:
    return "\n".join(" ".join(step.argv) or step.text for step in finding.steps)


@pytest.mark.parametrize(
    ("gpu", "system", "says", "command"),
    [
        (PASCAL, "debian13", "R580 (580.173.02) with its proprietary", "cuda-drivers-580"),
        (PASCAL, "rockylinux9", "hold it there", "nvidia-driver:580-dkms"),
        (TURING, "ubuntu24.04", "with its open kernel modules", "nvidia-open"),
        (BLACKWELL, "rhel9", "with its open kernel modules", "nvidia-driver:595-open"),
        (BLACKWELL, "opensuse16", "with its open kernel modules", "G07"),
        (PASCAL, "kylin10", "R580", "NVIDIA-Linux-x86_64-580.173.02.run"),
    ],
)
def test_no_driver_is_the_first_warning(gpu: Gpu, system: str, says: str, command: str) -> None:
    plan = ask(host=machine(gpu, system=system))
    assert plan.outcome == "warn"
    warnings = [f for f in plan.findings if f.severity == "warn"]
    assert warnings[0].id == "driver-missing"
    assert says in warnings[0].says
    assert command in commands(warnings[0])
    assert all(step.check for step in warnings[0].steps)
    assert "driver_packages/" in warnings[0].source
    assert ("last branch" in warnings[0].says) is (gpu.cc == "6.1")


def test_what_nobody_looked_at_misses_nothing() -> None:
    assert "driver-missing" not in ids(ask("6.1"))
    # With a card or a driver from a flag the plan is for another machine than this.
    bare = machine(PASCAL)
    assert "driver-missing" not in ids(ask("8.6", host=bare))
    assert "driver-missing" not in ids(ask(host=bare, driver="580.95.05"))
    held = machine(PASCAL, driver="580.95.05", module="proprietary", source="nvml")
    assert not {"driver-missing", "card-not-driven"} & ids(ask(host=held))


def test_a_driver_that_the_card_does_not_use_is_spoken_of() -> None:
    plan = ask(host=machine(PASCAL, driver="580.95.05", module="proprietary"))
    assert "only the bus shows GeForce GTX 1080 Ti" in found(plan, "card-not-driven").says
    assert "lspci" in commands(found(plan, "card-not-driven"))


def test_cards_that_no_driver_holds_together_get_no_steps() -> None:
    missing = found(ask(host=machine(PASCAL, BLACKWELL)), "driver-missing")
    assert "none drives all its cards" in missing.says
    assert not missing.steps
    both = found(ask(host=machine(PASCAL, TURING)), "driver-missing")
    assert "R580" in both.says
    assert "cuda-drivers-580" in commands(both)


def test_on_wsl_the_driver_is_that_of_windows() -> None:
    here = replace(machine(TURING), platform="wsl2", wsl=Wsl(generation=2))
    missing = found(ask(host=here), "driver-missing")
    assert "on Windows, install driver" in commands(missing)
    assert "apt" not in commands(missing)


def test_a_jetson_has_the_driver_of_its_l4t() -> None:
    orin = Gpu(name="Orin", cc="8.7", source="devicetree")
    here = Host(kind="made", gpus=(orin,), platform="jetson", jetson=Jetson(l4t="36.4"),
                os=Os(id="ubuntu22.04", arch="aarch64"))  # fmt: skip
    assert "driver-missing" not in ids(ask(host=here))


@pytest.mark.parametrize("gpu", [GB10, ADA], ids=["gb10", "ada"])
def test_a_card_that_is_seen_at_work_is_not_too_new(gpu: Gpu) -> None:
    """Recorded by others: a DGX Spark with 580.95.05, older than the first listing of GB10."""
    driver, arch = ("580.82.07", "aarch64") if gpu is GB10 else ("535.183.06", "x86_64")
    seen = ask(host=machine(gpu, driver=driver, module="open", source="nvml", arch=arch))
    assert "driver-first" not in ids(seen)
    assert all(need.min is None or numbers(need.min) <= numbers(driver) for need in seen.driver)
    # Nobody saw it drive this one: it may be too old.
    assert "driver-first" in ids(ask(gpus=(gpu.name or "",), driver=driver), "warn")


@pytest.mark.parametrize(
    ("gpu", "driver", "outcome"),
    [
        ("GB10", "580.95.05", ""),
        ("GB10", "580.82.07", "warn"),
        ("GB10", "575.57.08", "error"),
        ("GB10", "570.211.01", "error"),
        ("H200", "550.90.07", ""),
        ("H200", "535.183.06", "warn"),
        ("H200", "515.65.01", "error"),
        ("GeForce RTX 4070 SUPER", "535.183.06", "warn"),
        ("GeForce RTX 4090", "520.61.05", "warn"),
        ("GeForce RTX 4090", "515.65.01", "error"),
        ("B300", "575.57.08", "error"),
        ("GeForce RTX 5090", "565.77", "error"),
        ("GeForce RTX 3090", "450.80.02", "error"),
        ("GeForce RTX 3090", "455.23.04", ""),
    ],
)
def test_the_first_listing_is_no_bound_and_the_first_branch_is(
    gpu: str, driver: str, outcome: str
) -> None:
    plan = ask(gpus=(gpu,), driver=driver)
    assert [f.severity for f in plan.findings if f.id == "driver-first"] == [outcome] * bool(
        outcome
    )


@pytest.mark.parametrize(
    ("gpu", "cuda", "least"),
    [
        ("GeForce RTX 4090", "12.8", "525.60.13"),
        ("H100", "12.8", "525.60.13"),
        ("GeForce RTX 4070 SUPER", "12.8", "525.60.13"),
        ("GeForce RTX 4090", "11.8", "520.61.05"),
        ("GeForce RTX 5060", "12.8", "570.86.16"),
        ("GeForce RTX 5060", "13.0", "580.65.06"),
        ("GB10", "13.0", "580.95.05"),
    ],
)
def test_the_least_driver_of_a_product_is_that_of_its_cc(gpu: str, cuda: str, least: str) -> None:
    plan = ask(gpus=(gpu,), cuda=cuda)
    assert [need.min for need in plan.driver] == [least]
    assert plan.driver[0].min == ask(plan.cc[0], cuda=cuda).driver[0].min


def test_no_product_is_listed_before_its_cc_is_driven() -> None:
    """What makes the first driver of a cc the floor of all its products."""
    for product in load_names().products:
        first = table().capability(product.cc).first_driver if product.cc else None
        if first is not None and product.first_driver is not None:
            assert numbers(product.first_driver) >= numbers(first), product.name


def test_a_card_seen_at_work_has_the_floor_of_its_cc() -> None:
    """Recorded by others: an RTX 5060 on 570.133.07, which lists it nowhere."""
    gpu = Gpu(name="NVIDIA GeForce RTX 5060", cc="12.0")
    seen = ask(host=machine(gpu, driver="570.133.07", module="open", source="nvml"))
    assert [need.min for need in seen.driver] == ["570.86.16"]


@pytest.mark.parametrize(
    ("gpu", "driver", "module", "needs"),
    [
        (BLACKWELL, "580.95.05", "proprietary", "open"),
        (GB10, "580.95.05", "proprietary", "open"),
        (PASCAL, "580.95.05", "open", "proprietary"),
        (PASCAL, "535.183.06", "open", "proprietary"),
    ],
)
def test_the_wrong_modules_are_no_wrong_version(
    gpu: Gpu, driver: str, module: Module, needs: Module
) -> None:
    arch = "aarch64" if gpu is GB10 else "x86_64"
    plan = ask(host=machine(gpu, driver=driver, module=module, arch=arch))
    assert plan.outcome == "refuse"
    assert f"driver {driver} with its {module} kernel modules" in plan.findings[0].says
    first, *install = plan.findings[0].steps
    branch = driver.partition(".")[0]
    assert f"keep the driver's branch, R{branch}" in first.why
    # Packages bring the newest release of the branch: no text or check asks for the one in hand.
    assert driver not in first.text + first.check
    assert f"with its {needs} kernel modules" in first.text
    assert first.check.startswith(f"cat /proc/driver/nvidia/version: {branch}, with")
    assert any(f"with its {needs} kernel modules" in step.why for step in install)
    right = machine(gpu, driver=driver, module=needs, arch=arch, source="nvml")
    assert ask(host=right).outcome != "refuse"


@pytest.mark.parametrize(
    ("gpu", "driver", "module"),
    [(PASCAL, "595.91.07", "open"), (BLACKWELL, "550.163.01", "proprietary")],
)
def test_the_wrong_version_is_not_kept(gpu: Gpu, driver: str, module: Module) -> None:
    plan = ask(host=machine(gpu, driver=driver, module=module))
    first, *install = plan.findings[0].steps
    assert "change the driver" in first.why
    assert install[-1].argv[-1] == "reboot"
    # What was only declared has no system to install on.
    assert len(ask(gpus=(gpu.name or "",), driver=driver).findings[0].steps) == 1


@pytest.mark.parametrize("name", ["GRID T4-16Q", "NVIDIA A40-8C", "GRID P40-24Q"])
def test_a_vgpu_takes_the_driver_of_its_hypervisor(name: str) -> None:
    assert is_vgpu(name)
    gpu = Gpu(name=name)
    for driver in ("550.163.01", None):
        source = "nvml" if driver else "pci"
        plan = ask(host=machine(gpu, driver=driver, source=source))
        (need,) = plan.driver
        assert (need.recommended, need.last_branch, need.module) == (None, None, None)
        assert found(plan, "vgpu").says.startswith(name)
        assert "driver-last-branch" not in ids(plan)
        assert "driver-ended" not in ids(plan)
        if driver is None:
            assert "hypervisor" in commands(found(plan, "driver-missing"))
            assert "apt" not in commands(found(plan, "driver-missing"))
    whole = ask(host=machine(Gpu(name="Tesla T4"), driver="550.163.01", source="nvml"))
    assert whole.driver[0].recommended


def torch(plan: Plan) -> str:
    return next(f.says for f in plan.findings if f.id in {"torch-newest", "torch-none"})


@pytest.mark.parametrize(
    ("cc", "driver", "has", "needs"),
    [
        ("7.5", "535.288.01", "535.288.01 runs: 2.14.1 from cu126", "580.65.06"),
        ("8.9", "580.95.05", "newest with code for 8.9: 2.15.0 from pypi", ""),
        ("6.1", "580.95.05", "newest with code for 6.1: 2.14.1 from cu126", ""),
        ("8.6", "470.256.02", "470.256.02 runs: 2.7.1 from cu118", "580.65.06"),
        ("12.0", "570.211.01", "570.211.01 runs: 2.11.0 from cu128", "580.65.06"),
    ],
)  # fmt: skip
def test_torch_is_named_by_the_driver_in_hand(cc: str, driver: str, has: str, needs: str) -> None:
    says = torch(ask(cc, driver=driver))
    assert has in says
    assert (" needs driver " in says) is bool(needs)
    assert needs in says
    # With no driver known the newest is named, whatever it needs.
    assert "runs" not in torch(ask(cc))


def test_torch_on_wsl_is_named_by_the_drivers_of_windows() -> None:
    says = torch(ask("7.5", platform="wsl2", driver="537.58"))
    assert "that driver 537.58 runs: 2.14.1 from cu126" in says
    assert "needs driver 580 or newer" in says


def test_a_container_installs_no_driver() -> None:
    bare = found(ask(host=machine(ADA)), "driver-missing")
    inside = replace(machine(ADA), inside_container="kubernetes")
    told = found(ask(host=inside), "driver-missing")
    assert "apt-get" in commands(bare)
    assert "another node" in commands(told)
    assert "sudo" not in commands(told)
    # Nor after a refusal.
    old = machine(PASCAL, driver="595.58.03", module="open", source="pci")
    for host, steps in ((old, True), (replace(old, inside_container="docker"), False)):
        refused = ask(host=host)
        assert refused.outcome == "refuse"
        assert ("apt-get" in commands(refused.findings[0])) is steps


@pytest.mark.parametrize(
    ("held", "id"),
    [("vfio-pci", "card-for-a-guest"), ("nouveau", "driver-missing"), (None, "driver-missing")],
)
def test_a_card_for_a_virtual_machine_is_no_card_of_this_one(held: str | None, id: str) -> None:
    away = replace(ADA, held_by=held)
    plan = ask(host=machine(away))
    assert ids(plan) & {"card-for-a-guest", "driver-missing"} == {id}
    # Beside a card that is driven it is nothing to warn of.
    both = machine(ADA, driver="595.58.03", module="open", source="nvml")
    both = replace(both, gpus=(*both.gpus, replace(away, source="pci")))
    assert ("card-not-driven" in ids(ask(host=both))) is (held != "vfio-pci")


def test_the_system_of_a_dgx_spark_brings_its_driver() -> None:
    spark = found(ask(host=machine(GB10, arch="aarch64")), "driver-missing")
    assert "DGX Dashboard" in spark.steps[0].text
    assert "situations/maker-system" in spark.source
    other = found(ask(host=machine(BLACKWELL)), "driver-missing")
    assert "DGX" not in commands(other)
