"""How a container on this host gets its GPU; one choice for plans, engines and runs."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from envbuild.errors import MachineError
from envbuild.values.codec import Value

if TYPE_CHECKING:
    # A plan that looked at no machine does not load the record of one.
    from envbuild.values.host import CdiSpec, EngineFacts, Host, Tool

OF_PODMAN = "this is podman under the name of docker"
"""What is said of a program `docker` that is none."""

_FAR = frozenset({"tcp", "ssh", "http", "https"})
_RELEASE = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}", re.ASCII)

ACCESS = {
    "docker": ("cdi", "gpus", "nvidia-runtime", "none"),
    "podman": ("cdi", "nvidia-runtime", "none"),
    "apptainer": ("native", "cdi", "gpus", "none"),
}
"""The ways of each engine, the one that is best where it works first."""


Lack = Literal["", "toolkit", "setup", "answer", "engine"]


class Containers(Value):
    """What a machine with a GPU has to run containers with, as probes found it.

    Attributes:
        toolkit: the container toolkit, None = it is not installed.
        os, l4t: as `Host` spells them.
        inside: the kind of container that the machine itself is, None = none.
        cdi: the CDI specifications that lie here.
        remote: how docker's server is reached where it may be on another machine, else empty.
    """

    engines: "tuple[EngineFacts, ...]" = ()
    toolkit: "Tool | None" = None
    os: str | None = None
    platform: str = "linux"
    l4t: str | None = None
    inside: str | None = None
    cdi: "tuple[CdiSpec, ...]" = ()
    remote: str = ""


def containers(host: "Host") -> Containers | None:
    """The container side of a machine; None = nobody looked, or it has neither GPU nor driver.

    Who looks at a machine looks for engines too, and records what became of its probes. A file
    that lists neither engines nor probes was written by hand: what it leaves out is not known.
    """
    looked = host.kind == "detected" or bool(host.engines or host.probes)
    failed = {probe.name for probe in host.probes if not probe.ok}
    if not looked or not has_gpu(host) or failed & {"engines", "toolkit"}:
        return None
    return Containers(
        engines=host.engines,
        toolkit=host.container_toolkit,
        os=host.os.id,
        platform="jetson" if host.jetson is not None else host.platform,
        l4t=host.jetson.l4t if host.jetson is not None else None,
        inside=host.inside_container,
        cdi=host.cdi,
        remote=remote(host),
    )


def has_gpu(host: "Host") -> bool:
    """The machine has a GPU to give: one is seen, or its driver is there and none is, for now."""
    return bool(host.gpus) or host.driver is not None


def remote(host: "Host") -> str:
    """How the docker that is used here is reached over a network (``tcp``, ``ssh``); else empty."""
    schemes = {(host.env.get("DOCKER_HOST") or "").partition("://")[0]}
    schemes |= {e.endpoint or "" for e in host.engines if e.name == "docker"}
    return next(iter(sorted(schemes & _FAR)), "")


def taken(here: Containers) -> "tuple[EngineFacts, ...]":
    """The engine that is used where none is named, by each of its clients that gets an answer.

    A docker that does not answer goes before a podman that cannot give a GPU at all.
    """
    docker = any(map(is_docker, here.engines))
    for name in ("docker", "podman", "apptainer"):
        found = tuple(e for e in here.engines if e.name == name and e.answers)
        if found and not (docker and all(map(knows_no_cdi, found))):
            return found
    return ()


def lack(here: Containers) -> Lack:
    """What keeps the engine from giving a GPU to a container; empty = nothing does.

    Returns:
        ``engine``: none is installed; ``answer``: none answers; ``toolkit``: it offers no way, and
        the container toolkit is not installed; ``setup``: it is, but the engine offers no way.
    """
    found = taken(here)
    if not found:
        return "answer" if here.engines else "engine"
    # The hook behind --gpus refuses a Jetson (nvidia-container-toolkit, hook_config.go).
    refused = {"gpus"} if here.platform == "jetson" else set()
    if any(set(e.access) - refused and not knows_no_cdi(e) for e in found):
        return ""
    return "setup" if here.toolkit is not None or any(map(is_snap, found)) else "toolkit"


def is_docker(engine: "EngineFacts") -> bool:
    """The engine is docker, and not podman under its name."""
    return engine.name == "docker" and engine.says != OF_PODMAN


def is_snap(engine: "EngineFacts") -> bool:
    """The engine is a snap: it has a container toolkit of its own, and sees no other."""
    return (engine.cli or "").startswith(("/snap/", "/var/lib/snapd/"))


def best_access(host: "Host", engine: str) -> str:
    """The access mode to use: that of `access_of`, and ``none`` while no driver holds a GPU."""
    return access_of(host, engine) if usable_gpu(host) else "none"


def access_of(host: "Host", engine: str) -> str:
    """The way in of an engine: ``cdi``, ``gpus``, ``nvidia-runtime`` or ``native``.

    Where it offers none, or does not answer, the one that it has once it is set up (`lack` tells).

    Args:
        host: the machine.
        engine: ``docker``, ``podman``, ``apptainer`` or ``local``.
    """
    if engine in {"local", "apptainer"}:
        return "native"
    if engine == "podman":
        return "cdi"
    named = [e for e in host.engines if e.name == engine]
    clients = [e for e in named if e.answers] or named
    offered = {mode for e in clients for mode in e.access}
    if "cdi" in offered:
        return "cdi"
    # The hook behind --gpus refuses a Jetson (nvidia-container-toolkit, hook_config.go), and
    # without root it may set no cgroups; a snap makes its CDI specification for the runtime alone.
    jetson = host.jetson is not None or host.platform == "jetson"
    if jetson or offered == {"gpus"}:
        return "nvidia-runtime" if jetson else "gpus"
    own = bool(clients) and all(e.rootless or is_snap(e) or new_way(e) for e in clients)
    return "nvidia-runtime" if own else "gpus"


def new_way(engine: "EngineFacts") -> bool:
    """Behind --gpus this docker looks at the CDI of several vendors, and then may find none.

    Docker Desktop has a way of its own behind that flag.
    """
    desktop = engine.system == "Docker Desktop" or "desktop" in (engine.context or "")
    if engine.name != "docker" or desktop:
        return False
    since, version = _since("docker", "gpus-through-cdi"), release(engine)
    return bool(since and version) and _parts(version) >= _parts(since)


def knows_no_cdi(engine: "EngineFacts") -> bool:
    """A podman from before CDI: no specification that lies here gives it a GPU."""
    if engine.name != "podman":
        return False
    since, version = _since("podman", "cdi"), release(engine)
    return bool(since and version) and _parts(version) < _parts(since)


def _since(engine: str, feature: str) -> str | None:
    """The first release of an engine with a feature, as its row says."""
    from envbuild.matrix.load import load_reference

    rows = load_reference().engines
    return next((r.since for r in rows if (r.engine, r.feature) == (engine, feature)), None)


def release(tool: "EngineFacts | Tool | None") -> str | None:
    """The release numbers that a program's version begins with (``29.0.0-rc.1``)."""
    match = _RELEASE.match((tool.version if tool is not None else None) or "")
    return match[0] if match else None


