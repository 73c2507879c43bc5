"""pip as a process: only Net's index and CA reach it, never what this machine's pip is set to."""

import importlib.util
import os
import shutil
import sys

from envbuild.errors import MachineError
from envbuild.io.net import Net, ca_bundle

# How to get out of this network; everything else named PIP_* changes what pip would choose.
_KEPT = frozenset({"PIP_CERT", "PIP_CLIENT_CERT", "PIP_DEFAULT_TIMEOUT", "PIP_PROXY"})


def command() -> list[str]:
    """The start of a pip command line.

    Raises:
        MachineError: no pip is there.
    """
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    if found:
        return [found]
    what = "pip is not there, and wheels are fetched with it"
    raise MachineError(what, fix=f"{sys.executable} -m ensurepip, or apt-get install python3-pip")


def environment(net: Net) -> dict[str, str]:
    """The full environment of a pip process; addresses and credentials stay out of its argv."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIP_") or k in _KEPT}
    env |= {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }
    ca = ca_bundle(net)
    if ca:
        env["PIP_CERT"] = ca
    if net.index_url:
        env["PIP_INDEX_URL"] = net.index_url
    return env
