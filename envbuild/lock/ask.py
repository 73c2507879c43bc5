"""Two ways to ask apt about a base: in a container of it, or here in a root made of its files."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from envbuild.engines.base import Engine, Mount, RunSpec
from envbuild.io import proc
from envbuild.io.net import Net
from envbuild.io.proc import Completed
from envbuild.lock import rootfs

#: Runs ``apt.sh`` of a folder with one task.
Ask = Callable[[str], Completed]

_TIMEOUT = 600.0  # seconds for apt to fetch its lists and to resolve
_INSIDE = "/run/envbuild"
_DEBIAN = {"linux/amd64": "amd64", "linux/arm64": "arm64"}
# Not apt.conf.d: the official images' hooks there delete files, which must not happen here.
_WANTED = (
    "etc/apt/sources.list",
    "etc/apt/sources.list.d/",
    "etc/apt/trusted.gpg",
    "etc/apt/trusted.gpg.d/",
    "etc/apt/keyrings/",
    "etc/apt/preferences",
    "etc/apt/preferences.d/",
    "usr/share/keyrings/",
    "var/lib/dpkg/status",
    "var/lib/apt/extended_states",
)
_EMPTY = (
    "etc/apt/apt.conf.d",
    "etc/apt/preferences.d",
    "var/lib/apt/lists/partial",
    "var/cache/apt/archives/partial",
)
_CONFIG = """Dir "{root}";
Dir::State::status "{root}/var/lib/dpkg/status";
Dir::Log "{root}";
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Sandbox::User "";
Debug::NoLocking "true";
"""


def in_base(folder: Path, base: str, net: Net, engine: Engine) -> Ask:
    """Ask in containers of the base; ``folder`` is mounted read-only.

    Raises:
        MachineError: the engine cannot get the base.
    """
    ref = engine.pull(base, net).ref
    mount = Mount(source=str(folder), target=_INSIDE)

    def ask(task: str) -> Completed:
        argv = ("/bin/sh", f"{_INSIDE}/apt.sh", "", _INSIDE, task)
        # apt drops to a user of its own for what it fetches.
        spec = RunSpec(
            argv=argv,
            mounts=(mount,),
            user="0",
            network=net.network,
            timeout=_TIMEOUT,
            capable=True,
        )
        return engine.run(ref, spec)

    return ask


def possible_here() -> bool:
    """This machine has an apt of its own, whose settings are then not read."""
    return bool(shutil.which("apt-get") and shutil.which("dpkg-deb"))


def in_root(folder: Path, base: str, platform: str, net: Net) -> Ask:
    """Ask this machine's apt-get, in a root that holds nothing but the base's files.

    Raises:
        MachineError: the registry does not give them.
        StaleError: what it gives is not what its digest says.
    """
    root = folder / "root"
    rootfs.extract(base, platform, _WANTED, root, net)
    for name in _EMPTY:
        (root / name).mkdir(parents=True, exist_ok=True)
    lists = root / "etc/apt"
    for path in (lists / "sources.list", *lists.glob("sources.list.d/*")):
        if path.is_file():
            _move_keys(path, root)
    config = root / "apt.conf"
    config.write_text(_CONFIG.format(root=root, arch=_DEBIAN[platform]), encoding="utf-8")
    env = {name: text for name, text in os.environ.items() if name.lower().endswith("_proxy")}
    env |= {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "APT_CONFIG": str(config)}

    def ask(task: str) -> Completed:
        argv = ("/bin/sh", str(folder / "apt.sh"), str(root), str(folder), task)
        return proc.run(argv, timeout=_TIMEOUT, env=env)

    return ask


def _move_keys(path: Path, root: Path) -> None:
    """Sources name keys by absolute paths; make them the base's keys, not this machine's."""
    text = path.read_text(encoding="utf-8")
    for keys in ("/usr/share/keyrings", "/etc/apt/keyrings"):
        text = text.replace(keys, f"{root}{keys}")
    path.write_text(text, encoding="utf-8")
