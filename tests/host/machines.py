"""Made machines; their detected hosts are kept in ``tests/hosts`` and replayed by other tests.

``python -m tests.host.machines`` writes those files anew.
"""
# ruff: noqa: E501 - texts stand as the tools print them

from tests.host.answers import (
    CDI_SPEC,
    DEBIAN13,
    FULL,
    H100,
    INFO,
    MIG_ONLY,
    NO_CAP,
    NO_DEVICES,
    OPEN,
    PROPRIETARY,
    ROCKY9,
    RTX5090,
    UBUNTU2204,
    UBUNTU2404,
    WSL_KERNEL,
    banner,
    card,
    docker,
    info,
    nvml,
)
from tests.host.fakes import Machine
from tests.host.states import NATIVE
from tests.host.states_containers import CONTAINERS

MACHINES: dict[str, Machine] = {
    "gtx1080ti-no-driver": Machine(
        "PCI id: pci.ids 10de:1b06 is GP102 [GeForce GTX 1080 Ti]; no engine, no driver",
        {
            "/etc/os-release": DEBIAN13,
            "/proc/sys/kernel/osrelease": "6.12.48+deb13-amd64\n",
            **card("0000:01:00.0", "1b06"),
            # Its sound function, and another maker's card: neither is a GPU of ours.
            **card("0000:01:00.1", "10ef", kind="0x040300"),
            "/sys/bus/pci/devices/0000:00:02.0/vendor": "0x8086\n",
            "/sys/bus/pci/devices/0000:00:02.0/device": "0x3e92\n",
            "/sys/bus/pci/devices/0000:00:02.0/class": "0x030000\n",
        },
        {"/usr/bin/gcc -dumpfullversion -dumpversion": (0, "14.2.0\n")},
    ),
    "gtx1050-nouveau": Machine(
        "PCI id: pci.ids 10de:1c81 is GP107 [GeForce GTX 1050]; held by nouveau as on a fresh install",
        {
            "/etc/os-release": 'ID=fedora\nVERSION_ID=43\nPRETTY_NAME="Fedora Linux 43 (Workstation Edition)"\n',
            **card("0000:01:00.0", "1c81", "nouveau"),
        },
    ),
    "rtx5090-docker-cdi": Machine(
        "NVRM line: nixGL#186; CDI spec: `nvidia-ctk cdi generate` layout; "
        "docker fields: gpustack#3808 (docker 29.1.2 with DiscoveredDevices)",
        {
            "/etc/os-release": UBUNTU2404,
            "/proc/driver/nvidia/version": OPEN.format("580.95.05"),
            "/proc/sys/kernel/osrelease": "6.8.0-88-generic\n",
            "/etc/cdi/nvidia.yaml": CDI_SPEC,
            "/usr/local/cuda-12.9/version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.9.1"}}',
            "/usr/local/cuda-12.9/bin/ptxas": "",
            "/usr/local/cuda-13.0/version.json": '{"cuda": {"name": "CUDA SDK", "version": "13.0.2"}}',
            "/usr/local/cuda-11.4/version.txt": "CUDA Version 11.4.4\n",
            "/usr/local/cuda-11.4/bin/ptxas": "",
            **card("0000:01:00.0", "2b85", "nvidia"),
        },
        {
            "nvml": nvml("580.95.05", "13.0", RTX5090),
            **docker(
                DiscoveredDevices=[{"Source": "cdi", "ID": "nvidia.com/gpu=all"}],
                Runtimes={"runc": {}, "nvidia": {"path": "nvidia-container-runtime"}},
            ),
            "/usr/bin/nvidia-ctk --version": (
                0,
                "NVIDIA Container Toolkit CLI version 1.18.1\ncommit: efe99418ef87500dbe059cadc9ab418b2815b9d5\n",
            ),
            "/usr/bin/podman --version": (0, "podman version 4.9.3\n"),
            "/usr/bin/apptainer --version": (0, "apptainer version 1.4.2\n"),
            "/usr/bin/gcc -dumpfullversion -dumpversion": (0, "13.3.0\n"),
            "/usr/bin/clang-18 --version": (
                0,
                "Ubuntu clang version 18.1.3 (1ubuntu1)\nTarget: x86_64\n",
            ),
            "/usr/local/cuda-13.0/bin/nvcc --version": (
                0,
                "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n",
            ),
        },
    ),
    "rtx5090-gtx1080ti-open": Machine(
        "open module, so the Pascal card is not driven (open-gpu-kernel-modules#696)",
        {
            "/etc/os-release": UBUNTU2404,
            "/proc/driver/nvidia/version": OPEN.format("580.95.05"),
            **card("0000:01:00.0", "2b85", "nvidia"),
            **card("0000:02:00.0", "1b06"),
        },
        {"nvml": nvml("580.95.05", "13.0", RTX5090)},
    ),
    "p4-open-module": Machine(
        "driver loaded, wrong module: `No devices were found`; PCI id: pci.ids 10de:1bb3 is GP104GL [Tesla P4]",
        {
            "/etc/os-release": DEBIAN13,
            "/proc/driver/nvidia/version": OPEN.format("580.178.04"),
            **card("0000:03:00.0", "1bb3", kind="0x030200"),
        },
        {
            "nvml": nvml("580.178.04", "13.0"),
            f"/usr/bin/nvidia-smi {FULL}": NO_DEVICES,
        },
    ),
    "gtx1080ti-smi-only": Machine(
        "R470 knows no compute_cap (huggingface/candle#733); NVML library missing from the machine",
        {
            "/etc/os-release": ROCKY9,
            "/proc/driver/nvidia/version": PROPRIETARY.format("470.256.02"),
            **card("0000:01:00.0", "1b06", "nvidia"),
        },
        {
            "nvml": (
                0,
                '{"driver":null,"gpus":[],"says":"libnvidia-ml: libnvidia-ml.so.1: cannot open shared object file"}',
            ),
            f"/usr/bin/nvidia-smi {FULL}": NO_CAP,
            f"/usr/bin/nvidia-smi {MIG_ONLY}": (
                0,
                (
                    "NVIDIA GeForce GTX 1080 Ti, GPU-c2b1f6a0-0d1f-11ee-be56-0242ac120002, 11178, "
                    "00000000:01:00.0, 0x1B0610DE, 470.256.02, [N/A]\n"
                ),
            ),
            "/usr/bin/nvidia-smi": (0, banner("470.256.02", "470.256.02", "11.4")),
        },
    ),
    "wsl2-docker-desktop": Machine(
        "wsl.exe --version: microsoft/WSL#9962, here as UTF-16 read as UTF-8; header: same; "
        "docker 29.1.5 of Docker Desktop 4.58 (docker/desktop-feedback#55)",
        {
            "/etc/os-release": UBUNTU2404,
            "/proc/version": WSL_KERNEL,
            "/proc/sys/kernel/osrelease": "6.6.87.2-microsoft-standard-WSL2\n",
            "/dev/dxg": "",
            "/usr/lib/wsl/lib/libnvidia-ml.so.1": "",
        },
        {
            "nvml": (0, '{"driver":null,"gpus":[],"says":"libnvidia-ml: invalid ELF header"}'),
            f"/usr/lib/wsl/lib/nvidia-smi {FULL}": (
                0,
                (
                    "NVIDIA GeForce RTX 4090, GPU-5f1b2c3d-0000-1111-2222-333344445555, 24564, "
                    "00000000:01:00.0, 0x268410DE, 581.57, 8.9, [N/A]\n"
                ),
            ),
            "/usr/lib/wsl/lib/nvidia-smi": (0, banner("580.102.01", "581.57", "13.0")),
            "/mnt/c/Windows/System32/wsl.exe --version": (
                0,
                "W\0S\0L\0 \0v\0e\0r\0s\0i\0o\0n\0:\0 \0002\0.\0005\0.\0009\0.\0000\0\r\0\n\0",
            ),
            **docker(
                ServerVersion="29.1.5",
                OperatingSystem="Docker Desktop",
                KernelVersion="6.6.87.2-microsoft-standard-WSL2",
                DiscoveredDevices=[{"Source": "cdi", "ID": "docker.com/gpu=webgpu"}],
                Runtimes={"runc": {}, "nvidia": {}},
            ),
        },
    ),
    "wsl1": Machine(
        "the kernel string that WSL 1 shows (microsoft/WSL issues); no GPU is passed on",
        {
            "/etc/os-release": UBUNTU2204,
            "/proc/version": "Linux version 4.4.0-22621-Microsoft (Microsoft@Microsoft.com) (gcc version 5.4.0 (GCC) ) #2506-Microsoft\n",
            "/proc/sys/fs/binfmt_misc/WSLInterop": "enabled\n",
        },
    ),
    "orin-r36.4": Machine(
        "header: dusty-nv/jetson-containers#1403; device tree: NVIDIA/jetson-gpio#125; "
        "release line: L4T 36.4.0; row of nvidia-smi: fields that its table shows as N/A",
        {
            "/etc/os-release": UBUNTU2204,
            "/proc/sys/kernel/osrelease": "5.15.148-tegra\n",
            "/dev/nvgpu/igpu0": "",
            "/etc/nv_tegra_release": "# R36 (release), REVISION: 4.0, GCID: 37537400, BOARD: generic, EABI: aarch64, DATE: Fri Sep 13 04:36:44 UTC 2024\n",
            "/proc/device-tree/model": b"NVIDIA Jetson AGX Orin Developer Kit\0",
            "/proc/device-tree/compatible": b"nvidia,p3737-0000+p3701-0005\0nvidia,p3701-0005\0nvidia,tegra234\0nvidia,tegra23x\0",
        },
        {
            "nvml": (1, "", "Segmentation fault\n"),
            f"/usr/sbin/nvidia-smi {FULL}": (
                0,
                "Orin (nvgpu), [N/A], [N/A], [N/A], [N/A], 540.4.0, [N/A], [N/A]\n",
            ),
            "/usr/sbin/nvidia-smi": (0, banner("540.4.0", "540.4.0", "12.6")),
            **docker(
                ServerVersion="27.5.1",
                OperatingSystem="Ubuntu 22.04.5 LTS",
                CDISpecDirs=[],
                Runtimes={"runc": {}, "nvidia": {"path": "nvidia-container-runtime"}},
            ),
        },
        {"PATH": "/usr/sbin:/usr/bin"},
    ),
    "thor-r38.2": Machine(
        "release line and device tree: rbonghi/jetson_stats#711; GPU name and driver: vllm#34470",
        {
            "/etc/os-release": UBUNTU2404,
            "/proc/sys/kernel/osrelease": "6.8.12-tegra\n",
            "/dev/nvidiactl": "",
            "/etc/nv_tegra_release": "# R38 (release), REVISION: 2.0, GCID: 41844464, BOARD: generic, EABI: aarch64, DATE: Fri Aug 22 00:55:42 UTC 2025\n",
            "/proc/device-tree/model": b"NVIDIA Jetson AGX Thor Developer Kit\0",
            "/proc/device-tree/compatible": b"nvidia,p4071-0000+p3834-0008\0nvidia,p3834-0008\0nvidia,tegra264\0",
            "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.00  Release Build  (buildbrain@mobile)\n",
        },
        {"nvml": nvml("580.00", "13.0", {"name": "NVIDIA Thor", "cc": "11.0"})},
    ),
    "orin-r35-no-nvml": Machine(
        "release line and device tree: rbonghi/jetson_stats#400; JetPack 5 has no nvidia-smi",
        {
            "/etc/os-release": 'ID=ubuntu\nVERSION_ID="20.04"\n',
            "/etc/nv_tegra_release": "# R35 (release), REVISION: 3.1, GCID: 32827747, BOARD: t186ref, EABI: aarch64, DATE: Sun Mar 19 15:19:21 UTC 2023\n",
            "/proc/device-tree/model": b"NVIDIA Orin Nano Developer Kit\0",
            "/proc/device-tree/compatible": b"nvidia,p3768-0000+p3767-0003\0nvidia,p3767-0003\0nvidia,tegra234\0nvidia,tegra23x\0",
        },
    ),
    "h100-mig": Machine(
        "two instances of one card, as nvmlDeviceGetMigDeviceHandleByIndex gives them",
        {
            "/etc/os-release": ROCKY9,
            "/proc/driver/nvidia/version": OPEN.format("570.195.03"),
            **card("0000:1b:00.0", "2330", "nvidia", "0x030200"),
        },
        {
            "nvml": nvml("570.195.03", "12.8", H100),
            "/usr/bin/podman --version": (0, "podman version 5.4.0\n"),
        },
    ),
    "a100-mig-smi": Machine(
        "`nvidia-smi -L` and driver: DataDog/datadog-agent#33120 (uuids as published there)",
        {"/etc/os-release": UBUNTU2204, "/dev/nvidiactl": ""},
        {
            "nvml": (0, '{"driver":null,"gpus":[],"says":"Insufficient Permissions"}'),
            f"/usr/bin/nvidia-smi {FULL}": (
                0,
                (
                    "NVIDIA A100-SXM4-80GB, GPU-7fdaf0a5-179b-f636-d15d-daf243e3ff16, 81920, "
                    "00000000:07:00.0, 0x20B210DE, 535.216.01, 8.0, Enabled\n"
                ),
            ),
            "/usr/bin/nvidia-smi": (0, banner("535.216.01", "535.216.01", "12.2")),
            "/usr/bin/nvidia-smi -L": (
                0,
                (
                    "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-7fdaf0a5-179b-f636-d15d-daf243e3ff16)\n"
                    "  MIG 1g.10gb     Device  0: (UUID: MIG-feb88891-0321-5fef-9c87-d4af3b54259e)\n"
                    "  MIG 1g.10gb     Device  1: (UUID: MIG-a25704ba-3a06-5299-a795-fd7cf4d13973)\n"
                ),
            ),
        },
    ),
    "b200-r610": Machine(
        "header of R610 with its new words: sgl-project/sglang#27487",
        {"/etc/os-release": UBUNTU2404, "/proc/driver/nvidia/version": OPEN.format("610.43.02")},
        {
            "nvml": (1, "", "libnvidia-ml: version mismatch\n"),
            f"/usr/bin/nvidia-smi {FULL}": (
                0,
                (
                    "NVIDIA B200, GPU-0a0a0a0a-1111-2222-3333-444444444444, 183359, 00000000:63:00.0, "
                    "0x290110DE, 610.43.02, 10.0, Disabled\n"
                ),
            ),
            "/usr/bin/nvidia-smi": (
                0,
                "| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |\n",
            ),
        },
    ),
    "docker-container": Machine(
        "what docker puts into a container: /.dockerenv, a bare cgroup path; NV_* of the vendor's image",
        {"/etc/os-release": UBUNTU2404, "/.dockerenv": "", "/proc/1/cgroup": "0::/\n"},
        environ={
            "NVIDIA_VISIBLE_DEVICES": "all",
            "NVIDIA_REQUIRE_CUDA": "cuda>=12.4",
            "NVIDIA_API_KEY": "nvapi-secret",
        },
    ),
    "podman-container": Machine(
        "what podman puts into a container: /run/.containerenv and container=podman",
        {"/etc/os-release": DEBIAN13, "/run/.containerenv": 'engine="podman-4.3.1"\n'},
        environ={"container": "podman"},
    ),
    "docker-rootless": Machine(
        "SecurityOptions of a rootless server (docker manual, rootless mode); hook installed, CDI off",
        {"/etc/os-release": UBUNTU2404, "/usr/bin/README": ""},
        {
            **docker(
                CDISpecDirs=[],
                SecurityOptions=["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"],
            ),
            "/usr/bin/nvidia-container-runtime-hook -version": (0, ""),
        },
    ),
    "docker-two-clients": Machine(
        "answers as seen on Debian 12 on 2026-12-01: client 28.2.2 without buildx first on PATH, then docker.io 20.10.24",
        {
            "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nID=debian\n'
        },
        {
            f"/usr/local/bin/docker {INFO}": info(ServerVersion="20.10.24+dfsg1", CDISpecDirs=None),
            "/usr/local/bin/docker buildx version": (
                1,
                "",
                "docker: unknown command: docker buildx\n",
            ),
            "DOCKER_BUILDKIT=1 /usr/local/bin/docker build --help": (
                1,
                "",
                "ERROR: BuildKit is enabled but the buildx component is missing or broken.\n",
            ),
            f"/usr/bin/docker {INFO}": info(ServerVersion="20.10.24+dfsg1", CDISpecDirs=None),
            "/usr/bin/docker buildx version": (
                1,
                "",
                "docker: 'buildx' is not a docker command.\n",
            ),
            "DOCKER_BUILDKIT=1 /usr/bin/docker build --help": (
                0,
                "      --secret stringArray      Secret file to expose to the build (only\n",
            ),
        },
    ),
    "windows-rtx4070": Machine(
        "Windows Python: header of driver 610.47 on an RTX 4070 (sybil-solutions/vllm-studio#184)",
        {},
        {
            "nvml": (0, '{"driver":null,"gpus":[],"says":"NVML Shared Library Not Found"}'),
            f"C:/Windows/System32/nvidia-smi.exe {FULL}": (
                0,
                (
                    "NVIDIA GeForce RTX 4070, GPU-77777777-1111-2222-3333-444444444444, 12282, "
                    "00000000:01:00.0, 0x278610DE, 610.47, 8.9, [N/A]\r\n"
                ),
            ),
            "C:/Windows/System32/nvidia-smi.exe": (
                0,
                "| NVIDIA-SMI 610.47   KMD Version: 610.47   CUDA UMD Version: 13.3 |\r\n",
            ),
        },
        {"PATH": r"C:\Windows\System32;relative"},
        system="Windows",
    ),
}


