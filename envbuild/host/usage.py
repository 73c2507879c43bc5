"""How busy a GPU is just now, asked of NVML in a process of its own."""

import sys
import time
from typing import Any

import msgspec

from envbuild.host import nvml
from envbuild.host.look import Look
from envbuild.values.codec import dump_line, replace
from envbuild.values.host import Usage

# The driver averages over up to a second; a desktop's redraw is over within less.
_LOOKS = {"before": 3, "after": 1}
_APART = 0.3  # seconds
CHILD = "import sys; sys.path[:] = sys.argv[2:]; from envbuild.host.usage import main; main()"


def probe(look: Look, when: str) -> tuple[Usage, ...]:
    """Each GPU's use ``before`` or ``after`` a run; empty where NVML does not answer.

    A PID namespace hides who it is, so only memory and utilisation are asked for.
    """
    if look.system != "Windows" and not any(look.exists(sign) for sign in nvml.SIGNS):
        return ()
    folders = (look.environ.get("LD_LIBRARY_PATH", ""), "/usr/lib/wsl/lib")
    library = ":".join(filter(None, folders))
    path = (str(_LOOKS[when]), *filter(None, sys.path))
    done = look.run(sys.executable, "-Bc", CHILD, *path, LD_LIBRARY_PATH=library)
    if done.rc != 0:
        return ()
    try:
        found = msgspec.json.decode(done.out, type=tuple[Usage, ...])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ()
    return tuple(replace(one, when=when) for one in found)


def main() -> None:
    """The child: one line of JSON on stdout."""
    try:
        import pynvml

        found = read(pynvml, int(sys.argv[1]))
    except (OSError, ImportError):
        found = ()
    sys.stdout.write(dump_line(found).decode())


def read(library: Any, count: int, pause: float = _APART) -> tuple[Usage, ...]:  # noqa: ANN401
    """Ask the library; ``library`` is the ``pynvml`` module. What it refuses stays None.

    Of ``count`` looks, ``pause`` seconds apart, the least utilisation counts: who works is busy in
    all of them.
    """
    try:
        library.nvmlInit()
        handles = [
            library.nvmlDeviceGetHandleByIndex(i) for i in range(library.nvmlDeviceGetCount())
        ]
    except library.NVMLError:
        return ()
    looks = []
    for look in range(count):
        time.sleep(pause if look else 0)
        looks.append([_busy(library, handle) for handle in handles])
    least = [min(busy) for busy in zip(*looks, strict=True)]
    return tuple(_usage(library, handle, busy) for handle, busy in zip(handles, least, strict=True))


def _busy(library: Any, handle: object) -> int:  # noqa: ANN401
    """Percent; -1 where there is no such figure (MIG, vGPU)."""
    try:
        return int(library.nvmlDeviceGetUtilizationRates(handle).gpu)
    except library.NVMLError:
        return -1


def _usage(library: Any, handle: object, busy: int) -> Usage:  # noqa: ANN401
    uuid = memory = None
    try:
        uuid = library.nvmlDeviceGetUUID(handle)
        # What the driver keeps for itself is nobody's: only the second version tells it apart.
        memory = library.nvmlDeviceGetMemoryInfo(handle, version=library.nvmlMemory_v2)
    except (library.NVMLError, AttributeError, TypeError):
        pass
    return Usage(
        uuid=uuid.decode() if isinstance(uuid, bytes) else uuid,
        busy=busy if busy >= 0 else None,
        used_mib=memory.used >> 20 if memory else None,
        total_mib=memory.total >> 20 if memory else None,
    )
