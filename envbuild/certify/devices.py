"""Which GPU a run takes and how it comes in."""

from envbuild.certify.seen import Choice
from envbuild.certify.terms import covers
from envbuild.errors import InputError
from envbuild.values.host import EngineFacts, Host

_MODES = ("cdi", "gpus", "nvidia-runtime", "native")


def choose(
    host: Host, engine: EngineFacts, promise: tuple[str, ...], uuid: str | None, access: str | None
) -> Choice:
    """The GPU and its access mode, or why there is none.

    Args:
        host: the machine.
        engine: what it offers; ``local`` has only ``native``.
        promise: targets of the image; a GPU that none of them runs on proves nothing about it.
        uuid: the GPU asked for.
        access: the access mode asked for.

    Raises:
        InputError: no GPU has this uuid, or the access mode is none that brings a GPU in.
    """
    if access is not None and access not in _MODES:
        what = f"no GPU comes in by the access mode {access!r}"
        raise InputError(what, fix=f"one of {', '.join(_MODES)}")
    usable = [gpu for gpu in host.gpus if gpu.source != "pci"]
    if uuid:
        usable = [gpu for gpu in usable if gpu.uuid == uuid]
        if not usable and host.gpus:
            what = f"no GPU here has the uuid {uuid}"
            fix = ", ".join(gpu.uuid for gpu in host.gpus if gpu.uuid) or "nvidia-smi -L"
            raise InputError(what, fix=f"one of: {fix}")
    if not usable:
        seen = ", ".join(gpu.name or "a GPU" for gpu in host.gpus)
        why = f"there is {seen} but no driver for it" if seen else "there is no NVIDIA GPU here"
        return Choice(reason=why)
    fitting = [gpu for gpu in usable if not promise or (gpu.cc and covers(promise, gpu.cc))]
    if not fitting:
        have = ", ".join(sorted({gpu.cc or "?" for gpu in usable}))
        return Choice(
            reason=f"the image promises sm_{', sm_'.join(promise)}; the GPU here is cc {have}"
        )
    mode = access or mode_of(host, engine)
    if mode is None:
        return Choice(reason=f"{engine.name} has no way to give a container the GPU here")
    return Choice(gpu=fitting[0], access=mode)


def mode_of(host: Host, engine: EngineFacts) -> str | None:
    """The access mode that is best here; None = the engine offers none."""
    if "native" in engine.access or engine.name == "local":
        return "native"
    jetson = host.jetson is not None or host.platform == "jetson"
    order = ("nvidia-runtime", "cdi") if jetson else ("cdi", "gpus", "nvidia-runtime")
    return next((mode for mode in order if mode in engine.access), None)
