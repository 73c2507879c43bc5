"""Made machines in the states that people report: container engines, WSL, Windows."""
# ruff: noqa: E501 - texts stand as the tools print them

from tests.host.answers import (
    CDI_SPEC,
    FEDORA43,
    FULL,
    GROUPS,
    INFO,
    MEMORY,
    NO_DRIVER,
    OPEN,
    RTX4090,
    RTX5090,
    UBUNTU2204,
    UBUNTU2404,
    WSL_KERNEL,
    banner,
    card,
    docker,
    dpkg,
    ld_cache,
    nvml,
    systemd,
    user,
    windows,
)
from tests.host.fakes import Machine

_DRIVEN = {
    "/proc/driver/nvidia/version": OPEN.format("580.95.05"),
    "/proc/modules": "nvidia_uvm 2179072 0 - Live 0x0\nnvidia 14450688 1 nvidia_uvm, Live 0x0\n",
    **card("0000:01:00.0", "2684", "nvidia"),
}
_NVML = {"nvml": nvml("580.95.05", "13.0", RTX4090)}
_CTK = {"/usr/bin/nvidia-ctk --version": (0, "NVIDIA Container Toolkit CLI version 1.18.1\n")}
_STALE = """{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu",
 "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia-uvm", "major": 510, "minor": 0}],
  "mounts": [{"hostPath": "/usr/lib/x86_64-linux-gnu/libcuda.so.575.64.05",
              "containerPath": "/usr/lib/x86_64-linux-gnu/libcuda.so.575.64.05"}]},
 "devices": [{"name": "all", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0", "major": 195}]}}]}
"""
_WSL = {
    "/proc/version": WSL_KERNEL,
    "/proc/sys/kernel/osrelease": "6.6.87.2-microsoft-standard-WSL2\n",
    "/dev/dxg": "",
    "/proc/sys/fs/binfmt_misc/WSLInterop": "enabled\n",
}
_WSL_LIB = {
    "/usr/lib/wsl/lib/libcuda.so.1": "",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1": "",
}
_WSL_SMI = {
    f"/usr/lib/wsl/lib/nvidia-smi {FULL}": (
        0,
        "NVIDIA GeForce RTX 4090, GPU-5f1b2c3d-0000-1111-2222-333344445555, 24564, 00000000:01:00.0, 0x268410DE, 581.57, 8.9, [N/A]\n",
    ),
    "/usr/lib/wsl/lib/nvidia-smi": (0, banner("580.102.01", "581.57", "13.0")),
}
_WSL_VERSION = "WSL version: 2.6.1.0\r\nKernel version: 6.6.87.2-1\r\nWSLg version: 1.0.66\r\n"
_DISTROS = "  NAME            STATE           VERSION\r\n* Ubuntu-24.04    Running         2\r\n  docker-desktop  Stopped         2\r\n"

