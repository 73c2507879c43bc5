"""Machines that are *made*: a healthy one, changed in the one way that a test is about; and what is told."""

# ruff: noqa: E501 - a machine a line

import io
from pathlib import Path
from typing import Any

from envbuild.advice.doctor import diagnose
from envbuild.advice.scene import Scene
from envbuild.advice.signatures import Signatures
from envbuild.cli.doctor import _read
from envbuild.matrix.load import load_errors
from envbuild.values.codec import Pairs, replace
from envbuild.values.finding import Finding
from envbuild.values.host import (
    Config,
    Gpu,
    Host,
    Jetson,
    Kernel,
    KernelModule,
    Os,
    Tool,
)
from envbuild.values.image import ImageFacts
from tests.cases.machines import host_of

HOSTS = Path(__file__).parents[1] / "hosts"
TEXTS = Signatures(load_errors().errors)
SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"
GONE = {"nvidia_smi": SMI, "module_loaded": False}
PASCAL = {"name": "GeForce GTX 1080 Ti", "cc": 6.1}
NO_GPU = 'could not select device driver "" with capabilities: [[gpu]]'
UNKNOWN = "Failed to initialize NVML: Unknown Error (in the container)"
MIG = "MIG-11111111-0000-5000-8000-000000000001"


def told(host: Host, log: str = "", image: ImageFacts | None = None) -> tuple[Finding, ...]:
    seen = (*TEXTS.scan(io.BytesIO(log.encode()), "log"), *_read([], host))
    return diagnose(Scene(host=host, image=image, seen=seen, logs=("log",) if log else ()))


def made(given: dict[str, Any], **changes: Any) -> Host:  # noqa: ANN401
    return replace(host_of(given), **changes)


def kernel(host: dict[str, Any], **changes: Any) -> Kernel:  # noqa: ANN401
    return replace(host_of(host).kernel, **changes)


def nvidia(**fields: Any) -> Kernel:  # noqa: ANN401
    return Kernel(modules=(KernelModule(name="nvidia", **fields),))


def bare(**changes: Any) -> Host:  # noqa: ANN401
    """A card on the bus and no driver."""
    return made({"driver": None, **GONE}, **changes)


def wsl(**changes: Any) -> Host:  # noqa: ANN401
    return made({"wsl": True}, **changes)


def jetson(l4t: str = "r36.4.0", **changes: Any) -> Host:  # noqa: ANN401
    board = Jetson(l4t=l4t, model="NVIDIA Jetson AGX Orin Developer Kit")
    gpu = Gpu(name="Orin", cc="8.7", source="device-tree")
    fields = {"jetson": board, "gpus": (gpu,), "os": Os(id="ubuntu22.04", arch="aarch64")}
    given = {"l4t": l4t}
    # Docker 28 and newer start no container on the kernel of an L4T before 36.4.4.
    engines = tuple(replace(e, version="27.5.1") for e in host_of(given).engines)
    fields |= {"driver": None, "kernel": Kernel(), "engines": engines}
    return made(given, **(fields | changes))


def tool(path: str, version: str | None = None, source: str = "ld.so.cache") -> Tool:
    return Tool(name="libcuda.so.1", version=version, path=path, source=source)


def setting(path: str, **values: str) -> tuple[Config, ...]:
    return (Config(path=path, values=Pairs({k.replace("__", "."): v for k, v in values.items()})),)


H100 = tuple(
    Gpu(name="NVIDIA H100 80GB HBM3", cc="9.0", source="nvml", fabric="in-progress")
    for _ in range(2)
)
