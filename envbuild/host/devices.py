"""Device files of the GPU: are they there, with which rights, and can this process open them."""

import os
import re
import stat

from envbuild.host.look import Look
from envbuild.values.host import DeviceNode

_NODES = re.compile(
    r"nvidia\d{1,3}|nvidiactl|nvidia-uvm(-tools)?|nvidia-modeset|nvidia-nvswitch\w*|dxg|nvmap"
    r"|nvhost-gpu|nvhost-ctrl-gpu"
)
_FOLDERS = ("nvidia-caps", "nvidia-caps-imex-channels", "nvgpu")
# Opening these starts no GPU; only an open tells whether the control group lets us.
_OPENED = {"/dev/nvidiactl", "/dev/nvidia-uvm"}
_MOST = 128


def probe(look: Look) -> tuple[DeviceNode, ...]:
    """The nodes in ``/dev``, those that all GPUs share included."""
    paths = [f"/dev/{name}" for name in look.names("/dev") if _NODES.fullmatch(name)]
    paths += [f"/dev/{folder}/{n}" for folder in _FOLDERS for n in look.names(f"/dev/{folder}")]
    return tuple(_node(look, path) for path in paths[:_MOST])


def _node(look: Look, path: str) -> DeviceNode:
    try:
        found = look.path(path).stat()
    except (OSError, ValueError):
        return DeviceNode(path=path)
    if not stat.S_ISCHR(found.st_mode):
        return DeviceNode(path=path)
    return DeviceNode(
        path=path,
        major=os.major(found.st_rdev),
        mode=f"{stat.S_IMODE(found.st_mode):04o}",
        uid=found.st_uid,
        gid=found.st_gid,
        usable=_usable(look, path),
    )


def _usable(look: Look, path: str) -> bool:
    if not os.access(look.path(path), os.R_OK | os.W_OK):
        return False
    if path not in _OPENED:
        return True
    try:
        os.close(os.open(look.path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True
