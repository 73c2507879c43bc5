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
    done = look.run(sys.executable, "-c", _CHILD, *filter(None, sys.path), LD_LIBRARY_PATH=library)
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

    def ask(question: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401
        try:
            return question(*args)
        except (nvml.NVMLError, UnicodeDecodeError, AttributeError):
            return None

    try:
        nvml.nvmlInit()
    except nvml.NVMLError as e:
        return Answer(says=str(e))
    level = ask(nvml.nvmlSystemGetCudaDriverVersion)
    driver = Driver(
        version=ask(nvml.nvmlSystemGetDriverVersion),
        cuda=f"{level // 1000}.{level % 1000 // 10}" if level else None,
        source="nvml",
    )
    gpus: list[Gpu] = []
    lost: list[str] = []
    for index in range(ask(nvml.nvmlDeviceGetCount) or 0):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError as e:
            lost.append(f"GPU {index}: {e}")
            continue
        gpus.append(_gpu(nvml, ask, handle))
    return Answer(driver=driver, gpus=tuple(gpus), says="; ".join(lost))


def _gpu(nvml: Any, ask: Callable[..., Any], handle: object) -> Gpu:  # noqa: ANN401
    cc = ask(nvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = ask(nvml.nvmlDeviceGetMemoryInfo, handle)
    pci = ask(nvml.nvmlDeviceGetPciInfo, handle)
    mode = ask(nvml.nvmlDeviceGetMigMode, handle)
    instances: list[str] = []
    if mode and mode[0]:
        for index in range(ask(nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
            instance = ask(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
            uuid = ask(nvml.nvmlDeviceGetUUID, instance) if instance else None
            instances += [uuid] if uuid else []
    number = pci.pciDeviceId if pci else 0
    return Gpu(
        name=ask(nvml.nvmlDeviceGetName, handle),
        uuid=ask(nvml.nvmlDeviceGetUUID, handle),
        cc=f"{cc[0]}.{cc[1]}" if cc else None,
        memory_mib=memory.total >> 20 if memory else None,
        mig=Mig(enabled=bool(mode[0]), instances=tuple(instances)) if mode else None,
        pci_bus=_text(pci.busId) if pci else None,
        pci_id=f"{number & 0xFFFF:04x}:{number >> 16:04x}" if number else None,
        source="nvml",
    )


def _text(value: object) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
