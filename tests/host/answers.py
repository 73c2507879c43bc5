"""What tools print on made machines: texts as each prints them, with the varying words left open."""
# ruff: noqa: E501 - texts stand as the tools print them

import json
import struct

from envbuild.host.services import UNITS
from tests.host.fakes import Content

DEBIAN13 = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nNAME="Debian GNU/Linux"\nVERSION_ID="13"\nVERSION_CODENAME=trixie\nID=debian\n'
UBUNTU2204 = 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=jammy\n'
UBUNTU2404 = 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=noble\n'
ROCKY9 = 'NAME="Rocky Linux"\nVERSION="9.4 (Blue Onyx)"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\n'

OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build  (dvs-builder@U16-A24-9-2)  Thu Oct 10 12:15:00 UTC 2024\nGCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)\n"
PROPRIETARY = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Wed Oct 22 10:47:17 UTC 2025\nGCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)\n"
QUERY = "--query-gpu=name,uuid,memory.total,pci.bus_id,pci.device_id,driver_version{} --format=csv,noheader,nounits"
FULL = QUERY.format(",compute_cap,mig.mode.current")
MIG_ONLY = QUERY.format(",mig.mode.current")
NO_CAP = (2, 'Field "compute_cap" is not a valid field to query.\n\n')
NO_DEVICES = (6, "No devices were found\n")
NO_DRIVER = (
    9,
    (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
        "Make sure that the latest NVIDIA driver is installed and running.\n\n"
    ),
)
INFO = "info --format {{json .}}"


def banner(smi: str, driver: str, cuda: str) -> str:
    """The header of ``nvidia-smi`` up to R580 (jetson-containers#1403, WSL#9962)."""
    return (
        f"Thu Sep 11 20:22:19 2025\n+{'-' * 87}+\n"
        f"| NVIDIA-SMI {smi}                Driver Version: {driver}      CUDA Version: {cuda}     |\n"
    )


def card(bus: str, device: str, driver: str = "", kind: str = "0x030000") -> dict[str, Content]:
    """One card in sysfs as the kernel lays it out."""
    folder = f"/sys/bus/pci/devices/{bus}"
    files: dict[str, Content] = {
        f"{folder}/vendor": "0x10de\n",
        f"{folder}/device": f"0x{device}\n",
        f"{folder}/class": f"{kind}\n",
    }
    if driver:
        files[f"{folder}/driver"] = ("link", f"/sys/bus/pci/drivers/{driver}")
    return files


def info(**fields: object) -> tuple[int, str]:
    """``docker info`` with the fields that we read (names from the engine's API, docker 28)."""
    return 0, json.dumps(
        {
            "ServerVersion": "28.5.2",
            "OperatingSystem": "Ubuntu 24.04.3 LTS",
            "KernelVersion": "6.8.0-88-generic",
            "Runtimes": {"runc": {"path": "runc"}},
            "SecurityOptions": ["name=seccomp,profile=builtin", "name=cgroupns"],
            "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"],
        }
        | fields
    )


def docker(cli: str = "/usr/bin/docker", **fields: object) -> dict[str, tuple[int, str]]:
    """A docker client with buildx, and its server."""
    return {
        f"{cli} {INFO}": info(**fields),
        f"{cli} buildx version": (0, "github.com/docker/buildx v0.29.1 v0.29.1\n"),
    }


def nvml(driver: str, cuda: str, *gpus: dict[str, object]) -> tuple[int, str]:
    """The answer of the NVML child, as `envbuild.host.nvml.read` writes it."""
    drv = {"version": driver, "cuda": cuda, "source": "nvml"}
    return 0, json.dumps({"driver": drv, "gpus": [{"source": "nvml"} | g for g in gpus]})


CDI_SPEC = """---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
    - name: "0"
      containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}
    - name: all
      containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}
"""

RTX5090 = {
    "name": "NVIDIA GeForce RTX 5090",
    "uuid": "GPU-11111111-2222-3333-4444-555555555555",
    "cc": "12.0",
    "memory_mib": 32607,
    "pci_bus": "00000000:01:00.0",
    "pci_id": "10de:2b85",
}
H100 = {
    "name": "NVIDIA H100 80GB HBM3",
    "uuid": "GPU-99999999-8888-7777-6666-555555555555",
    "cc": "9.0",
    "memory_mib": 81559,
    "mig": {
        "enabled": True,
        "instances": [
            "MIG-0f0e7c5c-6d21-5b2e-9a53-7f1d2f3f4a51",
            "MIG-5c8d1b5e-90c4-5d3a-8a26-1d9a6d8e2b77",
        ],
    },
    "pci_bus": "00000000:1B:00.0",
    "pci_id": "10de:2330",
}
WSL_KERNEL = "Linux version 6.6.87.2-microsoft-standard-WSL2 (root@439a258ad544) (gcc (GCC) 11.2.0, GNU ld (GNU Binutils) 2.37) #1 SMP\n"


