"""Made machines in the states that people report: drivers, kernels, packages, several toolkits."""
# ruff: noqa: E501 - texts stand as the tools print them

from tests.host.answers import (
    A100,
    FULL,
    GROUPS,
    GTX1050,
    MEMORY,
    MISMATCH,
    NO_DEVICES,
    NO_DRIVER,
    NO_SIGNS,
    OPEN,
    PROPRIETARY,
    ROCKY9,
    RTX4090,
    UBUNTU2204,
    UBUNTU2404,
    banner,
    card,
    dpkg,
    ld_cache,
    modinfo,
    nvml,
    systemd,
    user,
)
from tests.host.fakes import Content, Machine

_KERNEL = {"/proc/sys/kernel/osrelease": "6.8.0-88-generic\n"}
_LIB = "/usr/lib/x86_64-linux-gnu"
_DKMS = "/lib/modules/6.8.0-88-generic/updates/dkms/nvidia.ko.zst"
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_SMI = f"/usr/bin/nvidia-smi {FULL}"


def _library(version: str) -> dict[str, Content]:
    """The driver's libraries of a version, as a package lays them out, and the loader's cache."""
    names = ("libcuda.so.1", "libnvidia-ml.so.1")
    files: dict[str, Content] = {
        "/etc/ld.so.cache": ld_cache(*(f"{_LIB}/{name}" for name in names))
    }
    for name in names:
        real = f"{_LIB}/{name.removesuffix('1')}{version}"
        files[real] = ""
        files[f"{_LIB}/{name}"] = ("link", real)
    return files


