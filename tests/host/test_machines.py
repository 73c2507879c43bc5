"""Every made machine: what `detect` makes of it is what ``tests/hosts`` holds."""

from pathlib import Path

import pytest

from envbuild.host.access import best_access
from envbuild.host.load import load_host
from envbuild.values.codec import dump
from envbuild.values.host import Host
from tests.host.answers import FULL, NO_DRIVER
from tests.host.fakes import Machine
from tests.host.machines import MACHINES

HOSTS = Path(__file__).parent.parent / "hosts"


def stored(name: str) -> Host:
    return load_host(HOSTS / f"{name}.json")


@pytest.mark.parametrize("name", MACHINES)
def test_detected_host_is_the_stored_one(name: str, tmp_path: Path) -> None:
    assert dump(MACHINES[name].detect(tmp_path)) == (HOSTS / f"{name}.json").read_bytes()


def test_every_stored_host_names_its_kind_and_source() -> None:
    table = (HOSTS / "README.md").read_text()
    for file in HOSTS.glob("*.json"):
        host = load_host(file)
        assert host.kind in {"made", "recorded"}
        assert host.recorded
        assert f"| {file.stem} | {host.kind} {host.recorded} |" in table


def test_no_driver_takes_cc_from_the_bus() -> None:
    host = stored("gtx1080ti-no-driver")
    assert [(g.cc, g.pci_id, g.source) for g in host.gpus] == [("6.1", "10de:1b06", "pci")]
    assert host.driver is None
    assert [p.says for p in host.probes if not p.ok] == ["no NVIDIA driver is loaded"]
    assert best_access(host, "docker") == "none"


@pytest.mark.parametrize(
    ("name", "module"),
    [("rtx5090-docker-cdi", "open"), ("gtx1080ti-smi-only", "proprietary"), ("h100-mig", "open")],
)
def test_kernel_module_flavour(name: str, module: str) -> None:
    driver = stored(name).driver
    assert driver
    assert driver.module == module


def test_old_nvidia_smi_without_compute_cap() -> None:
    host = stored("gtx1080ti-smi-only")
    assert host.gpus[0].cc == "6.1"
    assert host.gpus[0].source == "nvidia-smi"
    assert host.driver
    assert (host.driver.version, host.driver.cuda) == ("470.256.02", "11.4")
    assert host.os.id == "rockylinux9"


def test_wsl2_reports_the_windows_driver_and_takes_gpus_of_docker_desktop() -> None:
    host = stored("wsl2-docker-desktop")
    assert host.platform == "wsl2"
    assert host.wsl
    assert (host.wsl.generation, host.wsl.version) == (2, "2.5.9.0")
    assert host.driver
    assert host.driver.version == "581.57"
    # docker.com/gpu=webgpu is a CDI device, but no NVIDIA one.
    assert host.engines[0].access == ("gpus", "nvidia-runtime")
    assert best_access(host, "docker") == "gpus"


def test_wsl1_has_no_gpu() -> None:
    host = stored("wsl1")
    assert (host.platform, host.gpus) == ("wsl1", ())


@pytest.mark.parametrize(
    ("name", "l4t", "cc"),
    [("orin-r36.4", "r36.4.0", "8.7"), ("thor-r38.2", "r38.2.0", "11.0"),
     ("orin-r35-no-nvml", "r35.3.1", "8.7")],
)  # fmt: skip
def test_jetson(name: str, l4t: str, cc: str) -> None:
    host = stored(name)
    assert host.platform == "jetson"
    assert host.jetson
    assert host.jetson.l4t == l4t
    assert [g.cc for g in host.gpus] == [cc]
    assert best_access(host, "docker") == "nvidia-runtime"


def test_jetson_docker_has_no_gpus_mode() -> None:
    assert stored("orin-r36.4").engines[0].access == ("nvidia-runtime",)


