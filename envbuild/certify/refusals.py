"""What a machine refuses to a debugger, a profiler or a sanitizer, and who can allow it.

The texts are the tools' own; sources stand beside them. The way out is never the Linux one on WSL,
where the switches are on the Windows side.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from envbuild.certify.seen import Ran, Seen
from envbuild.certify.texts import last_line


class Refusal(NamedTuple):
    """A text by which a tool says that it may not, and the way out on this machine."""

    text: re.Pattern[str]
    way: Callable[[Seen], str]


def _counters(seen: Seen) -> str:
    what = "performance counters are not allowed here"
    if seen.platform == "wsl2":
        return (
            f"{what}: in Windows, as administrator, NVIDIA Control Panel > Desktop > Enable "
            "Developer Settings, then Developer > Manage GPU Performance Counters > Allow access "
            "to the GPU performance counters to all users"
        )
    host = "NVreg_RestrictProfilingToAdminUsers=0 for the module nvidia (/etc/modprobe.d)"
    if seen.inside:
        return (
            f"{what}: this machine is itself a container ({seen.inside}), so its provider must "
            f"allow them: {host} on the host, or CAP_SYS_ADMIN (CAP_PERFMON from driver 565 on)"
        )
    return (
        f"{what}: an administrator of the host can set {host} and load it anew, or give the "
        "container --cap-add SYS_ADMIN (PERFMON from driver 565 on) with --user 0"
    )


def _debugging(seen: Seen) -> str:
    what = "the driver allows no debugger here"
    if seen.platform == "wsl2":
        return (
            f"{what}: in the registry of Windows set HKLM\\SOFTWARE\\NVIDIA Corporation\\"
            "GPUDebugger, EnableInterface = 1 (DWORD)"
        )
    return f"{what}: the sandbox or the GPU's mode is in the way"


def _ptrace(seen: Seen) -> str:
    who = "its provider" if seen.inside else "an administrator of the host"
    return (
        f"one process may not trace another here: {who} can allow ptrace (seccomp profile, "
        "kernel.yama.ptrace_scope, --cap-add SYS_PTRACE)"
    )


def _unsupported(_: Seen) -> str:
    return "the tool does not support this GPU or its driver"


_REFUSALS = (
    # ncu and nsys; https://developer.nvidia.com/ERR_NVGPUCTRPERM
    # github.com/systalyze/utilyze/issues/4: what the same is called below.
    Refusal(
        re.compile(
            r"ERR_NVGPUCTRPERM|NVPA_STATUS_INSUFFICIENT_PRIVILEGE|INSUFFICIENT_PRIVILEGES"
            r"|Profiling permission not granted"
        ),
        _counters,
    ),
    # github.com/modular/modular/issues/5601
    Refusal(re.compile(r"GPUDebugger|EnableInterface"), _debugging),
    # gdb's own words, nat/linux-ptrace.c and inf-ptrace.c
    Refusal(
        re.compile(r"ptrace: Operation not permitted|Could not trace the inferior|ptrace.*denied"),
        _ptrace,
    ),
    # In compute-sanitizer 2025.3: what it says where it comes to no instrumented call.
    Refusal(
        re.compile(
            r"terminated before first instrumented|No attachable process found"
            r"|unable to initialize its connection to the CUDA driver|CUDBG_ERROR_\w+"
        ),
        _debugging,
    ),
    Refusal(
        re.compile(
            r"not supported on (the current system or )?device|Device not supported"
            r"|GPU is not supported|CUDA driver is not compatible|Unsupported GPU"
        ),
        _unsupported,
    ),
)


def refused(seen: Seen, ran: Ran | None) -> str:
    """Why the machine, not the image, kept a tool from its work; empty = it says no such thing."""
    said = f"{ran.out}\n{ran.err}" if ran else ""
    for refusal in _REFUSALS:
        if match := refusal.text.search(said):
            line = next(line for line in said.splitlines() if match[0] in line)
            return f"{refusal.way(seen)} ({last_line(line)})"
    return ""
