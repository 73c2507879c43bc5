"""NVML, asked in a process of its own: a library that hangs or crashes cannot take us along."""

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from envbuild.host.look import Found, Look, says
from envbuild.values.codec import Value, dump_line
from envbuild.values.host import Driver, Gpu, Mig, Probe

# Signs of a driver; where none is, no process is started.
SIGNS = (
    "/proc/driver/nvidia/version",
    "/dev/nvidiactl",
    "/dev/dxg",
    "/dev/nvgpu",
    "/dev/nvhost-gpu",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
)
# Folders that hold the library where the loader may not look: WSL, NixOS.
_FOLDERS = ("/usr/lib/wsl/lib", "/run/opengl-driver/lib")
# The path is taken from us, so that nothing in the current folder is imported.
_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from envbuild.host.nvml import main; main()"


_COMPUTE = {0: "default", 2: "prohibited", 3: "exclusive-process"}
_VIRTUAL = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
_MODELS = {0: "wddm", 1: "tcc", 2: "mcdm"}
_FABRIC = {0: "not-supported", 1: "not-started", 2: "in-progress", 3: "completed"}


class Answer(Value):
    """What the library said; ``says`` why something is missing."""

    driver: Driver | None = None
    gpus: tuple[Gpu, ...] = ()
    says: str = ""


def probe(look: Look) -> Found[Answer | None]:
    """GPUs and driver as NVML knows them; None where there is no driver or no answer."""
    if look.system != "Windows" and not any(look.exists(sign) for sign in SIGNS):
        return None, ()
    library = ":".join(
        part for part in (look.environ.get("LD_LIBRARY_PATH", ""), *_FOLDERS) if part
    )
    done = look.run(sys.executable, "-Bc", _CHILD, *filter(None, sys.path), LD_LIBRARY_PATH=library)
    answer = parse(done.out) if done.rc == 0 else None
    if answer is None:
        return None, (Probe(name="nvml", ok=False, says=says(done)),)
    good = bool(answer.gpus) and not answer.says
    text = answer.says or ("" if answer.gpus else "NVML sees no GPU")
    return answer if answer.driver else None, (Probe(name="nvml", ok=good, says=text),)


def parse(text: str) -> Answer | None:
    """The answer of the child process; None if it is none."""
    try:
        return msgspec.json.decode(text, type=Answer)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def main() -> None:
    """The child: one line of JSON on stdout."""
    if os.name != "nt":
        try:
            ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as e:
            sys.stdout.write(dump_line(Answer(says=f"libnvidia-ml: {e}")).decode())
            return
    import pynvml

    sys.stdout.write(dump_line(read(pynvml)).decode())


def read(nvml: Any) -> Answer:  # noqa: ANN401
    """Ask the library; ``nvml`` is the ``pynvml`` module. A refused question leaves None."""

    def ask(question: str, *args: object) -> Any:  # noqa: ANN401
        try:
            return getattr(nvml, question)(*args)
        except (nvml.NVMLError, UnicodeDecodeError, AttributeError):
            return None

    try:
        nvml.nvmlInit()
    except nvml.NVMLError as e:
        return Answer(says=str(e))
    level = ask("nvmlSystemGetCudaDriverVersion")
    driver = Driver(
        version=ask("nvmlSystemGetDriverVersion"),
        cuda=f"{level // 1000}.{level % 1000 // 10}" if level else None,
        source="nvml",
    )
    gpus: list[Gpu] = []
    lost: list[str] = []
    for index in range(ask("nvmlDeviceGetCount") or 0):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError as e:
            lost.append(f"GPU {index}: {e}")
            continue
        gpus.append(_gpu(nvml, ask, handle))
    return Answer(driver=driver, gpus=tuple(gpus), says="; ".join(lost))


def _gpu(nvml: Any, ask: Callable[..., Any], handle: object) -> Gpu:  # noqa: ANN401
    cc = ask("nvmlDeviceGetCudaComputeCapability", handle)
    memory = ask("nvmlDeviceGetMemoryInfo", handle)
    pci = ask("nvmlDeviceGetPciInfo", handle)
    mode = ask("nvmlDeviceGetMigMode", handle)
    instances: list[str] = []
    if mode and mode[0]:
        for index in range(ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
            instance = ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
            uuid = ask("nvmlDeviceGetUUID", instance) if instance else None
            instances += [uuid] if uuid else []
    number = pci.pciDeviceId if pci else 0
    virtual = _VIRTUAL.get(ask("nvmlDeviceGetVirtualizationMode", handle))
    persistence = ask("nvmlDeviceGetPersistenceMode", handle)
    return Gpu(
        name=ask("nvmlDeviceGetName", handle),
        uuid=ask("nvmlDeviceGetUUID", handle),
        cc=f"{cc[0]}.{cc[1]}" if cc else None,
        memory_mib=memory.total >> 20 if memory else None,
        mig=Mig(enabled=bool(mode[0]), instances=tuple(instances)) if mode else None,
        pci_bus=_text(pci.busId) if pci else None,
        pci_id=f"{number & 0xFFFF:04x}:{number >> 16:04x}" if number else None,
        source="nvml",
        compute_mode=_COMPUTE.get(ask("nvmlDeviceGetComputeMode", handle)),
        driver_model=_MODELS.get(_first(ask("nvmlDeviceGetDriverModel", handle))),
        virtual=virtual,
        licence=_licence(ask, handle) if virtual == "vgpu" else None,
        persistence=None if persistence is None else bool(persistence),
        fabric=_fabric(nvml, ask, handle),
    )


def _first(value: Any) -> Any:  # noqa: ANN401
    """The current one of the current and the pending."""
    return value[0] if isinstance(value, list | tuple) and value else value


def _licence(ask: Callable[..., Any], handle: object) -> str | None:
    found = ask("nvmlDeviceGetGridLicensableFeatures", handle)
    if found is None or not found.isGridLicenseSupported:
        return None
    features = found.gridLicensableFeatures[: found.licensableFeaturesCount]
    return "licensed" if any(feature.featureState for feature in features) else "unlicensed"


def _fabric(nvml: Any, ask: Callable[..., Any], handle: object) -> str | None:  # noqa: ANN401
    """State of the registration with the fabric, of libraries that know it (R535 and later)."""
    if not hasattr(nvml, "c_nvmlGpuFabricInfo_t"):
        return None
    info = nvml.c_nvmlGpuFabricInfo_t()
    done = ask("nvmlDeviceGetGpuFabricInfo", handle, ctypes.byref(info))
    return None if done is None else _FABRIC.get(int(info.state))


def _text(value: object) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
