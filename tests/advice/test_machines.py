"""Broken machines: one cause each, then two at once; and every healthy one is left in peace.

All are *made*: a healthy machine of tests/cases/machines.py or tests/hosts, changed in the one way
that the report or document beside its rule describes.
"""

# ruff: noqa: E501 - a machine a line

import pytest

from envbuild.host.load import load_host
from envbuild.values.codec import Pairs, replace
from envbuild.values.host import (
    Gpu,
    Host,
    Os,
    Probe,
    Tool,
    Windows,
    Wsl,
)
from envbuild.values.image import ImageFacts
from tests.advice.machines import (
    GONE,
    H100,
    HOSTS,
    MIG,
    NO_GPU,
    PASCAL,
    SMI,
    UNKNOWN,
    bare,
    jetson,
    made,
    nvidia,
    setting,
    told,
    tool,
    wsl,
)
from tests.cases.machines import host_of

ORIN_IMAGE = ImageFacts(ref="nvcr.io/nvidia/l4t-jetpack:r35.4.1")
SERVER_IMAGE = ImageFacts(ref="made/image:1", env=Pairs({"NVARCH": "sbsa"}))
SERVER_TORCH = ImageFacts(
    ref="made/image:1", framework=(Tool(name="torch", version="2.8.0+cu126"),)
)
BAKED = ImageFacts(
    ref="made/image:1", drivers=("/usr/lib/libcuda.so.535.1",), apt=Pairs({"libcuda1": "535"})
)
WORDLESS = ImageFacts(ref="made/image:1", env=Pairs({"NVIDIA_DRIVER_CAPABILITIES": "utility"}))

