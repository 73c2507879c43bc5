"""Jetson: the L4T release, the module, and its integrated GPU."""

import re

from envbuild.host.look import Look, clean
from envbuild.values.host import Gpu, Jetson

_CSV = "/etc/nvidia-container-runtime/host-files-for-container.d"
# The SoC by its name in the device tree. Products of each SoC and their compute capability are on
# the vendor's CUDA GPU lists; which SoC a product has is what its own device tree says.
_SOC_CC = {
    "tegra210": "5.3",  # Nano, TX1
    "tegra186": "6.2",  # TX2
    "tegra194": "7.2",  # Xavier
    "tegra234": "8.7",  # Orin
    "tegra264": "11.0",  # Thor
}


def probe(look: Look) -> Jetson | None:
    """The Jetson that this is, or None; a container on it counts where these files are seen."""
    l4t = parse_release(look.text("/etc/nv_tegra_release") or "")
    model = clean((look.data("/proc/device-tree/model") or b"").decode("utf-8", "replace")).strip()
    if l4t is None and soc(look) is None:
        return None
    csv = tuple(name for name in look.names(_CSV) if name.endswith(".csv"))
    return Jetson(l4t=l4t, model=model or None, csv=csv)


def parse_release(text: str) -> str | None:
    """The L4T release from ``/etc/nv_tegra_release``.

    >>> parse_release("# R36 (release), REVISION: 4.0, GCID: 37537400, BOARD: generic")
    'r36.4.0'
    """
    match = re.search(r"R(\d{1,3}) \(release\), REVISION: (\d+(?:\.\d+)*)", text, re.ASCII)
    return f"r{match[1]}.{match[2]}" if match else None


def soc(look: Look) -> str | None:
    """The SoC (``tegra234``) among the device tree's NUL-separated compatible names."""
    data = look.data("/proc/device-tree/compatible") or b""
    names = (name.decode("ascii", "replace") for name in data.split(b"\0"))
    return next((n[7:] for n in names if n.startswith("nvidia,") and n[7:] in _SOC_CC), None)


def gpu(look: Look, jetson: Jetson) -> Gpu | None:
    """The integrated GPU, for releases whose NVML does not know it."""
    found = soc(look)
    if found is None:
        return None
    return Gpu(name=jetson.model or found, cc=_SOC_CC[found], source="device-tree")