def test_mig_instances_by_nvml_and_by_listing() -> None:
    for name in ("h100-mig", "a100-mig-smi"):
        mig = stored(name).gpus[0].mig
        assert mig
        assert mig.enabled
        assert len(mig.instances) == 2


def test_new_words_of_r610() -> None:
    driver = stored("b200-r610").driver
    assert driver
    assert (driver.version, driver.cuda) == ("610.43.02", "13.3")


def test_card_that_the_driver_does_not_drive_is_said() -> None:
    host = stored("rtx5090-gtx1080ti-open")
    assert [(g.cc, g.source) for g in host.gpus] == [("12.0", "nvml"), ("6.1", "pci")]
    assert host.gpus[1].pci_bus == "0000:02:00.0"
    failed = [p.says for p in host.probes if not p.ok]
    assert failed == ["0000:02:00.0 (10de:1b06) is not driven by driver 580.95.05"]


def test_driver_that_shows_no_card() -> None:
    host = stored("p4-open-module")
    assert host.driver
    assert (host.driver.module, host.gpus[0].cc) == ("open", "6.1")
    assert any("No devices were found" in p.says for p in host.probes)
    assert best_access(host, "docker") == "none"


def test_containers_we_are_in() -> None:
    assert stored("docker-container").inside_container == "docker"
    assert stored("podman-container").inside_container == "podman"
    assert stored("rtx5090-docker-cdi").inside_container is None


def test_environment_is_kept_without_secrets() -> None:
    assert dict(stored("docker-container").env) == {
        "NVIDIA_REQUIRE_CUDA": "cuda>=12.4",
        "NVIDIA_VISIBLE_DEVICES": "all",
    }


def test_first_docker_on_path_may_lack_buildkit() -> None:
    engines = stored("docker-two-clients").engines
    assert [(e.cli, e.buildkit) for e in engines] == [
        ("/usr/local/bin/docker", None),
        ("/usr/bin/docker", "DOCKER_BUILDKIT"),
    ]


def test_rootless_docker_with_the_hook_only() -> None:
    engine = stored("docker-rootless").engines[0]
    assert (engine.rootless, engine.access, engine.buildkit) == (True, ("gpus",), "buildx")


def test_toolkits_newest_first_with_what_told_the_version() -> None:
    assert [(t.version, t.source) for t in stored("rtx5090-docker-cdi").toolkits] == [
        ("13.0.2", "version.json"),
        ("12.9.1", "version.json"),
        ("11.4.4", "version.txt"),
    ]


def test_cdi_comes_first() -> None:
    host = stored("rtx5090-docker-cdi")
    assert host.cdi[0].devices == ("nvidia.com/gpu=0", "nvidia.com/gpu=all")
    expected = {"docker": "cdi", "podman": "cdi", "apptainer": "native", "local": "native"}
    assert {name: best_access(host, name) for name in expected} == expected


def test_windows() -> None:
    host = stored("windows-rtx4070")
    assert (host.platform, host.gpus[0].cc) == ("windows", "8.9")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (NO_DRIVER, "couldn't communicate with the NVIDIA driver"),
        ((6, "No devices were found\n"), "No devices were found"),
        (
            (18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library\n"),
            "Driver/library version mismatch",
        ),
        ((255, ""), "exit code 255"),
        ((0, "\x00\x1b[2J\ufffd\ufffd,,,,,,,\n" * 50), "/usr/bin/nvidia-smi: "),
    ],
)  # fmt: skip
def test_broken_nvidia_smi_is_a_fact(answer: tuple[int, str], says: str, tmp_path: Path) -> None:
    host = Machine("made", {}, {f"/usr/bin/nvidia-smi {FULL}": answer}).detect(tmp_path)
    failed = [p for p in host.probes if p.name == "nvidia-smi"]
    assert len(failed) == 1
    assert says in failed[0].says
    assert "\x1b" not in failed[0].says
    assert host.gpus == ()
