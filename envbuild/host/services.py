"""Services of the driver and of containers, and the sockets that daemons listen on."""

import re

from envbuild.host.look import Found, Look, says
from envbuild.values.codec import Pairs
from envbuild.values.host import Probe

UNITS = (
    "docker.service",
    "snap.docker.dockerd.service",
    "containerd.service",
    "nvidia-fabricmanager.service",
    "nvidia-imex.service",
    "nvidia-persistenced.service",
    "nvidia-cdi-refresh.path",
    "nvidia-cdi-refresh.service",
    "nvidia-gridd.service",
    "nvidia-powerd.service",
    "nvidia-suspend.service",
    "nvidia-dcgm.service",
)
_SOCKETS = ("/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock")
_USERS = ("docker.sock", "podman/podman.sock")


def probe(look: Look) -> Found[Pairs]:
    """Unit to state, of the units that are there; empty where systemd does not run."""
    if not look.exists("/run/systemd/system"):
        return Pairs(), ()
    for program in look.find("systemctl", "/usr/bin/systemctl", "/bin/systemctl")[:1]:
        done = look.run(program, "show", "--property=Id,LoadState,ActiveState", *UNITS)
        if done.rc:
            return Pairs(), (Probe(name="services", ok=False, says=says(done)),)
        return parse_units(done.out), ()
    return Pairs(), ()


def parse_units(text: str) -> Pairs:
    """Blocks of ``Name=value`` lines, one a unit."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(
            re.findall(r"^(Id|LoadState|ActiveState)=([\w@.-]{1,100})$", block, re.MULTILINE)
        )
        if fields.get("LoadState", "not-found") != "not-found" and "Id" in fields:
            found.append((fields["Id"].removesuffix(".service"), fields.get("ActiveState", "")))
    return Pairs(tuple(found))


def sockets(look: Look) -> tuple[str, ...]:
    """Sockets of container daemons: of root, of users, of Docker Desktop."""
    if look.system != "Linux":
        return ()
    paths = [*_SOCKETS]
    paths += [f"/run/user/{uid}/{n}" for uid in look.names("/run/user")[:50] for n in _USERS]
    if look.environ.get("HOME"):
        paths.append(f"{look.environ['HOME']}/.docker/desktop/docker.sock")
    return tuple(path for path in paths if look.exists(path))
