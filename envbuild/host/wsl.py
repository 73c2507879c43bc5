"""WSL: generation 1 or 2, and how this distribution is set up in it."""

import re

from envbuild.host.look import Look
from envbuild.values.host import Wsl

_INTEROP = ("/proc/sys/fs/binfmt_misc/WSLInterop", "/proc/sys/fs/binfmt_misc/WSLInterop-late")


def probe(look: Look) -> Wsl | None:
    """The WSL we are in, or None; its version is Windows' to tell."""
    kernel = look.text("/proc/version") or ""
    generation = parse_kernel(kernel)
    if generation is None:
        # A kernel that the user built need not name its maker.
        signs = any(look.exists(path) for path in (*_INTEROP, "/run/WSL", "/usr/lib/wsl/lib"))
        if not (signs and look.exists("/dev/dxg")):
            return None
        generation = 2
    return Wsl(
        generation=generation,
        distro=look.environ.get("WSL_DISTRO_NAME"),
        systemd=_is_systemd(look),
        dxg=look.exists("/dev/dxg"),
        interop=any(look.exists(path) for path in _INTEROP),
    )


def parse_kernel(text: str) -> int | None:
    """The generation that ``/proc/version`` tells: 2 has a real Linux kernel.

    >>> parse_kernel("Linux version 5.15.153.1-microsoft-standard-WSL2 (root@941d701f84f1)")
    2
    >>> parse_kernel("Linux version 4.4.0-22621-Microsoft (Microsoft@Microsoft.com)")
    1
    """
    name = re.search(r"version (\S+-microsoft\S*)", text, re.IGNORECASE)
    if name is None:
        return None
    return 1 if re.fullmatch(r"[34]\.\d+\.\d+-\d+-Microsoft", name[1]) else 2


def _is_systemd(look: Look) -> bool | None:
    name = (look.text("/proc/1/comm") or "").strip()
    return name == "systemd" if name else None
