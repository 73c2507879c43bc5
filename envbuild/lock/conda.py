"""A conda channel: the packages that make the planned prefix, chosen by rattler's solver."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import msgspec

from envbuild.errors import MachineError, NoPlanError
from envbuild.io import proc
from envbuild.io.net import Net, ca_bundle
from envbuild.io.workspace import private_folder
from envbuild.render import archive as archives
from envbuild.render import quote
from envbuild.values.lock import Part
from envbuild.values.plan import Archive, Plan

_TIMEOUT = 900.0  # seconds; without shards a channel's index is some 100 MB
# What would change the answer, or where it is kept.
_FOREIGN = ("CONDA_", "MAMBA_", "RATTLER_", "PIXI_", "SSL_CERT_")
_OLDEST_GLIBC = "2.28"
# Packages ask for some kernel; that of the host is never older than this.
_KERNEL = "4.18"


def find(plan: Plan, archive: Archive, url: str, net: Net) -> tuple[Part, ...]:
    """The closure of the wanted packages for the plan's toolkit, sorted by name.

    Args:
        plan: its toolkit and architecture, and the C library of its image.
        archive: the packages wanted.
        url: the channel's address here.
        net: CA.

    Raises:
        NoPlanError: the channel has no set of packages for this toolkit.
        MachineError: rattler is not installed, or the channel does not answer.
    """
    if net.offline:
        what = "conda packages would be resolved, and --offline is set"
        raise MachineError(what, fix="run it once without --offline")
    if importlib.util.find_spec("rattler") is None:
        what = "conda packages are chosen by rattler, and it is not installed"
        raise MachineError(what, fix="in envbuild's own folder: pip install '.[conda]'")
    minor = ".".join(quote.version(plan.cuda or "").split(".")[:2])
    with private_folder() as folder:
        question = {
            "channel": url,
            "subdirs": [archives.platform(archive, plan.arch), "noarch"],
            "specs": [f"cuda-version =={minor}", *(quote.package(p) for p in archive.parts)],
            "system": {
                "__unix": "0",
                "__linux": _KERNEL,
                "__glibc": quote.minor(plan.image.glibc or _OLDEST_GLIBC),
                "__cuda": minor,
            },
            "cache": str(folder),
        }
        env = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}
        if bundle := ca_bundle(net):
            env["SSL_CERT_FILE"] = bundle
        # Where rattler would look for this user's settings and logins.
        env |= {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        argv = [sys.executable, str(Path(__file__).with_name("conda_solve.py"))]
        done = proc.run(argv, timeout=_TIMEOUT, env=env, stdin=json.dumps(question).encode())
    return tuple(sorted(_read(done, archive), key=lambda part: part.name))


def _read(done: proc.Completed, archive: Archive) -> tuple[Part, ...]:
    if done.rc == 0:
        return msgspec.json.decode(done.out, type=tuple[Part, ...])
    why = " ".join(done.err.split())[-600:]
    if done.rc == 3:
        what = f"{archive.name} has no packages that make this toolkit together"
        raise NoPlanError(what, why=why, fix="another --cuda, or another --toolkit-source")
    what = f"{archive.name} cannot be read"
    why = f"no end after {done.seconds:.0f} s" if done.timed_out else why
    raise MachineError(what, why=why, fix="check the network, --toolkit-mirror and --ca-cert")
