"""How a container on this host gets its GPU; one choice for plans, engines and runs."""

from collections.abc import Sequence

from envbuild.errors import MachineError
from envbuild.values.host import Host

ACCESS = {
    "docker": ("cdi", "gpus", "nvidia-runtime", "none"),
    "podman": ("cdi", "nvidia-runtime", "none"),
}
"""The ways of each engine, the one that is best where it works first."""


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


def gpu_flags(engine: str, access: str, devices: Sequence[str] = ()) -> tuple[str, ...]:
    """Command-line flags that bring the GPU in, one entry an argument.

    Args:
        engine: docker or podman.
        access: cdi, gpus, nvidia-runtime or none.
        devices: uuids or indexes; empty = all.

    Raises:
        MachineError: this engine has no such way; running without the GPU would hide that.
    """
    if access not in ACCESS[engine]:
        what = f"{engine} has no GPU access mode {access!r}"
        raise MachineError(what, fix=f"one of {', '.join(ACCESS[engine])}")
    wanted = tuple(devices) or ("all",)
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
