"""pip as a process: only Net's index and CA reach it, never what this machine's pip is set to."""

import importlib.util
import os
import re
import shutil
import sys

from envbuild.errors import MachineError
from envbuild.io import proc
from envbuild.io.net import Net, ca_bundle
from envbuild.io.workspace import private_folder

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


def default_index(net: Net) -> str:
    """The address of the index that this pip asks where none is given; pip alone knows it.

    Raises:
        MachineError: no pip, or one that does not say.
    """
    with private_folder() as folder:
        # No project has this version: pip says where it would look, and ends.
        argv = [*command(), "-vv", "download", "--retries", "0", "--no-deps"]
        argv += ["--dest", str(folder), "pip==0"]
        done = proc.run(argv, timeout=120.0, env=environment(net))
    if match := re.search(r"^\s*\* (\S+)/pip/?$", done.out + done.err, re.MULTILINE):
        return match[1]
    what = "pip does not say which index it asks"
    raise MachineError(what, fix="give the address of a package index: --index-url")
