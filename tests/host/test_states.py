"""What the stored machines say of the state that each of them is in."""

from pathlib import Path

import pytest

from envbuild.host.load import load_host
from envbuild.values.host import Config, Host

HOSTS = Path(__file__).parent.parent / "hosts"


def stored(name: str) -> Host:
    return load_host(HOSTS / f"{name}.json")


def setting(host: Host, path: str, name: str) -> str | None:
    found = [c for c in host.configs if c.path == path]
    return found[0].values.get(name) if found else None


def test_there_are_enough_of_them() -> None:
    hosts = [load_host(file) for file in HOSTS.glob("*.json")]
    assert len(hosts) >= 25
    assert {h.platform for h in hosts} == {"linux", "wsl1", "wsl2", "jetson", "windows"}
    assert {h.kind for h in hosts} == {"made", "recorded"}


def test_a_kernel_tells_why_it_ignores_the_card() -> None:
    host = stored("gtx1050-driver-595")
    assert host.kernel.log[0].startswith("NVRM: The NVIDIA GeForce GTX 1050")
    assert not any("Linux version" in line for line in host.kernel.log)
    assert (host.gpus[0].cc, host.gpus[0].source) == ("6.1", "pci")


def test_a_pinned_driver() -> None:
    host = stored("gtx1050-pinned-580")
    assert dict(host.packages) == {
        "libnvidia-compute-580": "580.95.05-0ubuntu0.24.04.1",
        "nvidia-driver-580": "580.95.05-0ubuntu0.24.04.1",
    }
    assert host.held == ("libnvidia-compute-580", "nvidia-driver-580")
    assert {(p.package, p.rule, p.priority) for p in host.pins} == {
        ("nvidia-driver-*", "version 580.*", 1001),
        ("libnvidia-*", "version 580.*", 1001),
    }


def test_loaded_module_file_and_library_are_three_versions() -> None:
    host = stored("rtx4090-mismatch")
    (module,) = host.kernel.modules
    assert (module.version, module.on_disk, module.flavour) == ("580.95.05", "580.105.08", "open")
    assert {t.version for t in host.libraries} == {"580.105.08"}
    assert host.broken == ("nvidia-dkms-580-open",)


def test_secure_boot_with_a_module_that_is_not_loaded() -> None:
    host = stored("rtx4090-secure-boot")
    assert host.kernel.secure_boot is True
    assert host.kernel.lockdown == "integrity"
    assert [(m.name, m.loaded) for m in host.kernel.modules] == [("nvidia", False)]


def test_several_toolkits_and_what_comes_first() -> None:
    host = stored("rtx4090-several-toolkits")
    nvcc = [(t.version, t.source) for t in host.compilers if t.name == "nvcc"]
    assert nvcc == [("12.9.86", "PATH"), ("11.8.89", "PATH")]
    assert ("12.9.1", "conda-meta") in {(t.version, t.source) for t in host.toolkits}
    first = host.libraries[0]
    assert (first.source, first.version) == ("LD_LIBRARY_PATH", None)
    assert first.path
    assert "/stubs/" in first.path


def test_the_fabric() -> None:
    host = stored("h100-no-fabric-manager")
    assert host.nvswitches == 4
    assert len(host.gpus) == 2
    assert {g.fabric for g in host.gpus} == {"in-progress"}
    assert dict(host.services) == {"docker": "active", "nvidia-persistenced": "inactive"}


def test_rights_and_limits_of_a_user() -> None:
    host = stored("a100-exclusive")
    assert (host.root, host.groups) == (False, ("video",))
    assert host.gpus[0].compute_mode == "exclusive-process"
    limits = host.limits
    assert (limits.memory_mib, limits.shm_mib, limits.memlock_kib) == (64000, 32000, 64)
    assert setting(host, "/proc/driver/nvidia/params", "RmProfilingAdminOnly") == "1"
    prof = "/etc/modprobe.d/nvidia-prof.conf"
    assert setting(host, prof, "options.nvidia.NVreg_RestrictProfilingToAdminUsers") == "0"
    assert dict(host.packages) == {
        "kmod-nvidia-open-dkms": "580.95.05-1.el9",
        "nvidia-driver-cuda": "580.95.05-1.el9",
    }
    assert host.pins[0].package == "nvidia-driver-cuda"
    assert any("Operation not permitted" in p.says for p in host.probes if not p.ok)


def test_a_vgpu_without_a_licence() -> None:
    host = stored("a40-vgpu-unlicensed")
    gpu = host.gpus[0]
    assert (gpu.virtual, gpu.licence) == ("vgpu", "unlicensed (unrestricted)")
    assert (gpu.persistence, gpu.compute_mode) == (True, "default")
    assert host.configs == (Config(path="/etc/nvidia/gridd.conf", values=host.configs[0].values),)
    assert dict(host.configs[0].values) == {"FeatureType": "4"}


@pytest.mark.parametrize(
    ("name", "held_by"), [("rtx4090-vfio", "vfio-pci"), ("gtx1050-nouveau", "nouveau")]
)
def test_who_holds_the_card(name: str, held_by: str) -> None:
    assert stored(name).gpus[0].held_by == held_by


def test_arch_server_and_nano() -> None:
    assert stored("gb10-sbsa").os.arch == "aarch64"
    arch = stored("arch-pascal-590")
    assert dict(arch.packages)["nvidia-open"] == "590.48.01-3"
    assert arch.held == ("nvidia-utils",)
    assert arch.kernel.modules == ()
    nano = stored("nano-r32.7")
    assert nano.jetson
    assert (nano.jetson.l4t, nano.jetson.csv) == ("r32.7.1", ("l4t.csv",))
    assert nano.gpus[0].cc == "5.3"


