"""GPU flags of each engine: how the GPU comes into the container."""

from envbuild.planner.target import Target
from envbuild.values.plan import RunFlags

_RUNTIME = ("--runtime=nvidia", "-e", "NVIDIA_VISIBLE_DEVICES=all")
_DOCKER = {
    "cdi": ("--device", "nvidia.com/gpu=all"),
    "gpus": ("--gpus", "all"),
    "nvidia-runtime": _RUNTIME,
}
_PODMAN = {
    # SELinux hosts deny the device nodes to a confined container.
    "cdi": ("--device", "nvidia.com/gpu=all", "--security-opt=label=disable"),
    "nvidia-runtime": _RUNTIME,
}


def run_flags(target: Target) -> RunFlags:
    """Flags for the access mode of each engine of the host, else for the planned one."""
    docker = _mode(target, "docker")
    podman = _mode(target, "podman")
    return RunFlags(
        docker=_DOCKER.get(docker, _DOCKER["cdi"]),
        podman=_PODMAN.get(podman, _PODMAN["cdi"]),
        apptainer=("--nv",),
    )


def _mode(target: Target, engine: str) -> str:
    return dict(target.engine_access).get(engine, target.access)
