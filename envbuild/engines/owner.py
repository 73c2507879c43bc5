"""Whose a container is: what a killed process left is found and removed by the next one."""

import hashlib
import os
from pathlib import Path

LABEL = "envbuild.owner"


def owner() -> str:
    """Names this process among all that this machine ever started."""
    return f"{_namespace()}/{os.getpid()}/{_started(os.getpid())}"


def abandoned(token: str) -> bool:
    """Whether the process that an `owner` label names is known to be gone."""
    namespace, _, rest = token.rpartition("/")[0].rpartition("/")
    started = token.rpartition("/")[2]
    if namespace != _namespace() or not rest.isdigit() or not started:
        return False
    return _started(int(rest)) != started


def as_host() -> str:
    """The same as a name of a host, which no network has."""
    return f"{_hashed()}.{os.getpid()}.{_started(os.getpid())}.envbuild.invalid"


def host_abandoned(name: str) -> bool:
    """Whether the process that `as_host` names is known to be gone."""
    place, pid, started, *_ = name.split(".")
    return place == _hashed() and abandoned(f"{_namespace()}/{pid}/{started}")


def _hashed() -> str:
    return hashlib.sha256(_namespace().encode()).hexdigest()[:16]


def _namespace() -> str:
    """This boot and this PID namespace: a process id means nothing in another."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "unknown"


def _started(pid: int) -> str:
    """Start time of a living process in ticks since boot, empty for none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # Fields are counted from the last bracket: the program's name may hold anything.
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