def test_docker_from_snap_and_docker_desktop() -> None:
    snap = stored("rtx4090-docker-snap").engines[0]
    assert snap.daemon == "/snap/docker/2915/bin/dockerd"
    desktop = stored("rtx4090-docker-desktop-linux")
    assert desktop.engines[0].context == "desktop-linux"
    assert desktop.engines[0].system == "Docker Desktop"
    assert desktop.sockets == ("/home/someone/.docker/desktop/docker.sock",)
    path = "/etc/nvidia-container-runtime/config.toml"
    assert setting(desktop, path, "nvidia-container-runtime.mode") == "auto"
    assert setting(desktop, path, "nvidia-container-cli.no-cgroups") is None


def test_two_daemons_and_one_setting() -> None:
    host = stored("rtx4090-rootful-and-rootless")
    assert host.sockets == ("/run/docker.sock", "/run/user/1000/docker.sock")
    path = "/etc/nvidia-container-runtime/config.toml"
    assert setting(host, path, "nvidia-container-cli.no-cgroups") == "true"
    assert setting(host, "/etc/docker/daemon.json", "exec-opts") == "native.cgroupdriver=cgroupfs"
    assert host.groups == ("docker",)
    assert host.engines[0].cgroup_driver == "cgroupfs"


def test_lists_of_apt() -> None:
    host = stored("rtx4090-no-permission")
    lists = {s.path.rpartition("/")[2]: s for s in host.apt_sources}
    assert lists["nvidia-container-toolkit.list"].says == "# Unsupported distribution!"
    assert lists["docker.sources"].suite == "noble"
    key = "/usr/share/keyrings/cuda-archive-keyring.gpg"
    assert lists["cuda-ubuntu2204.list"].signed_by == key
    assert "permission denied" in host.engines[0].says


def test_a_specification_that_is_older_than_the_driver() -> None:
    host = stored("rtx5090-cdi-stale")
    (spec,) = host.cdi
    assert spec.driver == "575.64.05"
    assert dict(spec.majors) == {"/dev/nvidia-uvm": "510", "/dev/nvidia0": "195"}
    assert dict(host.kernel.majors)["nvidia-uvm"] == "509"
    assert spec.missing == ("/usr/lib/x86_64-linux-gnu/libcuda.so.575.64.05",)


def test_selinux() -> None:
    kernel = stored("rtx4090-podman-selinux").kernel
    assert (kernel.selinux, kernel.container_use_devices) == ("enforcing", False)


def test_wsl_with_its_windows() -> None:
    host = stored("wsl2-docker-ce")
    assert host.wsl
    assert (host.wsl.version, host.wsl.systemd, host.wsl.distro) == (
        "2.6.1.0",
        True,
        "Ubuntu-24.04",
    )
    windows = host.windows
    assert windows
    assert (windows.name, windows.build) == ("Windows 11 Pro", "10.0.22631.4317")
    assert (windows.wsl_kernel, windows.debugger_interface) == ("6.6.87.2", True)
    assert dict(windows.distros) == {"Ubuntu-24.04": "2", "docker-desktop": "2"}
    assert setting(host, "/mnt/c/Users/Some One/.wslconfig", "wsl2.memory") == "24GB"
    # A command and a user's name stand in the same file.
    (wsl,) = (c for c in host.configs if c.path == "/etc/wsl.conf")
    assert dict(wsl.values) == {"boot.systemd": "true"}


def test_a_linux_driver_in_wsl_hides_its_own() -> None:
    host = stored("wsl2-linux-driver")
    cuda = [t for t in host.libraries if t.name == "libcuda.so.1"]
    assert [t.version for t in cuda] == ["535.274.02", None]
    assert "cuda-drivers" in dict(host.packages)
    says = [p.says for p in host.probes if p.name == "nvidia-smi"]
    assert says[0] == "/usr/lib/wsl/lib/nvidia-smi"
    assert "couldn't communicate" in says[1]


def test_wsl_without_a_windows_driver_and_with_the_wrong_model() -> None:
    only = stored("wsl2-dxg-only")
    assert only.wsl
    assert (only.platform, only.wsl.dxg, only.gpus) == ("wsl2", True, ())
    server = stored("wsl2-server-tcc")
    assert server.gpus[0].driver_model == "tcc"
    assert server.windows
    assert server.windows.driver == "555.85"


def test_windows_without_a_driver_knows_its_card() -> None:
    host = stored("windows-no-driver")
    assert [(g.name, g.cc, g.source) for g in host.gpus] == [
        ("NVIDIA GeForce GTX 1080 Ti", "6.1", "pci")
    ]
    assert "no NVIDIA driver is loaded" in [p.says for p in host.probes]


def test_windows_without_wsl() -> None:
    windows = stored("windows-no-wsl").windows
    assert windows
    assert (windows.name, windows.wsl) == ("Windows 11 Home", None)
    assert windows.counters_for_all is True


@pytest.mark.parametrize(
    "secret", ["secret", "token", "user:word", "licence.example", "mirror.example"]
)
def test_nothing_secret_is_stored(secret: str) -> None:
    """Each of these words stands in a file that one of the machines has."""
    for file in HOSTS.glob("*.json"):
        assert secret not in file.read_text()