NATIVE: dict[str, Machine] = {
    "gtx1050-driver-595": Machine(
        "NixOS/nixos-hardware#1880: card, driver, nvidia-smi; the kernel's words: open-gpu-kernel-modules (NVRM, legacy branch)",
        {
            **_KERNEL,
            "/etc/os-release": 'ID=nixos\nVERSION_ID="25.11"\nPRETTY_NAME="NixOS 25.11 (Xantusia)"\n',
            "/proc/driver/nvidia/version": PROPRIETARY.format("595.71.05"),
            "/proc/modules": "nvidia 14450688 0 - Live 0x0\n",
            "/dev/nvidiactl": "",
            **card("0000:01:00.0", "1c81"),
        },
        {
            "nvml": NO_SIGNS,
            _SMI: NO_DRIVER,
            "/usr/bin/dmesg": (
                0,
                (
                    "[    0.000000] Linux version 6.12\n"
                    "[    4.112233] NVRM: The NVIDIA GeForce GTX 1050 GPU installed in this system is\n"
                    "[    4.112234] NVRM:  supported through the NVIDIA 580.xx Legacy drivers. Please\n"
                    "[    4.112235] NVRM:  information.  The 595.71.05 NVIDIA driver will ignore\n"
                    "[    4.112236] NVRM:  this GPU.  Continuing probe...\n"
                ),
            ),
        },
    ),
    "gtx1050-pinned-580": Machine(
        "layout of Ubuntu's packages; pin: apt_preferences(5), `apt-mark hold` (dpkg's hold); card: pci.ids 10de:1c81",
        {
            **_KERNEL,
            "/etc/os-release": UBUNTU2404,
            "/proc/driver/nvidia/version": PROPRIETARY.format("580.95.05"),
            "/proc/modules": "nvidia_uvm 2179072 0 - Live 0x0\nnvidia 14450688 1 nvidia_uvm, Live 0x0\n",
            **_library("580.95.05"),
            **card("0000:01:00.0", "1c81", "nvidia"),
            "/var/lib/dpkg/status": dpkg(
                "nvidia-driver-580 580.95.05-0ubuntu0.24.04.1 installed hold",
                "libnvidia-compute-580 580.95.05-0ubuntu0.24.04.1 installed hold",
                "bash 5.2.21-2ubuntu4",
                "nvidia-driver-535 535.274.02-0ubuntu0.24.04.1 config-files deinstall",
            ),
            "/etc/apt/preferences.d/nvidia-580": "Package: nvidia-driver-* libnvidia-*\nPin: version 580.*\nPin-Priority: 1001\n",
        },
        {
            "nvml": nvml("580.95.05", "13.0", GTX1050),
            "/usr/sbin/modinfo nvidia": modinfo("580.95.05", "NVIDIA", _DKMS),
        },
    ),
    "rtx4090-mismatch": Machine(
        "ai-infrastructure.net/runbook-driver-module-load-failure: loaded module and files differ after an unattended upgrade; versions: Ubuntu's 580 packages",
        {
            **_KERNEL,
            "/etc/os-release": UBUNTU2404,
            "/proc/driver/nvidia/version": OPEN.format("580.95.05"),
            "/proc/modules": "nvidia 14450688 0 - Live 0x0\n",
            "/sys/module/nvidia/version": "580.95.05\n",
            **_library("580.105.08"),
            **card("0000:01:00.0", "2684", "nvidia"),
            "/var/lib/dpkg/status": dpkg(
                "nvidia-driver-580-open 580.105.08-0ubuntu0.24.04.1",
                "nvidia-dkms-580-open 580.105.08-0ubuntu0.24.04.1 half-configured install",
            ),
        },
        {
            "nvml": MISMATCH,
            _SMI: (
                18,
                "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.105\n",
            ),
            "/usr/sbin/modinfo nvidia": modinfo("580.105.08", "Dual MIT/GPL", _DKMS),
        },
    ),
    "rtx4090-secure-boot": Machine(
        "NVIDIA/gpu-driver-container#44: driver 535.161.07, module refused; EFI variable: UEFI specification 3.3 (four attribute bytes, then 1)",
        {
            **_KERNEL,
            "/etc/os-release": UBUNTU2404,
            _SECURE_BOOT: b"\x06\0\0\0\1",
            "/sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
            **_library("535.161.07"),
            **card("0000:01:00.0", "2684"),
            "/var/lib/dpkg/status": dpkg(
                "nvidia-driver-535 535.161.07-0ubuntu0.24.04.1", "mokutil 0.6.0-2build3"
            ),
        },
        {
            "/usr/sbin/modinfo nvidia": modinfo("535.161.07", "NVIDIA", _DKMS),
            _SMI: NO_DRIVER,
            "/usr/bin/dmesg": (
                0,
                (
                    "[   12.345678] Loading of module with unavailable key is rejected\n"
                    "[   12.345679] nvidia: module verification failed: signature and/or required key missing\n"
                ),
            ),
        },
    ),
    "rtx5090-proprietary": Machine(
        "NVIDIA/open-gpu-kernel-modules#872: driver 575.51.03 with the proprietary module, `No devices were found`",
        {
            **_KERNEL,
            "/etc/os-release": UBUNTU2404,
            "/proc/driver/nvidia/version": PROPRIETARY.format("575.51.03"),
            "/proc/modules": "nvidia 89874432 0 - Live 0x0\n",
            **card("0000:01:00.0", "2b85"),
        },
        {
            "nvml": nvml("575.51.03", "12.9"),
            _SMI: NO_DEVICES,
            "/usr/sbin/modinfo nvidia": modinfo("575.51.03", "NVIDIA", _DKMS),
            "/usr/bin/dmesg": (
                0,
                (
                    "[    5.1] NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)\n"
                    "[    5.1] NVRM: installed in this system requires use of the NVIDIA open kernel modules.\n"
                ),
            ),
        },
    ),
    "rtx4090-several-toolkits": Machine(
        "layout of the vendor's packages (version.json), of conda-forge's records (cuda-toolkit-12.9.1-...), numba/numba#9216 for CUDA_HOME; stubs: chelsea0x3b/cudarc#296",
        {
            **_KERNEL,
            "/etc/os-release": UBUNTU2404,
            "/proc/driver/nvidia/version": OPEN.format("580.95.05"),
            **_library("580.95.05"),
            **card("0000:01:00.0", "2684", "nvidia"),
            "/usr/local/cuda-11.8/version.json": '{"cuda": {"version": "11.8.0"}}',
            "/usr/local/cuda-11.8/lib64/stubs/libcuda.so.1": "",
            "/usr/local/cuda-13.0/version.json": '{"cuda": {"version": "13.0.2"}}',
            "/usr/local/cuda-13.0/bin/ptxas": "",
            "/opt/conda/conda-meta/cuda-toolkit-12.9.1-ha804496_0.json": "{}",
            "/opt/conda/conda-meta/python-3.12.11-h1.json": "{}",
        },
        {
            "nvml": nvml("580.95.05", "13.0", RTX4090),
            "/opt/conda/bin/nvcc --version": (
                0,
                "Cuda compilation tools, release 12.9, V12.9.86\n",
            ),
            "/usr/local/cuda-11.8/bin/nvcc --version": (
                0,
                "Cuda compilation tools, release 11.8, V11.8.89\n",
            ),
            "/usr/bin/gcc -dumpfullversion -dumpversion": (0, "13.3.0\n"),
        },
        {
            "PATH": "/opt/conda/bin:/usr/local/cuda-11.8/bin:/usr/bin:/bin",
            "CONDA_PREFIX": "/opt/conda",
            "CUDA_HOME": ":/usr/local/cuda-11.8",
            "LD_LIBRARY_PATH": "/usr/local/cuda-11.8/lib64/stubs:/usr/local/cuda-11.8/lib64",
        },
    ),
    "h100-no-fabric-manager": Machine(
        "8 H100 of an HGX board behind four NVSwitches (pci.ids 10de:22a3, class 0680); error 802 without the fabric manager: its user guide; two GPUs kept here",
        {
            **_KERNEL,
            "/etc/os-release": UBUNTU2204,
            "/proc/driver/nvidia/version": OPEN.format("570.195.03"),
            "/run/systemd/system/README": "",
            **card("0000:1b:00.0", "2330", "nvidia", "0x030200"),
            **card("0000:43:00.0", "2330", "nvidia", "0x030200"),
            **{
                path: content
                for bus in ("05", "06", "07", "08")
                for path, content in card(
                    f"0000:{bus}:00.0", "22a3", "nvidia-nvswitch", "0x068000"
                ).items()
            },
            "/var/lib/dpkg/status": dpkg("nvidia-open-570 570.195.03-0ubuntu1"),
        },
        {
            "nvml": nvml(
                "570.195.03",
                "12.8",
                *(
                    {
                        "name": "NVIDIA H100 80GB HBM3",
                        "uuid": f"GPU-0000000{i}-8888-7777-6666-555555555555",
                        "cc": "9.0",
                        "memory_mib": 81559,
                        "pci_bus": f"00000000:{bus}:00.0",
                        "pci_id": "10de:2330",
                        "fabric": "in-progress",
                        "persistence": False,
                    }
                    for i, bus in enumerate(("1B", "43"))
                ),
            ),
            **systemd(docker="active", nvidia_persistenced="inactive"),
        },
    ),
    "a100-mig-empty": Machine(
        "pytorch/pytorch#102715: MIG mode on, no instance made; card: pci.ids 10de:20b0",
        {
            **_KERNEL,
            "/etc/os-release": UBUNTU2204,
            "/proc/driver/nvidia/version": OPEN.format("535.216.01"),
            **card("0000:07:00.0", "20b0", "nvidia", "0x030200"),
        },
        {"nvml": nvml("535.216.01", "12.2", A100 | {"mig": {"enabled": True, "instances": []}})},
    ),
    "a100-exclusive": Machine(
        "compute mode of nvmlDeviceGetComputeMode; limits as a user without root sees them in /proc; profiling restricted: /proc/driver/nvidia/params",
        {
            **_KERNEL,
            "/etc/os-release": ROCKY9,
            "/proc/driver/nvidia/version": OPEN.format("580.95.05"),
            "/proc/driver/nvidia/params": "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nModifyDeviceFiles: 1\n",
            "/etc/modprobe.d/nvidia-prof.conf": "# counters\noptions nvidia NVreg_RestrictProfilingToAdminUsers=0\n",
            "/proc/self/status": user(1000, 1000, 44),
            "/etc/group": GROUPS,
            "/proc/meminfo": MEMORY,
            "/proc/self/mounts": "tmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n",
            "/proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units     \nMax locked memory         65536                65536                bytes     \nMax open files            1024                 524288               files     \n",
            "/sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
            **card("0000:07:00.0", "20b0", "nvidia", "0x030200"),
            "/var/lib/rpm/rpmdb.sqlite": "",
            "/etc/dnf/plugins/versionlock.list": "nvidia-driver-cuda-3:580.95.05-1.el9.*\n",
        },
        {
            "nvml": nvml("580.95.05", "13.0", A100 | {"compute_mode": "exclusive-process"}),
            "/usr/bin/rpm -qa --qf %{NAME} %{VERSION}-%{RELEASE}\\n": (
                0,
                "nvidia-driver-cuda 580.95.05-1.el9\nkmod-nvidia-open-dkms 580.95.05-1.el9\nbash 5.1.8-9.el9\n",
            ),
            "/usr/bin/dmesg": (
                1,
                "",
                "dmesg: read kernel buffer failed: Operation not permitted\n",
            ),
        },
    ),
    "a40-vgpu-unlicensed": Machine(
        "lines of `nvidia-smi -q` of a vGPU guest without a licence: vGPU user guide, status `Unlicensed (Unrestricted)`; card A40-8Q as its guest sees it",
        {
            **_KERNEL,
            "/etc/os-release": UBUNTU2204,
            "/proc/driver/nvidia/version": PROPRIETARY.format("550.163.01"),
            "/etc/nvidia/gridd.conf": "ServerAddress=licence.example\nFeatureType=4\n",
            "/run/systemd/system/README": "",
            **card("0000:02:00.0", "2235", "nvidia", "0x030000"),
        },
        {
            "nvml": (0, '{"driver":null,"gpus":[],"says":"Insufficient Permissions"}'),
            _SMI: (
                0,
                "NVIDIA A40-8Q, GPU-f00dcafe-d1ca-11ef-9fd5-8a9a8a9a8a9a, 8192, 00000000:02:00.0, 0x223510DE, 550.163.01, 8.6, [N/A]\n",
            ),
            "/usr/bin/nvidia-smi": (0, banner("550.163.01", "550.163.01", "12.4")),
            "/usr/bin/nvidia-smi -q": (
                0,
                (
                    "Driver Version                            : 550.163.01\n\nAttached GPUs                             : 1\n"
                    "GPU 00000000:02:00.0\n    Product Name                          : NVIDIA A40-8Q\n"
                    "    Persistence Mode                      : Enabled\n    Serial Number                         : N/A\n"
                    "    GPU Virtualization Mode\n        Virtualization Mode               : VGPU\n"
                    "    vGPU Software Licensed Product\n        Product Name                      : NVIDIA RTX Virtual Workstation\n"
                    "        License Status                    : Unlicensed (Unrestricted)\n"
                    "    Compute Mode                          : Default\n"
                ),
            ),
            **systemd(nvidia_gridd="failed"),
        },
    ),
    "gb10-sbsa": Machine(
        "DGX Spark: GPU name and cc 12.1 (vllm-project/vllm#28589), aarch64 of Ubuntu 24.04; memory is the system's own and NVML does not give it",
        {
            "/etc/os-release": UBUNTU2404,
            "/proc/sys/kernel/osrelease": "6.11.0-1016-nvidia\n",
            "/proc/driver/nvidia/version": OPEN.format("580.95.05").replace("x86_64", "aarch64"),
            "/lib/aarch64-linux-gnu/libc.so.6": b"\x7fELF\x02\x01\x01"
            + b"\0" * 11
            + b"\xb7\x00"
            + b"GNU C Library (Ubuntu GLIBC 2.39-0ubuntu8) stable release version 2.39.\n",
            **card("000f:01:00.0", "2e12", "nvidia"),
        },
        {
            "nvml": nvml(
                "580.95.05",
                "13.0",
                {
                    "name": "NVIDIA GB10",
                    "uuid": "GPU-0b100b10-2222-3333-4444-555555555555",
                    "cc": "12.1",
                    "pci_bus": "0000000F:01:00.0",
                    "pci_id": "10de:2e12",
                },
            )
        },
    ),
    "rtx4090-vfio": Machine(
        "passed to a virtual machine: held by vfio-pci (kernel documentation, driver-api/vfio); command line of such a host",
        {
            **_KERNEL,
            "/etc/os-release": UBUNTU2404,
            "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=0 ro intel_iommu=on vfio-pci.ids=10de:2684 modprobe.blacklist=nouveau quiet\n",
            "/proc/modules": "vfio_pci 16384 0 - Live 0x0\n",
            **card("0000:01:00.0", "2684", "vfio-pci"),
        },
    ),
    "arch-pascal-590": Machine(
        "rolling release: the package moved past 580 (dartraiden/NVIDIA-patcher#500 and Arch's legacy package nvidia-580xx-dkms); module for the running kernel is missing after the update",
        {
            "/etc/os-release": 'NAME="Arch Linux"\nPRETTY_NAME="Arch Linux"\nID=arch\nBUILD_ID=rolling\n',
            "/proc/sys/kernel/osrelease": "6.17.8-arch1-1\n",
            "/var/lib/pacman/local/nvidia-open-590.48.01-3/desc": "",
            "/var/lib/pacman/local/nvidia-utils-590.48.01-1/desc": "",
            "/var/lib/pacman/local/bash-5.3.3-2/desc": "",
            "/etc/pacman.conf": "[options]\nIgnorePkg   = linux nvidia-utils\n",
            **card("0000:01:00.0", "1b06"),
        },
        {"/usr/bin/modinfo nvidia": (1, "", "modinfo: ERROR: Module nvidia not found.\n")},
    ),
    "nano-r32.7": Machine(
        "release line: NVIDIA's L4T R32.7 (dusty-nv/jetson-containers wiki); device tree of the Nano: NVIDIA/jetson-gpio (nvidia,p3450-0000, tegra210)",
        {
            "/etc/os-release": 'ID=ubuntu\nVERSION_ID="18.04"\nPRETTY_NAME="Ubuntu 18.04.6 LTS"\n',
            "/proc/sys/kernel/osrelease": "4.9.253-tegra\n",
            "/etc/nv_tegra_release": "# R32 (release), REVISION: 7.1, GCID: 29818004, BOARD: t210ref, EABI: aarch64, DATE: Sat Feb 19 17:05:08 UTC 2022\n",
            "/proc/device-tree/model": b"NVIDIA Jetson Nano Developer Kit\0",
            "/proc/device-tree/compatible": b"nvidia,p3450-0000\0nvidia,jetson-nano\0nvidia,tegra210\0",
            "/etc/nvidia-container-runtime/host-files-for-container.d/l4t.csv": "lib, /usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1\n",
            "/dev/nvhost-gpu": "",
            "/dev/nvmap": "",
        },
    ),
}