ONE: list[tuple[str, Host, str, ImageFacts | None]] = [
    # driver
    ("driver-missing", bare(), "", None),
    ("driver-missing", bare(gpus=(Gpu(pci_id="10de:1b06", source="pci", held_by="nouveau"),)), "", None),
    ("driver-missing", bare(), "RuntimeError: Found no NVIDIA driver on your system", None),
    ("driver-missing", bare(), NO_GPU, None),
    ("driver-too-new-for-gpu", made({"gpus": [PASCAL], "driver": "595.71.05", "nvidia_smi": SMI}), "", None),
    ("driver-too-new-for-gpu", made({"gpus": [{"name": "Tesla K80", "cc": 3.7}], "driver": "535.161.07", "nvidia_smi": SMI}), "", None),
    ("driver-too-old-for-gpu", made({"gpus": [{"name": "GeForce RTX 5090", "cc": 12.0}], "driver": "550.163.01", "nvidia_smi": "No devices were found"}), "", None),
    ("module-flavour", made({"gpus": [PASCAL], "module_flavour": "open", "nvidia_smi": "No devices were found"}), "", None),
    ("module-flavour", made({"gpus": [{"name": "GeForce RTX 5090", "cc": 12.0}], "module_flavour": "proprietary", "nvidia_smi": "No devices were found"}), "", None),
    ("host-window", made({"gpus": [PASCAL, {"name": "GeForce RTX 5090", "cc": 12.0}], "nvidia_smi": "No devices were found"}), "", None),
    ("nouveau", made({**GONE, "nouveau": True}), "", None),
    ("secure-boot", made({**GONE, "secure_boot": True}), "Key was rejected by service", None),
    ("secure-boot", made(GONE, kernel=replace(nvidia(on_disk="580.95.05", path="/lib/modules/6.8.0/updates/dkms/nvidia.ko"), secure_boot=True)), "", None),
    ("module-not-loaded", made({**GONE, "secure_boot": False}), "", None),
    ("module-not-loaded", made(GONE, configs=setting("/etc/modprobe.d/x.conf", blacklist__nvidia="")), "", None),
    ("module-not-loaded", made(GONE, configs=setting("/proc/cmdline", modprobe__blacklist="nouveau,nvidia")), "", None),
    ("module-not-built", bare(packages=Pairs({"nvidia-dkms-580-open": "580.95.05-0ubuntu1", "linux-image": "6.8"})), "", None),
    ("driver-mismatch", made({}, libraries=(tool("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "580.105.08"),)), "", None),
    ("driver-mismatch", made({}, libraries=(tool("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "575.64"),)), "CUDA error 803", None),
    ("driver-mismatch", made({}, kernel=nvidia(loaded=True, version="580.95.05", on_disk="580.105.08")), "Driver/library version mismatch", None),
    ("fabric-manager", made({}, gpus=H100, nvswitches=4, services=Pairs({"docker": "active"})), "", None),
    ("fabric-manager", made({}, gpus=H100, nvswitches=4, services=Pairs({"nvidia-fabricmanager": "failed"})), "CUDA error 802: system not yet initialized", None),
    ("fabric-manager", made({}, gpus=H100, nvswitches=4, services=Pairs({"nvidia-fabricmanager": "active"}), packages=Pairs({"nvidia-fabricmanager-580": "580.82.07-1"})), "", None),
    ("compute-mode", made({"gpus": [{"name": "NVIDIA A100-SXM4-40GB", "cc": 8.0, "compute_mode": "exclusive-process"}]}), "all CUDA-capable devices are busy or unavailable", None),
    ("compute-mode", made({"gpus": [{"name": "NVIDIA A100-SXM4-40GB", "cc": 8.0, "compute_mode": "prohibited"}]}), "", None),
    ("uvm-not-loaded", made({}, kernel=replace(nvidia(loaded=True, version="580.95.05"), majors=Pairs({"nvidia": "195"}))), "CUDA error 999", None),
    ("fallen-off", made({}), "NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.", None),
    ("xid-memory", made({}), "NVRM: Xid (PCI:0000:02:00): 64, Row Remapper", None),
    ("card-for-a-guest", made(GONE, gpus=(Gpu(name="NVIDIA GeForce RTX 4090", cc="8.9", source="pci", held_by="vfio-pci"),)), "", None),
    # containers
    ("container-toolkit-missing", made({"container_toolkit": None}), NO_GPU, None),
    ("container-toolkit-missing", made({"container_toolkit": None}), "", None),
    ("container-toolkit-not-configured", made({}, cdi=(), engines=(replace(host_of({}).engines[0], access=(), runtimes=("runc",)),)), "unknown or invalid runtime name: nvidia", None),
    ("container-engine", made({}, engines=(replace(host_of({}).engines[0], answers=False, access=(), says="permission denied"),)), "", None),
    ("docker-desktop-linux", made({"docker_context": "desktop-linux"}), NO_GPU, None),
    ("docker-snap", made({"dockerd_path": "/snap/docker/1/bin/dockerd"}), NO_GPU, None),
    ("cdi-stale", made({"proc_devices": {"nvidia-uvm": 509}, "cdi_spec_majors": {"nvidia-uvm": 510}}), "CUDA error 999 in the container", None),
    ("cdi-stale", made({"cdi_driver": "575.51.03"}), "", None),
    ("cdi-spec-version", made({"podman": "4.9.3", "cdi_spec_version": "0.7.0"}), "unresolvable CDI devices nvidia.com/gpu=all", None),
    ("cdi-name", made({}), "unresolvable CDI devices nvidia.com/gpu=7", None),
    ("cdi-off", made({"docker": "27.5.1"}, engines=(replace(host_of({}).engines[0], version="27.5.1", access=("gpus",)),)), "unresolvable CDI devices nvidia.com/gpu=all", None),
    ("no-cgroups", made({"no_cgroups": True}), UNKNOWN, None),
    ("no-cgroups", made({"docker_root": "rootless"}), "bpf_prog_query(BPF_CGROUP_DEVICE) failed", None),
    ("selinux-devices", made({"selinux": "enforcing", "podman": "5.4.2"}), "Failed to initialize NVML: Insufficient Permissions", None),
    ("nvml-unknown-error", made({}), UNKNOWN, None),
    ("forward-compat", made({}), "CUDA error 804: forward compatibility was attempted on non supported HW", None),
    ("forward-compat", made({}, libraries=(tool("/usr/local/cuda/compat/libcuda.so.1", "590.44.01", "LD_LIBRARY_PATH"),)), "", None),
    ("libcuda-stub", made({}, libraries=(tool("/usr/local/cuda/lib64/stubs/libcuda.so.1", None, "LD_LIBRARY_PATH"),)), "", None),
    ("driver-in-image", made({}), "CUDA error 803", BAKED),
    ("image-variables", made({}), "", WORDLESS),
    ("container-toolkit-old", made({"container_toolkit": "1.16.1"}), "", None),
    ("container-toolkit-mixed", made({"container_toolkit": "1.20.0"}, packages=Pairs({"nvidia-container-toolkit": "1.20.0-1", "libnvidia-container1": "1.17.8-1"})), "", None),
    ("docker-api-old", made({}), "client version 1.43 is too old. Minimum supported API version is 1.44", None),
    ("module-not-built", bare(os=Os(id="fedora43", arch="x86_64"), packages=Pairs({"akmod-nvidia": "580.95.05"})), "", None),
    ("driver-mismatch", made({}, libraries=(tool("/usr/lib/libcuda.so.1", "580.105.08"),)), "CUDA error 804", None),
    # WSL and Windows
    ("wsl-card", made({"wsl": True, "gpus": [{"name": "Tesla K80", "cc": 3.7}], "driver": "472.0"}), "", None),
    ("smi-missing", wsl(), "bash: nvidia-smi: command not found", None),
    ("wsl-1", Host(platform="wsl1", wsl=Wsl(generation=1)), "", None),
    ("wsl-linux-driver", wsl(packages=Pairs({"nvidia-driver-535": "535.1"}), libraries=(tool("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "535.274.02"),)), "", None),
    ("wsl-linux-driver", wsl(libraries=(tool("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "535.274.02"),)), "", None),
    ("wsl-linux-driver", wsl(packages=Pairs({"nvidia-cuda-toolkit": "12.0.140", "libnvidia-compute-535": "535.1"})), "", None),
    ("wsl-driver-model", made({"wsl": True, "windows": {"driver_model": "TCC"}}), "", None),
    ("wsl-windows-driver", wsl(gpus=(), driver=None, windows=Windows(name="Windows 11 Pro")), "", None),
    ("wsl-windows-driver", made({"wsl": True, "driver": "472.12"}), "", None),
    ("wsl-no-dxg", wsl(gpus=(), driver=None, wsl=Wsl(generation=2, dxg=False), configs=setting("/mnt/c/Users/x/.wslconfig", wsl2__kernel="C:\\k")), "", None),
    ("wsl-gpu-off", wsl(gpus=(), driver=None, configs=setting("/etc/wsl.conf", gpu__enabled="false")), "", None),
    ("wsl-windows-too-old", wsl(gpus=(), driver=None, windows=Windows(name="Windows 10 Pro", build="10.0.18363.1")), "", None),
    ("wsl-kernel-old", wsl(os=Os(id="ubuntu22.04", kernel="4.19.104-microsoft-standard")), "", None),
    ("wsl-systemd", wsl(wsl=Wsl(generation=2, dxg=True, systemd=False), packages=Pairs({"docker-ce": "28"}), engines=(replace(host_of({}).engines[0], answers=False, says="no"),)), "", None),
    ("wsl-two-engines", wsl(packages=Pairs({"docker-ce": "28"}), engines=(replace(host_of({}).engines[0], system="Docker Desktop"),)), "", None),
    ("docker-desktop-cdi", wsl(engines=(replace(host_of({}).engines[0], system="Docker Desktop"),)), "unresolvable CDI devices nvidia.com/gpu=all", None),
    # Jetson
    ("jetson-server-driver", jetson(packages=Pairs({"nvidia-driver-580-open": "580.1", "nvidia-l4t-core": "36.4"})), "", None),
    ("jetson-image", jetson(), "", ORIN_IMAGE),
    ("jetson-image", jetson(), "", SERVER_IMAGE),
    ("jetson-server-wheels", jetson(), "CUDA error: named symbol not found", SERVER_TORCH),
    ("smi-missing", jetson(), "bash: nvidia-smi: command not found", None),
    ("hook-directly", jetson(), "invoking the NVIDIA Container Runtime Hook directly", None),
    # MIG, vGPU, containers
    ("mig-no-instance", made({"gpus": [{"name": "NVIDIA A100-SXM4-40GB", "cc": 8.0, "mig_mode": True}]}), "", None),
    ("cuda-visible-devices", made({"env": {"CUDA_VISIBLE_DEVICES": "3"}}), "no CUDA-capable device is detected", None),
    ("vgpu-licence", made({"gpus": [{"name": "NVIDIA A40-8Q", "cc": 8.6, "licence": "Unlicensed (Restricted)"}]}), "CUDA error 102", None),
    ("container-without-gpu", Host(kind="detected", inside_container="docker"), "bash: nvidia-smi: command not found", None),
    ("driver-capabilities", made({"inside": "docker", "env": {"NVIDIA_DRIVER_CAPABILITIES": "utility"}}), "libcuda.so.1: cannot open shared object file", None),
    ("code-43", Host(platform="windows"), "Windows has stopped this device because it has reported problems. (Code 43)", None),
]  # fmt: skip


@pytest.mark.parametrize(("first", "host", "log", "image"), ONE, ids=[f"{i}-{c[0]}" for i, c in enumerate(ONE)])  # fmt: skip
def test_one_cause_is_told_first(
    first: str, host: Host, log: str, image: ImageFacts | None
) -> None:
    findings = told(host, log, image)
    assert findings[0].id == first, [(f.severity, f.id) for f in findings]
    faults = [f.id for f in findings if f.severity in {"error", "warn"}]
    assert faults in ([first], []), "one cause is one fault"
    assert findings[0].steps or findings[0].severity == "info"
    assert all(step.check and (step.argv or step.text) for f in findings for step in f.steps)
    assert findings[0].source


SNAP = {"dockerd_path": "/snap/docker/1/bin/dockerd"}
TWO: list[tuple[list[str], Host, str]] = [
    (["driver-missing", "container-toolkit-missing"], bare(engines=(replace(host_of({}).engines[0], access=()),), container_toolkit=None), NO_GPU),
    (["driver-too-new-for-gpu"], made({"gpus": [PASCAL], "driver": "595.71.05", "module_flavour": "open", "nvidia_smi": SMI}), ""),
    (["module-flavour", "cdi-stale"], made({"gpus": [PASCAL], "module_flavour": "open", "nvidia_smi": "No devices were found", "cdi_driver": "570.1.1"}), ""),
    (["driver-mismatch", "no-cgroups"], made({"no_cgroups": True}, libraries=(tool("/usr/lib/libcuda.so.1", "580.105.08"),)), ""),
    (["secure-boot", "docker-snap"], made({**GONE, **SNAP, "secure_boot": True}), f"Key was rejected by service\n{NO_GPU}"),
    (["nouveau", "cdi-stale"], made({**GONE, "nouveau": True, "cdi_driver": "570.1.1"}), ""),
    (["fabric-manager", "no-cgroups"], made({"no_cgroups": True}, gpus=H100, nvswitches=4, services=Pairs({"docker": "active"})), UNKNOWN),
    (["docker-desktop-linux"], made({"docker_context": "desktop-linux", "container_toolkit": None}), NO_GPU),
    (["cdi-stale"], made({"proc_devices": {"nvidia-uvm": 509}, "cdi_spec_majors": {"nvidia-uvm": 510}, "cdi_driver": "570.1.1"}), "CUDA error 999 in the container"),
    (["no-cgroups", "cdi-stale"], made({"no_cgroups": True, "cdi_driver": "570.1.1"}), UNKNOWN),
    (["wsl-linux-driver", "no-cgroups"], made({"wsl": True, "no_cgroups": True}, packages=Pairs({"cuda-drivers": "535.1"}), libraries=(tool("/usr/lib/libcuda.so.1", "535.274.02"),)), ""),
    (["wsl-driver-model", "wsl-linux-driver"], made({"wsl": True, "windows": {"driver_model": "TCC"}}, packages=Pairs({"cuda-drivers": "535.1"})), "GPU access blocked by the operating system"),
    (["wsl-gpu-off"], wsl(gpus=(), driver=None, wsl=Wsl(generation=2, dxg=False), configs=setting("/etc/wsl.conf", gpu__enabled="false")), "no CUDA-capable device is detected"),
    (["mig-no-instance", "container-toolkit-missing"], made({"container_toolkit": None, "gpus": [{"name": "NVIDIA A100-SXM4-40GB", "cc": 8.0, "mig_mode": True}]}), "no CUDA-capable device is detected"),
    (["mig-no-instance"], made({"env": {"CUDA_VISIBLE_DEVICES": MIG}, "gpus": [{"name": "NVIDIA A100-SXM4-40GB", "cc": 8.0, "mig_mode": True}]}), "no CUDA-capable device is detected"),
    (["jetson-server-driver"], jetson(packages=Pairs({"cuda-drivers": "580.1"})), "nvidia-smi: command not found"),
    (["host-window"], made({"gpus": [PASCAL, {"name": "GeForce RTX 5090", "cc": 12.0}], "driver": "595.71.05", "module_flavour": "open", "nvidia_smi": "No devices were found"}), "NVRM: installed in this system is not supported by open"),
]  # fmt: skip


@pytest.mark.parametrize(("ids", "host", "log"), TWO, ids=["+".join(case[0]) for case in TWO])
def test_of_two_causes_the_one_to_mend_first_is_told_first(
    ids: list[str], host: Host, log: str
) -> None:
    faults = [f.id for f in told(host, log) if f.severity in {"error", "warn"}]
    assert faults == ids


SOUND = (
    *("b200-r610", "docker-container", "docker-rootless", "docker-two-clients", "gb10-sbsa"),
    *("gtx1050-pinned-580", "gtx1080ti-smi-only", "a100-mig-smi", "a100-exclusive", "h200"),
    *("h200-docker", "nano-r32.7", "orin-r35-no-nvml", "orin-r36.4", "podman-container"),
    *("rtx5090-docker-cdi", "thor-r38.2", "windows-no-wsl", "windows-rtx4070", "wsl2-docker-ce"),
    *("wsl2-docker-desktop", "debian12-builder", "rtx4090-vfio"),
)
"""Recorded and made machines on which nothing is wrong; the others of tests/hosts are broken."""


@pytest.mark.parametrize("name", sorted(path.stem for path in HOSTS.glob("*.json")))
def test_a_sound_machine_gives_no_alarm_and_a_broken_one_does(name: str) -> None:
    findings = told(load_host(str(HOSTS / f"{name}.json")))
    faults = [f.id for f in findings if f.severity in {"error", "warn"}]
    watched = [f.id for f in findings if f.severity == "watch"]
    assert not faults if name in SOUND else faults or watched, faults


HEALTHY: list[Host] = [
    *(host_of({"gpus": [{"name": name, "cc": cc}]}) for name, cc in (
        ("GeForce GTX 980", 5.2), ("GeForce GTX 1080 Ti", 6.1), ("Tesla V100-PCIE-16GB", 7.0),
        ("Tesla T4", 7.5), ("NVIDIA A100-SXM4-40GB", 8.0), ("GeForce RTX 3090", 8.6),
        ("GeForce RTX 4090", 8.9), ("NVIDIA H100 80GB HBM3", 9.0), ("GeForce RTX 5090", 12.0),
    )),
    *(host_of({"os": os}) for os in ("ubuntu22.04", "ubuntu26.04", "debian12", "debian13", "rhel9",
                                     "fedora43", "rockylinux9", "opensuse15", "arch", "nixos")),
    *(host_of({"docker": v}) for v in ("24.0.7", "26.1.4", "27.5.1", "29.1.2")),
    host_of({"podman": "5.4.2", "podman_root": "rootless"}),
    Host(probes=(Probe(name="nvml", ok=False, says="libnvidia-ml: libnvidia-ml.so.1: cannot open shared object file"),)),
    made({"gpus": [PASCAL]}, packages=Pairs({"nvidia-driver-580": "580.95.05"})),
    made({}, engines=(), container_toolkit=None, cdi=()),
    host_of({"docker_root": "rootless", "no_cgroups": True}),
    host_of({"docker_root": ["rootful", "rootless"], "no_cgroups": False}),
    host_of({"selinux": "enforcing", "container_use_devices": "on", "podman": "5.4.2"}),
    host_of({"secure_boot": True}),
    host_of({"wsl": True}),
    made({"wsl": True}, libraries=(tool("/usr/lib/wsl/lib/libcuda.so.1"),)),
    made({"wsl": True}, packages=Pairs({"nvidia-container-toolkit": "1.18.1-1", "cuda-toolkit-13-0": "13.0"})),
    jetson(), jetson("r35.4.1"), jetson("r38.2.0"),
    host_of({"gpus": [{"name": "NVIDIA A100-SXM4-40GB", "cc": 8.0, "mig_mode": True, "mig": [MIG]}]}),
    host_of({"gpus": [{"name": "NVIDIA A40-8Q", "cc": 8.6, "licence": "Licensed", "virtual": "vgpu"}]}),
    host_of({"env": {"CUDA_VISIBLE_DEVICES": "0"}}),
    made({}, gpus=tuple(replace(g, fabric="completed") for g in H100), nvswitches=4,
         services=Pairs({"nvidia-fabricmanager": "active"})),
    made({"inside": "docker"}, engines=(), container_toolkit=None, cdi=()),
]  # fmt: skip


@pytest.mark.parametrize("host", HEALTHY, ids=range(len(HEALTHY)))
def test_a_healthy_machine_of_each_class_is_left_in_peace(host: Host) -> None:
    assert [f.id for f in told(host) if f.severity in {"error", "warn"}] == []


def test_inside_a_container_nothing_is_told_that_only_its_owner_can_do() -> None:
    host = made({"inside": "docker", "driver": "550.163.01", "nvidia_smi": "No devices were found",
                 "gpus": [{"name": "GeForce RTX 5090", "cc": 12.0}]})  # fmt: skip
    found = told(host)[0]
    assert found.id == "driver-too-old-for-gpu"
    assert all(not step.argv for step in found.steps)
    assert "ask who runs the machine" in found.steps[0].text


def test_no_cgroups_is_never_set_where_a_daemon_with_root_runs() -> None:
    given = {"docker_root": ["rootful", "rootless"], "no_cgroups": False}
    findings = told(host_of(given), "bpf_prog_query(BPF_CGROUP_DEVICE) failed")
    sets = [a for f in findings for s in f.steps for a in s.argv if "no-cgroups" in a]
    assert sets == []
    findings = told(host_of(given | {"no_cgroups": True}), UNKNOWN)
    assert any(a.endswith("no-cgroups=false") for f in findings for s in f.steps for a in s.argv)


def test_a_stale_file_that_another_one_hides_is_none() -> None:
    spec = host_of({}).cdi[0]
    old = replace(spec, path="/etc/cdi/nvidia.yaml", driver="575.51.03")
    assert "cdi-stale" not in {f.id for f in told(made({}, cdi=(old, spec)))}
    stale = replace(spec, driver="575.51.03")
    found = next(f for f in told(made({}, cdi=(old, stale))) if f.id == "cdi-stale")
    assert f"--output={stale.path}" in found.steps[0].argv


def test_what_follows_is_told_with_its_cause() -> None:
    found = told(made({**GONE, "secure_boot": True}), f"Key was rejected by service\n{SMI}")
    assert [f.id for f in found if f.severity == "error"] == ["secure-boot"]
    assert "does not run" in found[0].why