MACHINES |= NATIVE | CONTAINERS

# Written by `script/record-host FILE --redact` on real machines; never made again from here.
RECORDED = {
    "debian12-builder": (
        "2026-12-02",
        "a build machine without a GPU, itself a container: two docker clients, podman, one toolkit",
    ),
    "h200": ("2026-12-02", "a rented H200, itself a container without an engine"),
    "h200-docker": ("2026-12-02", "the same with docker 28.5.2 and a CDI spec of nvidia-ctk 1.20"),
}


def write() -> None:
    """Write ``tests/hosts/NAME.json`` for every machine, and the table of their sources."""
    import tempfile
    from pathlib import Path

    from envbuild.values.codec import dump

    folder = Path(__file__).parent.parent / "hosts"
    lines = [
        "Hosts that tests replay with `--host`. *made*: detected from a fake root folder in",
        "`tests/host/machines.py` (`python -m tests.host.machines` writes them anew); *recorded*: a real",
        "machine, by `script/record-host`.",
        "",
        "| file | kind | source |",
        "|---|---|---|",
    ]
    for name, machine in MACHINES.items():
        with tempfile.TemporaryDirectory() as root:
            (folder / f"{name}.json").write_bytes(dump(machine.detect(Path(root))))
        lines.append(f"| {name} | made 2026-12-01 | {machine.source} |")
    lines += [f"| {name} | recorded {date} | {what} |" for name, (date, what) in RECORDED.items()]
    (folder / "README.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write()