def ld_cache(*paths: str) -> bytes:
    """A loader cache (glibc's ``dl-cache.h``) that names these libraries, x86-64, in this order."""
    header, entries, strings = 48, 24 * len(paths), b""
    table = b""
    for path in paths:
        name = path.rpartition("/")[2]
        offsets = []
        for text in (name, path):
            offsets.append(header + entries + len(strings))
            strings += text.encode() + b"\0"
        table += struct.pack("=iIIIQ", 0x0303, *offsets, 0, 0)
    start = b"glibc-ld.so.cache1.1" + struct.pack("=II", len(paths), len(strings))
    return start.ljust(header, b"\0") + table + strings


def dpkg(*lines: str) -> str:
    """dpkg's status file: ``name version[ state[ want]]`` a package."""
    found = []
    for line in lines:
        name, version, state, want = (*line.split(" "), "installed", "install")[:4]
        if len(line.split(" ")) < 4:
            want = "install"
        found.append(
            f"Package: {name}\nStatus: {want} ok {state}\nArchitecture: amd64\nVersion: {version}\n"
        )
    return "\n".join(found)


def modinfo(version: str, licence: str, path: str) -> tuple[int, str]:
    """``modinfo nvidia``, of which we read three lines."""
    return 0, f"filename:       {path}\nversion:        {version}\nlicense:        {licence}\n"


def user(uid: int, *groups: int) -> str:
    """The lines of ``/proc/self/status`` that we read."""
    ids = f"{uid}\t{uid}\t{uid}\t{uid}"
    return f"Name:\tpython3\nUid:\t{ids}\nGid:\t{ids}\nGroups:\t{' '.join(map(str, groups))} \n"


def systemd(**states: str) -> dict[str, tuple[int, str]]:
    """``systemctl show`` of our units: those with a state are there (``_`` for ``-``)."""
    blocks = []
    for unit in UNITS:
        state = states.get(unit.removesuffix(".service").replace("-", "_").replace(".", "_"))
        load = "loaded" if state else "not-found"
        blocks.append(f"Id={unit}\nLoadState={load}\nActiveState={state or 'inactive'}\n")
    command = f"/usr/bin/systemctl show --property=Id,LoadState,ActiveState {' '.join(UNITS)}"
    return {command: (0, "\n".join(blocks))}


GROUPS = "root:x:0:\nvideo:x:44:\nrender:x:993:\ndocker:x:988:\n"
MEMORY = "MemTotal:       65536000 kB\nMemFree:        1000 kB\nSwapTotal:       8388608 kB\n"
NO_SIGNS = (0, '{"driver":null,"gpus":[],"says":"Driver Not Loaded"}')
MISMATCH = (0, '{"driver":null,"gpus":[],"says":"Driver/library version mismatch"}')
GTX1050 = {
    "name": "NVIDIA GeForce GTX 1050",
    "uuid": "GPU-31313131-2222-3333-4444-555555555555",
    "cc": "6.1",
    "memory_mib": 2048,
    "pci_bus": "00000000:01:00.0",
    "pci_id": "10de:1c81",
}
RTX4090 = {
    "name": "NVIDIA GeForce RTX 4090",
    "uuid": "GPU-41414141-2222-3333-4444-555555555555",
    "cc": "8.9",
    "memory_mib": 24564,
    "pci_bus": "00000000:01:00.0",
    "pci_id": "10de:2684",
}
A100 = {
    "name": "NVIDIA A100-SXM4-40GB",
    "uuid": "GPU-a1a1a1a1-2222-3333-4444-555555555555",
    "cc": "8.0",
    "memory_mib": 40960,
    "pci_bus": "00000000:07:00.0",
    "pci_id": "10de:20b0",
}
FEDORA43 = 'ID=fedora\nVERSION_ID=43\nPRETTY_NAME="Fedora Linux 43 (Workstation Edition)"\n'


def windows(
    product: str, build: int, patch: int, wsl: str = "", listed: str = "", root: str = "C:/"
) -> dict[str, tuple[int, str]]:
    """What reg.exe and wsl.exe print; WSL's words as UTF-16 that was read as UTF-8."""
    reg = f"{root}Windows/System32/reg.exe query HKLM\\"
    key = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion"
    found = {
        f"{reg}{key}": (
            0,
            (
                f"\r\nHKEY_LOCAL_MACHINE\\{key}\r\n    ProductName    REG_SZ    {product}\r\n"
                f"    CurrentBuildNumber    REG_SZ    {build}\r\n    UBR    REG_DWORD    {patch:#x}\r\n"
            ),
        )
    }
    if wsl:
        exe = f"{root}Windows/System32/wsl.exe"
        found[f"{exe} --version"] = (0, "\0".join(wsl) + "\0")
        found[f"{exe} --list --verbose"] = (0, "\0".join(listed) + "\0")
    return found
