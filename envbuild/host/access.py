"""How a container on this host gets its GPU; one choice for plans, engines and runs."""

from envbuild.values.host import Host


def best_access(host: Host, engine: str) -> str:
    """The access mode to use: ``cdi``, ``gpus``, ``nvidia-runtime``, ``native`` or ``none``.

    Args:
        host: the machine.
        engine: ``docker``, ``podman``, ``apptainer`` or ``local``.
    """
    if not usable_gpu(host):
        return "none"
    if engine in {"local", "apptainer"}:
        return "native"
    if engine == "podman":
        return "cdi"
    offered = {mode for e in host.engines if e.name == engine and e.answers for mode in e.access}
    if "cdi" in offered:
        return "cdi"
    # The hook behind --gpus refuses a Jetson (nvidia-container-toolkit, hook_config.go).
    return "nvidia-runtime" if host.jetson or host.platform == "jetson" else "gpus"


def usable_gpu(host: Host) -> bool:
    """Whether a driver holds a GPU; a card that only the bus shows cannot be used."""
    return any(gpu.source != "pci" for gpu in host.gpus)
