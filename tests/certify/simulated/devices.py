"""The devices of `devices.yaml`, and the machine that each is in."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from envbuild.values.host import Driver, EngineFacts, Gpu, Host, Jetson, Mig, Os, Tool, Wsl


class Device(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One device; its fields are said at the top of `devices.yaml`."""

    name: str
    cc: str
    sms: int
    bytes: int
    clock_khz: int
    mhz: float
    memory_khz: int
    bus_bits: int
    l2_bytes: int
    gbs: float
    source: str
    label: str = ""
    max_mhz: int = 0
    dram: float = 0.0
    dram_gbs: float = 0.0
    tensor: float = 0.95
    tensor_of: dict[str, float] = msgspec.field(default_factory=dict)
    integrated: bool = False
    mig: bool = False
    ecc: int = 0
    launch_us: float = 9.0
    row_us: float = 3.2
    node_us: float = 0.9
    pinned_mib: int = 1024
    reasons: int = 0
    platform: str = "linux"

    @property
    def title(self) -> str:
        """How tests call it."""
        return self.label or self.name.removeprefix("NVIDIA ").removeprefix("GeForce ")

    @property
    def read_gbs(self) -> float:
        """GB/s that reading DRAM reaches."""
        return self.dram_gbs or self.dram * self.memory_khz * 2e3 * self.bus_bits / 8 / 1e9


UUID = "GPU-5a5a5a5a-0000-4000-8000-000000000001"
MIGS = tuple(f"MIG-5a5a5a5a-0000-5000-8000-00000000000{i}" for i in (1, 2, 3))


class Place(NamedTuple):
    """Where a device is: the machine and what its engine offers."""

    host: Host
    engine: EngineFacts


@cache
def devices() -> tuple[Device, ...]:
    """All devices."""
    text = Path(__file__).with_name("devices.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=tuple[Device, ...])


def device(title: str) -> Device:
    """The device that tests call by this title, or a machine by this name."""
    return next(one for one in devices() if title in {one.title, one.name})


def place(one: Device, driver: str = "580.95.05", cuda: str = "13.0") -> Place:
    """A healthy machine of one such GPU, with docker."""
    mig = Mig(enabled=True, instances=MIGS) if one.mig else Mig(enabled=False)
    gpu = Gpu(
        name=one.name,
        uuid=UUID,
        cc=one.cc,
        memory_mib=one.bytes >> 20,
        mig=None if one.platform in {"jetson", "wsl2"} else mig,
        pci_bus="0000:01:00.0",
        source="nvml",
    )
    access = ("nvidia-runtime", "cdi") if one.platform == "jetson" else ("cdi", "gpus")
    engine = EngineFacts(
        name="docker",
        version="28.5.2",
        answers=True,
        access=access,
        endpoint="/var/run/docker.sock",
        daemon="/usr/bin/dockerd",
    )
    arch = "aarch64" if one.platform in {"jetson", "sbsa"} else "x86_64"
    host = Host(
        kind="made",
        gpus=(gpu,),
        driver=Driver(version=driver, cuda=cuda, source="nvml"),
        os=Os(id="ubuntu24.04", glibc="2.39", arch=arch),
        platform={"sbsa": "linux"}.get(one.platform, one.platform),
        wsl=Wsl(generation=2, version="2.6.1") if one.platform == "wsl2" else None,
        jetson=Jetson(l4t="36.4.7", model="made") if one.platform == "jetson" else None,
        engines=(engine,),
        container_toolkit=Tool(name="nvidia-container-toolkit", version="1.20.0"),
    )
    return Place(host, engine)