CONTAINERS: dict[str, Machine] = {
    "rtx4090-docker-snap": Machine(
        "canonical/docker-snap#148: dockerd below /snap, its root folder below /var/snap",
        {
            "/etc/os-release": UBUNTU2204,
            **_DRIVEN,
            "/var/snap/docker/common/run/docker.pid": "4242",
            "/proc/4242/cmdline": b"/snap/docker/2915/bin/dockerd\0--group\0docker\0",
            "/run/docker.sock": "",
            "/run/systemd/system/README": "",
        },
        {
            **_NVML,
            **docker(
                "/snap/bin/docker",
                ServerVersion="27.5.1",
                OperatingSystem="Ubuntu Core 22",
                DockerRootDir="/var/snap/docker/common/var-lib-docker",
                CDISpecDirs=[],
            ),
            **systemd(snap_docker_dockerd="active"),
        },
        {"PATH": "/usr/bin:/bin:/snap/bin"},
    ),
    "rtx4090-docker-desktop-linux": Machine(
        "NVIDIA/nvidia-container-toolkit#83: context desktop-linux, the toolkit is installed and configured",
        {
            "/etc/os-release": UBUNTU2204,
            **_DRIVEN,
            "/home/someone/.docker/desktop/docker.sock": "",
            "/etc/nvidia-container-runtime/config.toml": '#no-cgroups\n[nvidia-container-cli]\nenvironment = ["A=secret"]\n#no-cgroups = false\nload-kmods = true\n[nvidia-container-runtime]\nmode = "auto"\n',
        },
        {
            **_NVML,
            **_CTK,
            **docker(
                OperatingSystem="Docker Desktop",
                KernelVersion="6.10.14-linuxkit",
                ClientInfo={"Context": "desktop-linux"},
            ),
        },
        {"HOME": "/home/someone"},
    ),
    "rtx4090-rootful-and-rootless": Machine(
        "NVIDIA/nvidia-container-toolkit#381: both daemons, one config file with no-cgroups = true; sockets: docker manual, rootless mode",
        {
            "/etc/os-release": UBUNTU2404,
            **_DRIVEN,
            "/run/docker.sock": "",
            "/run/user/1000/docker.sock": "",
            "/proc/self/status": user(1000, 1000, 988),
            "/etc/group": GROUPS,
            "/etc/nvidia-container-runtime/config.toml": "[nvidia-container-cli]\nno-cgroups = true\n",
            "/etc/docker/daemon.json": '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}, "exec-opts": ["native.cgroupdriver=cgroupfs"], "registry-mirrors": ["https://user:word@mirror.example"]}',
        },
        {
            **_NVML,
            **_CTK,
            **docker(
                Runtimes={"runc": {}, "nvidia": {"path": "nvidia-container-runtime"}},
                CDISpecDirs=[],
                CgroupDriver="cgroupfs",
                DefaultRuntime="runc",
                ClientInfo={"Context": "default"},
            ),
        },
    ),
    "rtx4090-no-permission": Machine(
        "user outside of group docker (docker 28's words), toolkit list that is an error page (NVIDIA/nvidia-container-toolkit#565)",
        {
            "/etc/os-release": UBUNTU2404,
            **_DRIVEN,
            "/run/docker.sock": "",
            "/proc/self/status": user(1000, 1000),
            "/etc/group": GROUPS,
            "/etc/apt/sources.list.d/nvidia-container-toolkit.list": "# Unsupported distribution!\n# Check https://nvidia.github.io/nvidia-docker\n",
            "/etc/apt/sources.list.d/cuda-ubuntu2204.list": "deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64/ /\n",
            "/etc/apt/sources.list.d/docker.sources": "Types: deb\nURIs: https://download.docker.com/linux/ubuntu\nSuites: noble\nComponents: stable\nSigned-By: /etc/apt/keyrings/docker.asc\n",
        },
        {
            **_NVML,
            f"/usr/bin/docker {INFO}": (
                1,
                '{"ServerErrors": ["permission denied while trying to connect to the docker API at unix:///var/run/docker.sock"], "ClientInfo": {"Context": "default"}}',
            ),
        },
    ),
    "rtx5090-cdi-stale": Machine(
        "NVIDIA/nvidia-container-toolkit#1934: the spec says major 510, the kernel 509; its mounts are of an older driver",
        {
            "/etc/os-release": UBUNTU2404,
            "/proc/driver/nvidia/version": OPEN.format("580.95.05"),
            "/proc/devices": "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n509 nvidia-uvm\n\nBlock devices:\n259 blkext\n",
            "/var/run/cdi/nvidia.json": _STALE,
            "/dev/nvidia0": "",
            "/dev/nvidiactl": "",
            "/dev/nvidia-uvm": "",
            "/run/systemd/system/README": "",
            **card("0000:01:00.0", "2b85", "nvidia"),
        },
        {
            "nvml": nvml("580.95.05", "13.0", RTX5090),
            **_CTK,
            **docker(CDISpecDirs=["/etc/cdi", "/var/run/cdi"]),
            **systemd(docker="active", nvidia_cdi_refresh_path="inactive"),
        },
    ),
    "rtx4090-podman-selinux": Machine(
        "NVIDIA/nvidia-container-toolkit#210: Fedora 43, SELinux enforcing, container_use_devices off; booleans: selinuxfs of the kernel",
        {
            "/etc/os-release": FEDORA43,
            **_DRIVEN,
            "/sys/fs/selinux/enforce": "1",
            "/sys/fs/selinux/booleans/container_use_devices": "0 0",
            "/etc/cdi/nvidia.yaml": CDI_SPEC,
            "/dev/nvidia0": "",
            "/proc/self/status": user(1000, 1000),
            "/etc/group": GROUPS,
        },
        {
            **_NVML,
            **_CTK,
            "/usr/bin/podman --version": (0, "podman version 5.4.2\n"),
        },
    ),
    "wsl2-docker-ce": Machine(
        "healthy WSL 2 with docker-ce: WSL user guide of CUDA, systemd by /etc/wsl.conf (microsoft docs wsl-config); registry of Windows 11: reg query prints",
        {
            "/etc/os-release": UBUNTU2404,
            **_WSL,
            **_WSL_LIB,
            "/etc/ld.so.cache": ld_cache("/usr/lib/wsl/lib/libcuda.so.1"),
            "/proc/1/comm": "systemd\n",
            "/etc/wsl.conf": "[boot]\nsystemd=true\ncommand = curl https://example/?token=1\n[user]\ndefault=someone\n",
            "/mnt/c/Users/Some One/.wslconfig": "[wsl2]\r\nmemory=24GB # of 64\r\nnetworkingMode=mirrored\r\n",
            "/etc/cdi/nvidia.yaml": CDI_SPEC.replace('name: "0"', "name: gpu0"),
            "/proc/meminfo": MEMORY,
            "/run/docker.sock": "",
            "/run/systemd/system/README": "",
            "/etc/apt/sources.list.d/cuda-wsl-ubuntu.list": "deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] https://developer.download.nvidia.com/compute/cuda/repos/wsl-ubuntu/x86_64/ /\n",
            "/usr/local/cuda-13.0/version.json": '{"cuda": {"version": "13.0.2"}}',
            "/usr/local/cuda-13.0/bin/ptxas": "",
        },
        {
            "nvml": nvml("581.57", "13.0", RTX4090),
            **_CTK,
            **docker(
                OperatingSystem="Ubuntu 24.04.3 LTS",
                KernelVersion="6.6.87.2-microsoft-standard-WSL2",
            ),
            **systemd(docker="active", containerd="active"),
            **windows("Windows 10 Pro", 22631, 4317, _WSL_VERSION, _DISTROS, "/mnt/c/"),
            "/mnt/c/Windows/System32/nvidia-smi.exe --query-gpu=driver_version --format=csv,noheader": (
                0,
                "581.57\r\n",
            ),
            r"/mnt/c/Windows/System32/reg.exe query HKLM\SOFTWARE\NVIDIA Corporation\GPUDebugger": (
                0,
                "\r\nHKEY_LOCAL_MACHINE\\SOFTWARE\\NVIDIA Corporation\\GPUDebugger\r\n    EnableInterface    REG_DWORD    0x1\r\n",
            ),
        },
        {"WSL_DISTRO_NAME": "Ubuntu-24.04"},
    ),
    "wsl2-linux-driver": Machine(
        "a Linux driver that apt brought in stands before WSL's own: CUDA on WSL user guide (never install a Linux driver), nvidia-smi's words as there",
        {
            "/etc/os-release": UBUNTU2204,
            **_WSL,
            **_WSL_LIB,
            "/usr/lib/x86_64-linux-gnu/libcuda.so.535.274.02": "",
            "/usr/lib/x86_64-linux-gnu/libcuda.so.1": (
                "link",
                "/usr/lib/x86_64-linux-gnu/libcuda.so.535.274.02",
            ),
            "/etc/ld.so.cache": ld_cache(
                "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"
            ),
            "/proc/1/comm": "init\n",
            "/var/lib/dpkg/status": dpkg(
                "cuda-drivers 535.274.02-1",
                "libnvidia-compute-535 535.274.02-0ubuntu0.22.04.1",
                "nvidia-driver-535 535.274.02-0ubuntu0.22.04.1",
            ),
            "/etc/apt/sources.list.d/cuda-ubuntu2204.list": "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64/ /\n",
        },
        {
            "nvml": (0, '{"driver":null,"gpus":[],"says":"Driver Not Loaded"}'),
            f"/usr/bin/nvidia-smi {FULL}": NO_DRIVER,
            **_WSL_SMI,
            **windows("Windows 10 Pro", 19045, 6456, _WSL_VERSION, _DISTROS, "/mnt/c/"),
        },
        {"WSL_DISTRO_NAME": "Ubuntu"},
    ),
    "wsl2-dxg-only": Machine(
        "only /dev/dxg: no NVIDIA driver in Windows, so /usr/lib/wsl/lib holds no CUDA (WSL user guide); custom kernel name",
        {
            "/etc/os-release": UBUNTU2404,
            **_WSL,
            "/proc/version": "Linux version 6.12.9-custom (someone@box) #1 SMP\n",
            "/usr/lib/wsl/lib/libd3d12.so": "",
        },
        {
            "nvml": (
                0,
                '{"driver":null,"gpus":[],"says":"libnvidia-ml: libnvidia-ml.so.1: cannot open shared object file"}',
            )
        },
    ),
    "wsl2-server-tcc": Machine(
        "microsoft/WSL#11865: L40S in Windows Server 2022 under TCC, driver 555.85; NVML in WSL is blocked",
        {"/etc/os-release": UBUNTU2204, **_WSL, **_WSL_LIB},
        {
            "nvml": (
                0,
                '{"driver":null,"gpus":[],"says":"GPU access blocked by the operating system"}',
            ),
            f"/usr/lib/wsl/lib/nvidia-smi {FULL}": (
                17,
                "Failed to initialize NVML: GPU access blocked by the operating system\n",
            ),
            f"/mnt/c/Windows/System32/nvidia-smi.exe {FULL}": (
                0,
                "NVIDIA L40S, GPU-14141414-1111-2222-3333-444444444444, 46068, 00000000:17:00.0, 0x26B910DE, 555.85, 8.9, [N/A]\r\n",
            ),
            "/mnt/c/Windows/System32/nvidia-smi.exe": (0, banner("555.85", "555.85", "12.5")),
            "/mnt/c/Windows/System32/nvidia-smi.exe -q": (
                0,
                "GPU 00000000:17:00.0\r\n    Product Name                          : NVIDIA L40S\r\n    Driver Model\r\n        Current                           : TCC\r\n        Pending                           : TCC\r\n",
            ),
            "/mnt/c/Windows/System32/nvidia-smi.exe --query-gpu=driver_version --format=csv,noheader": (
                0,
                "555.85\r\n",
            ),
            **windows(
                "Windows Server 2022 Standard",
                20348,
                2402,
                "WSL version: 2.2.4.0\r\nKernel version: 5.15.153.1-2\r\n",
                "",
                "/mnt/c/",
            ),
        },
    ),
    "windows-no-driver": Machine(
        "Windows Python before the driver: names of PCI devices as Microsoft's `Identifiers for PCI devices` has them; the card's sound function is no GPU; pci.ids 10de:1b06, 10de:10ef",
        {},
        {
            "nvml": (0, '{"driver":null,"gpus":[],"says":"NVML Shared Library Not Found"}'),
            **windows("Windows 10 Pro", 19045, 6456),
            r"C:/Windows/System32/reg.exe query HKLM\SYSTEM\CurrentControlSet\Enum\PCI /f VEN_10DE /k": (
                0,
                (
                    "\r\nHKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Enum\\PCI\\VEN_10DE&DEV_10EF&SUBSYS_85E41043&REV_A1\r\n"
                    "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Enum\\PCI\\VEN_10DE&DEV_1B06&SUBSYS_85E41043&REV_A1\r\n"
                    "\r\nEnd of search: 2 match(es) found.\r\n"
                ),
            ),
        },
        {"PATH": r"C:\Windows\System32"},
        system="Windows",
    ),
    "windows-no-wsl": Machine(
        "Windows Python before any distribution: registry of Windows 11 24H2 as reg query prints it; wsl.exe of Windows without WSL fails (microsoft docs); counters open: the control panel's value",
        {},
        {
            "nvml": (
                0,
                '{"driver":{"version":"581.57","cuda":"13.0","source":"nvml"},"gpus":[{"name":"NVIDIA GeForce RTX 5070 Ti","uuid":"GPU-57575757-1111-2222-3333-444444444444","cc":"12.0","memory_mib":16303,"source":"nvml","driver_model":"wddm","compute_mode":"default"}]}',
            ),
            **windows("Windows 10 Home", 26100, 6584),
            "C:/Windows/System32/wsl.exe --version": (1, "W\0S\0L\0"),
            "C:/Windows/System32/nvidia-smi.exe --query-gpu=driver_version --format=csv,noheader": (
                0,
                "581.57\r\n",
            ),
            r"C:/Windows/System32/reg.exe query HKLM\SYSTEM\CurrentControlSet\Services\nvlddmkm /s /f RmProfilingAdminOnly /v /e": (
                0,
                "\r\nHKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\nvlddmkm\\Global\\NVTweak\r\n    RmProfilingAdminOnly    REG_DWORD    0x0\r\n\r\nEnd of search: 1 match(es) found.\r\n",
            ),
        },
        {"PATH": r"C:\Windows\System32", "USERPROFILE": "C:/Users/someone"},
        system="Windows",
    ),
}
