"""An image that is made: what is in it, and the look of its own programs' answers."""

import json
import struct
from pathlib import Path
from typing import NamedTuple

from envbuild.certify import sass
from envbuild.values.codec import Pairs
from envbuild.values.image import Image

CONFIG = "sha256:" + "e" * 64
_NEWEST = {"12.6": "13", "12.8": "14", "13.0": "15"}
# What torch's own builds of 2.8.0 say they hold (their indexes cu126 and cu128), and a cu130 one.
_TORCH = {
    "12.6": ("2.8.0+cu126", "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"),
    "12.8": ("2.8.0+cu128", "sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 compute_120"),
    "13.0": ("2.11.0+cu130", "sm_75 sm_80 sm_86 sm_87 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121"),
}
_ALIASES = {"12.8": {"11.0": "101"}}


class Inside(NamedTuple):
    """What an image holds.

    Attributes:
        cuda: release of its toolkit, ``12.8``.
        target: what it was compiled for.
        python: version of its interpreter; empty = none. ``packages`` are its distributions.
        torch, torch_cuda, targets: torch's own words; ``targets`` of its code.
        cupy: the CUDA that cupy was built for; ``nvrtc`` the one that frameworks find.
    """

    cc: str
    target: str
    cuda: str
    gcc: str = "13.3"
    python: str = "3.12.3"
    packages: Pairs = Pairs()
    torch: str = ""
    torch_cuda: str = ""
    targets: tuple[str, ...] = ()
    cupy: str = ""
    nvrtc: str = ""
    platform: str = "linux/amd64"

    @property
    def major(self) -> str:
        """Of its CUDA."""
        return self.cuda.partition(".")[0]

    def image(self) -> Image:
        """As an engine has it."""
        labels = {"cc": self.cc, "cuda": self.cuda, "promise": self.target, "stage": "devel"}
        return Image(
            ref="made/inside:1",
            config=CONFIG,
            platform=self.platform,
            labels=Pairs({f"envbuild.{name}": text for name, text in labels.items()}),
            env=Pairs({"PATH": "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin"}),
        )


def inside(cc: str, *, platform: str = "linux/amd64") -> Inside:
    """A healthy image for a device of this cc, with every framework that suites know."""
    number = tuple(int(part) for part in cc.split("."))
    cuda = "12.6" if number < (7, 5) else "12.8" if number <= (12, 0) else "13.0"
    if cc == "10.3":
        cuda = "13.0"
    version, targets = _TORCH[cuda]
    if cc == "8.7":
        # Wheels for Jetson are built apart, for it alone.
        version, targets = "2.8.0", "sm_87"
    major = cuda.partition(".")[0]
    packages = {
        "torch": version.partition("+")[0],
        "triton": "3.6.0" if cuda == "13.0" else "3.4.0",
        "numba": "0.61.2",
        "numba-cuda": "0.20.0",
        f"cupy-cuda{major}x": "13.6.0",
        "cuda-bindings": f"{cuda}.0",
        "cuda-core": "0.3.2",
        "numpy": "2.2.6",
        "setuptools": "80.9.0",
    }
    return Inside(
        cc=cc,
        target=_ALIASES.get(cuda, {}).get(cc, cc.replace(".", "")),
        cuda=cuda,
        packages=Pairs(packages),
        torch=version,
        torch_cuda=cuda,
        targets=tuple(targets.split()),
        cupy=cuda,
        nvrtc=cuda,
        platform=platform,
    )


def listing(now: Inside) -> str:
    """What `kernels/packages.py` prints."""
    torch = {"version": now.torch, "cuda": now.torch_cuda or None} if now.torch else None
    answer = {"python": now.python, "packages": dict(now.packages), "torch": torch, "error": ""}
    return json.dumps({**answer, "cublas": None}) + "\n"


def compiled(path: Path, targets: list[str], kernel: str) -> None:
    """A fatbin as nvcc writes it, as far as anybody here reads it; its code is no code."""
    entries = b""
    for target in targets:
        number = int(target.rstrip("af"))
        flags = {"a": 0x100000, "f": 0x200000}.get(target[-1], 0)
        payload = _cubin(number) + b"\0" + kernel.encode() + b"\0"
        payload += b"\0" * (-len(payload) % 8)
        header = sass.ENTRY.size
        entries += sass.ENTRY.pack(2, 0x101, header, len(payload), 0, 0, 0, 0, number, 64, 0, flags)
        entries += payload
    path.write_bytes(sass.HEADER.pack(0xBA55ED50, 1, sass.HEADER.size, len(entries)) + entries)


def _cubin(number: int) -> bytes:
    head = b"\x7fELF" + bytes((2, 1, 1, 0x33, 7)) + bytes(7)
    return head + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 0, number, 64, 56, 0, 64, 0, 0)


def newest_gcc(cuda: str) -> str:
    """The newest gcc that a toolkit takes, by its `host_config.h`."""
    return _NEWEST[cuda]
