"""Machines that guides are made for: every host that tests replay, and *made* ones beside them.

The made ones state no more than their names say: a system, a card, a driver, an engine. Cards are
rows of `gpus.yaml`, systems rows of `os.yaml`; nothing else of them was looked at anywhere.
"""

from pathlib import Path

from envbuild.host.load import load_host
from envbuild.values.codec import Pairs
from envbuild.values.host import (
    Driver,
    EngineFacts,
    Gpu,
    Host,
    Jetson,
    Os,
    Probe,
    Tool,
    Windows,
    Wsl,
)

FOLDER = Path(__file__).resolve().parents[1] / "hosts"
LOOKED = tuple(Probe(name=name, ok=True) for name in ("pci", "engines", "toolkit", "toolchain"))


def recorded() -> dict[str, Host]:
    return {path.stem: load_host(path) for path in sorted(FOLDER.glob("*.json"))}


def linux(os: str, card: str, cc: str, driver: Driver | None = None, **more: object) -> Host:
    gpu = Gpu(name=card, cc=cc, source="nvml" if driver else "pci")
    fields: dict[str, object] = {"probes": LOOKED, **more}
    return Host(
        kind="made",
        gpus=(gpu,),
        driver=driver,
        os=Os(id=os, name=os, arch="x86_64"),
        **fields,  # type: ignore[arg-type]
    )


def wsl(card: str, cc: str, driver: str | None, os: str = "ubuntu24.04", **more: object) -> Host:
    return linux(
        os,
        card,
        cc,
        Driver(version=driver) if driver else None,
        platform="wsl2",
        wsl=Wsl(generation=2, version="2.5.9.0", distro="Ubuntu-24.04", systemd=True),
        **more,
    )


DOCKER = EngineFacts(name="docker", version="28.5.2", answers=True, access=("cdi", "gpus"))
CTK = Tool(name="nvidia-container-toolkit", version="1.18.1")
PASCAL = ("GeForce GTX 1080 Ti", "6.1")
ADA = ("GeForce RTX 4090", "8.9")

MADE: dict[str, Host] = {
    "ubuntu22-pascal-595": linux(
        "ubuntu22.04", *PASCAL, Driver(version="595.45.04", module="open")
    ),
    "ubuntu24-pascal-580": linux("ubuntu24.04", *PASCAL, Driver(version="580.95.05")),
    "ubuntu26-volta": linux("ubuntu26.04", "Tesla V100-SXM2-32GB", "7.0"),
    "ubuntu24-maxwell": linux("ubuntu24.04", "GeForce GTX 980", "5.2"),
    "ubuntu24-kepler": linux("ubuntu22.04", "Tesla K80", "3.7"),
    "debian12-blackwell": linux("debian12", "GeForce RTX 5090", "12.0"),
    "debian13-ampere": linux("debian13", "GeForce RTX 3090", "8.6", Driver(version="550.163.01")),
    "rocky9-hopper": linux("rockylinux9", "NVIDIA H100 PCIe", "9.0"),
    "rocky8-pascal": linux("rockylinux8", *PASCAL),
    "rocky10-ada": linux("rockylinux10", *ADA, Driver(version="595.45.04", module="open")),
    "ubuntu24-ready": linux(
        *("ubuntu24.04", *ADA),
        Driver(version="595.91.07", cuda="13.2", module="open"),
        engines=(DOCKER,),
        container_toolkit=CTK,
    ),
    "ubuntu24-podman": linux(
        *("ubuntu24.04", *ADA),
        Driver(version="580.95.05", cuda="13.0", module="open"),
        engines=(EngineFacts(name="podman", version="4.9.3", answers=True),),
    ),
    "wsl-pascal": wsl(*PASCAL, "581.42"),
    "wsl-pascal-591": wsl(*PASCAL, "591.74"),
    "wsl-ada": wsl(*ADA, "581.57", engines=(DOCKER,), container_toolkit=CTK),
    "wsl-old-driver": wsl(*ADA, "472.12"),
    "wsl-linux-driver": wsl(
        *ADA,
        "581.57",
        packages=Pairs({"libnvidia-compute-535": "535", "nvidia-cuda-toolkit": "12"}),
    ),
    "wsl-l40s": wsl("NVIDIA L40S", "8.9", "555.85", windows=Windows(name="Windows Server 2022")),
    "wsl-debian12": wsl(*ADA, "581.57", os="debian12"),
    "windows-nothing": Host(
        kind="made", platform="windows", os=Os(id="windows", name="Windows 11")
    ),
    "rented-a100": linux(
        *("ubuntu22.04", "NVIDIA A100-SXM4-80GB", "8.0"),
        Driver(version="535.161.08", cuda="12.2"),
        inside_container="docker",
    ),
    "rented-pascal": linux(
        *("ubuntu22.04", *PASCAL),
        Driver(version="570.86.15", cuda="12.8"),
        inside_container="docker",
    ),
    "jetson-nano": Host(
        kind="made",
        platform="jetson",
        jetson=Jetson(l4t="r32.7.4", model="NVIDIA Jetson Nano"),
        gpus=(Gpu(name="NVIDIA Jetson Nano", cc="5.3", source="device-tree"),),
        os=Os(id="ubuntu18.04", arch="aarch64"),
    ),
    "odd-names": linux(
        "ubuntu24.04",
        "GeForce RTX 4090",
        "8.9",
        engines=(
            EngineFacts(name="docker", cli="/opt/a b;$(id)`id`'\"\n/docker", says="x'; rm -rf /"),
        ),
        toolkits=(Tool(name="cuda", version="12.1", path='/opt/it\'s $(id) `id` "q"/cuda'),),
    ),
    "odd-distro": Host(
        kind="made",
        platform="wsl2",
        gpus=(Gpu(name="GeForce RTX 4090", cc="8.9", source="nvml"),),
        os=Os(
            id="ubuntu24.04",
            name="Ubuntu '; Write-Host owned; ' \u2018\u2019 $(id)\nrm",
            arch="x86_64",
        ),
        wsl=Wsl(generation=2, distro="It's; $(Remove-Item C:\\) \u2019 \u201cmine\u201d"),
    ),
}
"""By name; each is one state that people were seen in."""


def machines() -> dict[str, Host]:
    return recorded() | MADE
