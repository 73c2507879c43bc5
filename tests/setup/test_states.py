"""What is ticked, what is open, and that unknown stays unknown."""

import pytest

from envbuild.values.codec import Pairs, replace
from envbuild.values.host import Config, Driver, Host, Kernel, KernelModule, Pin, Windows, Wsl
from tests.setup.machines import MADE, PASCAL, linux, wsl
from tests.setup.made import asked, of_machine, section


def state(host: Host, id: str) -> str:
    kind = "wsl2" if host.platform == "wsl2" else "ubuntu"
    return section(asked(kind, host), id).state  # type: ignore[arg-type]


def test_a_ready_machine_is_ticked() -> None:
    made = of_machine("ubuntu24-ready")
    states = {one.id: one.state for one in made.sections}
    assert states["driver"] == states["driver-runs"] == "done"
    assert states["docker"] == states["container-toolkit"] == "done"
    # That a container sees the GPU nobody looked at: it must be run.
    assert states["container-gpu"] == states["smoke"] == "unknown"


@pytest.mark.parametrize(
    ("version", "expected"),
    [("580.95.05", "done"), ("418.39", "open"), ("590.48.01", "open"), ("word", "unknown")],
)
def test_a_drivers_window(version: str, expected: str) -> None:
    driver = Driver(version=version, module="proprietary")
    host = linux("ubuntu24.04", *PASCAL, driver)
    if version == "word":
        host = replace(host, driver=Driver())
    assert state(host, "driver-runs") == expected


def test_modules_of_the_wrong_kind_are_open() -> None:
    host = linux("ubuntu24.04", *PASCAL, Driver(version="580.95.05", module="open"))
    assert state(host, "driver") == state(host, "driver-runs") == "open"


def test_a_driver_on_disk_that_is_not_loaded() -> None:
    module = KernelModule(name="nvidia", on_disk="580.173.02", flavour="proprietary")
    host = linux("ubuntu24.04", *PASCAL, kernel=Kernel(modules=(module,), secure_boot=True))
    assert state(host, "driver") == "done"
    assert state(host, "driver-runs") == "open"
    assert section(asked("ubuntu", host), "secure-boot").state == "unknown"
    off = replace(host, kernel=Kernel(secure_boot=False))
    assert all(one.id != "secure-boot" for one in asked("ubuntu", off).sections)


def test_nothing_that_nobody_looked_at_is_missing() -> None:
    bare = Host(kind="made", gpus=MADE["ubuntu24-ready"].gpus, os=MADE["ubuntu24-ready"].os)
    assert {one.state for one in asked("ubuntu", bare).sections} == {"unknown"}
    assert {one.state for one in asked("ubuntu", cc=("8.9",)).sections} == {"unknown"}


def test_a_pin_is_seen() -> None:
    host = linux("ubuntu24.04", *PASCAL)
    assert state(host, "hold-driver") == "unknown"
    pin = Pin(path="/etc/apt/preferences.d/x", package="cuda-drivers", rule="version 580.*")
    assert state(replace(host, pins=(pin,)), "hold-driver") == "done"
    assert state(replace(host, held=("nvidia-driver-580",)), "hold-driver") == "done"


@pytest.mark.parametrize(
    ("version", "expected"), [("581.42", "done"), ("591.74", "open"), ("472.12", "open")]
)
def test_windows_numbers_its_branches_otherwise(version: str, expected: str) -> None:
    host = wsl(*PASCAL, version)
    assert state(host, "windows-driver") == expected
    assert state(host, "hold-windows-driver") == expected


def test_the_windows_side_as_it_is_seen_from_inside() -> None:
    windows = Windows(
        build="10.0.22631.4317", driver="581.57", counters_for_all=False, debugger_interface=True
    )
    config = Config(path="/mnt/c/Users/x/.wslconfig", values=Pairs({"wsl2.kernel": "C:\\\\k"}))
    host = replace(wsl("GeForce RTX 4090", "8.9", "581.57"), windows=windows, configs=(config,))
    expected = {
        "windows": "done",
        "windows-driver": "done",
        "wsl": "done",
        "distribution": "done",
        "wslconfig": "open",
        "counters": "open",
        "debugger": "done",
        "gpu": "done",
        "systemd": "done",
    }
    made = asked("wsl2", host)
    assert {id: section(made, id).state for id in expected} == expected
    old = replace(windows, build="10.0.18363.1")
    assert state(replace(host, windows=old), "windows") == "open"


def test_packages_of_a_linux_driver_in_wsl_are_named() -> None:
    found = section(of_machine("wsl-linux-driver"), "no-linux-driver")
    assert found.state == "open"
    assert "libnvidia-compute-535" in found.seen
    assert "nvidia-cuda-toolkit" in found.seen
    clean = replace(MADE["wsl-linux-driver"], packages=Pairs({"nvidia-container-toolkit": "1.18"}))
    assert state(clean, "no-linux-driver") == "done"


def test_wsl_1_becomes_2() -> None:
    host = Host(kind="made", platform="wsl1", wsl=Wsl(generation=1, distro="Debian"))
    found = section(asked("wsl2", host, cc=("8.9",)), "distribution")
    assert found.state == "open"
    assert found.steps[0].argv == ("wsl.exe", "--set-version", "Debian", "2")


def test_a_driver_that_stands_in_the_way_is_changed_and_not_planned_for() -> None:
    made = asked("ubuntu", linux("ubuntu24.04", *PASCAL, Driver(version="595.45.04")))
    assert "CUDA 12.9" in made.about[0]
    assert section(made, "driver").state == "open"
    # Where nobody can change it, the plan must fit it.
    rented = of_machine("rented-a100")
    assert "CUDA 12.2" in rented.about[0]
    assert section(rented, "driver").state == "done"
