"""An image that was not built here: no GPU for it through a toolkit that may let it out."""

import posixpath

from envbuild.certify.seen import Choice
from envbuild.errors import MachineError
from envbuild.host.access import is_snap, release
from envbuild.matrix.model import Hole
from envbuild.planner.holes import has, least
from envbuild.values.host import CdiSpec, EngineFacts, Host

_ANYWAY = "--trusted if you know who made the image"
_NO_GPU = "--require toolchain runs without a GPU"


def check(
    ref: str, host: Host, engine: EngineFacts, choice: Choice, holes: tuple[Hole, ...]
) -> None:
    """Refuse before anything runs.

    The toolkit that is judged is the one whose programs this engine starts for this way in. Where
    that is another one than this machine's, its release is not known, and it may have every hole.

    Args:
        ref: the image, as people call it.
        host: this machine.
        engine: what runs the image.
        choice: the GPU, and how it would come in.
        holes: what is published.

    Raises:
        MachineError: the container toolkit has holes through which an image gets out, or may.
    """
    if choice.gpu is None or choice.access == "native" or _starts_nothing(host, engine, choice):
        return
    refused = f"{ref} was not built here, and gets no GPU"
    version, other = release(host.container_toolkit), _other(host, engine, choice)
    if other or version is None:
        what = f"{refused}: which container toolkit would bring it in is not known"
        why = other or "no nvidia-ctk or nvidia-container-cli here says its release"
        raise MachineError(what, why=why, fix=f"{_ANYWAY}; {_NO_GPU}")
    modes = _modes(engine, choice)
    found = [hole for hole in holes if any(has(hole, version, cdi=cdi) for cdi in modes)]
    if found:
        names = ", ".join(hole.cve for hole in found)
        what = f"{refused} through container toolkit {version}"
        fix = f"update the toolkit to {least(found)}; {_NO_GPU}; {_ANYWAY}"
        raise MachineError(what, why=f"{names}: {found[0].says}", fix=fix)


def _modes(engine: EngineFacts, choice: Choice) -> tuple[bool, ...]:
    """Whether the GPU comes by CDI, by the hook and its library, or perhaps by either."""
    if choice.access == "cdi":
        # NVIDIA's runtime as the default one is in every start, and reads the image's variables.
        return (True, False) if engine.default_runtime == "nvidia" else (True,)
    # What --nvccli starts is the library's own program; behind docker's ways stands either.
    return (False,) if engine.name == "apptainer" else (True, False)


def _starts_nothing(host: Host, engine: EngineFacts, choice: Choice) -> bool:
    """The CDI specifications here name no hook: the engine itself mounts, no toolkit is started."""
    if choice.access != "cdi" or engine.default_runtime == "nvidia" or _elsewhere(host, engine):
        return False
    specs, read = _nvidia(host), not any(p.name == "cdi" and not p.ok for p in host.probes)
    return read and bool(specs) and not any(spec.hooks for spec in specs)


def _nvidia(host: Host) -> list[CdiSpec]:
    return [s for s in host.cdi if any(d.startswith("nvidia.com/gpu=") for d in s.devices)]


def _other(host: Host, engine: EngineFacts, choice: Choice) -> str:
    """Why it is another toolkit than the one that was found on this machine; empty = it is not."""
    if why := _elsewhere(host, engine):
        return why
    path = host.container_toolkit.path if host.container_toolkit is not None else None
    if choice.access != "cdi" or path is None:
        return ""
    programs = [(spec.path, hook) for spec in _nvidia(host) for hook in spec.hooks]
    strange = [(spec, hook) for spec, hook in programs if _folder(hook) != _folder(path)]
    return "{} starts {}, which is not of {}".format(*strange[0], path) if strange else ""


def _folder(path: str) -> str:
    """Where a program lies; ``/bin`` is a link to ``/usr/bin``."""
    folder = posixpath.dirname(posixpath.normpath(path))
    return f"/usr{folder}" if folder in {"/bin", "/sbin"} else folder


def _elsewhere(host: Host, engine: EngineFacts) -> str:
    """Why this engine's containers do not start on this machine's own files."""
    if engine.name != "docker":
        return ""
    where = engine.endpoint
    if where is None:
        return f"docker is asked by its context {engine.context!r}, not by a socket of this machine"
    if not where.startswith("/"):
        return f"docker is asked over {where}"
    if is_snap(engine) or (engine.daemon or "").startswith(("/snap/", "/var/lib/snapd/")):
        return "docker is a snap, with a container toolkit of its own"
    if engine.system == "Docker Desktop":
        return "Docker Desktop has a container toolkit of its own"
    if host.inside_container and engine.daemon is None:
        return f"this is a container ({host.inside_container}), and docker's server is outside it"
    return ""