def _parts(version: str | None) -> tuple[int, ...]:
    return tuple(map(int, (version or "0").split(".")))


def usable_gpu(host: "Host") -> bool:
    """Whether a driver holds a GPU; a card that only the bus shows cannot be used."""
    return any(gpu.source != "pci" for gpu in host.gpus)


def gpu_flags(engine: str, access: str, devices: Sequence[str] = ()) -> tuple[str, ...]:
    """Command-line flags that bring the GPU in, one entry an argument.

    Args:
        engine: docker, podman or apptainer.
        access: cdi, gpus, nvidia-runtime, native or none.
        devices: uuids or indexes; empty = all.

    Raises:
        MachineError: this engine has no such way; running without the GPU would hide that.
    """
    if access not in ACCESS[engine]:
        what = f"{engine} has no GPU access mode {access!r}"
        raise MachineError(what, fix=f"one of {', '.join(ACCESS[engine])}")
    wanted = tuple(devices) or ("all",)
    if engine == "apptainer":
        return _apptainer_flags(access, devices)
    if access == "cdi":
        named = (part for name in wanted for part in ("--device", f"nvidia.com/gpu={name}"))
        # SELinux hosts deny the device nodes to a confined container.
        return (*named, *(("--security-opt=label=disable",) if engine == "podman" else ()))
    if access == "gpus":
        # Docker reads a comma as its own separator unless the whole value is quoted.
        return ("--gpus", "all" if wanted == ("all",) else f'"device={",".join(wanted)}"')
    if access == "nvidia-runtime":
        return ("--runtime=nvidia", "-e", f"NVIDIA_VISIBLE_DEVICES={','.join(wanted)}")
    return ()


def _apptainer_flags(access: str, devices: Sequence[str]) -> tuple[str, ...]:
    """`gpu_flags` of apptainer; what NVIDIA's own program chooses, it is told in the environment.

    ``--nv`` takes this machine's driver files, ``--nvccli`` what docker's ``--gpus`` takes, and
    ``--device`` a CDI name (from 1.5 on).
    """
    if access == "cdi":
        names = ",".join(f"nvidia.com/gpu={name}" for name in devices or ("all",))
        return ("--device", names)
    if access == "gpus":
        return ("--nvccli",)
    if access == "native":
        # --nv brings every device in: CUDA itself is told which to see.
        chosen = ("--env", f"CUDA_VISIBLE_DEVICES={','.join(devices)}") if devices else ()
        return ("--nv", *chosen)
    return ()
