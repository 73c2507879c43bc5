"""What programs may use: processors, memory, shared memory, locked memory, open files."""

import os
import re

from envbuild.host.look import Look
from envbuild.values.host import Limits

_MEMORY = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# Groups that open device files or daemons; the names of others are the user's own affair.
_GROUPS = {"docker", "video", "render", "vglusers", "podman", "sudo", "wheel", "admin"}


def probe(look: Look) -> Limits:
    """The limits of this process."""
    if look.system != "Linux":
        return Limits(cpus=os.cpu_count() if look.real else None)
    memory = parse_meminfo(look.text("/proc/meminfo") or "")
    own = [int(t) for t in (_word(look, path) for path in _MEMORY) if re.fullmatch(r"\d{1,18}", t)]
    total = memory.get("MemTotal")
    known = [size for size in (total, *(size >> 20 for size in own)) if size]
    limits = parse_limits(look.text("/proc/self/limits") or "")
    locked = limits.get("Max locked memory")
    return Limits(
        cpus=_cpus(look),
        memory_mib=min(known, default=None),
        swap_mib=memory.get("SwapTotal"),
        shm_mib=parse_shm(look.text("/proc/self/mounts") or "", total),
        memlock_kib=locked >> 10 if locked and locked > 0 else locked,
        open_files=limits.get("Max open files"),
    )


def _word(look: Look, path: str) -> str:
    return (look.text(path) or "").strip()


def _cpus(look: Look) -> int | None:
    if look.real and hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    text = look.text("/proc/cpuinfo") or ""
    return len(re.findall(r"^processor\s*:", text, re.MULTILINE)) or None


def parse_meminfo(text: str) -> dict[str, int]:
    """Sizes in MiB by name."""
    lines = re.findall(r"^(\w{1,30}): {1,20}(\d{1,15}) kB$", text, re.MULTILINE)
    return {name: int(size) >> 10 for name, size in lines}


def parse_shm(mounts: str, memory_mib: int | None) -> int | None:
    """Size of ``/dev/shm`` in MiB; the kernel's own choice is half of the memory.

    >>> parse_shm("shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0", None)
    64
    """
    size = None
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 4 or words[1] != "/dev/shm":  # noqa: S108 - its name, not a file of ours
            continue
        match = re.search(r"(?:^|,)size=(\d{1,15})([kmg]?)(?:,|$)", words[3])
        if match:
            size = int(match[1]) * _UNITS[match[2]] >> 20
        else:
            size = memory_mib // 2 if memory_mib else None
    return size


def parse_limits(text: str) -> dict[str, int]:
    """Soft limits by name from ``/proc/self/limits``; -1 = unlimited."""
    lines = re.findall(r"^(Max [a-z ]{1,30}?) {2,}(\d{1,20}|unlimited) ", text, re.MULTILINE)
    return {name: -1 if size == "unlimited" else int(size) for name, size in lines}


def user(look: Look) -> tuple[bool | None, tuple[str, ...]]:
    """Whether this process is root, and those of its groups that matter here."""
    status = look.text("/proc/self/status") or ""
    uid = re.search(r"^Uid:\t\d{1,10}\t(\d{1,10})", status, re.MULTILINE)
    gids = re.search(r"^Groups:\t([\d ]{0,4000})$", status, re.MULTILINE)
    gid = re.search(r"^Gid:\t\d{1,10}\t(\d{1,10})", status, re.MULTILINE)
    own = set((gids[1] if gids else "").split()) | ({gid[1]} if gid else set())
    names = re.findall(
        r"^([a-z]\w{0,31}):[^:\n]{0,80}:(\d{1,10}):", look.text("/etc/group") or "", re.MULTILINE
    )
    groups = tuple(sorted(name for name, number in names if number in own and name in _GROUPS))
    return (uid[1] == "0" if uid else None), groups
