"""Several GPUs in one container: the memory through which they talk."""

from collections.abc import Iterator

from envbuild.advice.rows import cited
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene
from envbuild.values.finding import Step

_DEFAULT_MIB = 64
"""What docker and podman give to /dev/shm."""


def little_shared_memory(scene: Scene) -> Iterator[Advice]:
    """A container with several GPUs and the engine's default of shared memory."""
    host, shm = scene.host, scene.host.limits.shm_mib
    if host.inside_container is None or len(host.gpus) < 2 or shm is None or shm > _DEFAULT_MIB:
        return
    seen = scene.saw("nccl-shm", "nccl-error")
    yield advice(
        "little-shared-memory",
        "error" if seen else "watch",
        f"this container has {shm} MiB of shared memory for {len(host.gpus)} GPUs",
        why="NCCL and DataLoader workers pass their data through /dev/shm.",
        steps=(
            Step(
                why="more of it, taken from the RAM only as it is used",
                text="start the container with --shm-size=8g (compose: shm_size: 8gb; Kubernetes: "
                "an emptyDir of medium Memory at /dev/shm)",
                check="df -h /dev/shm in it",
            ),
        ),
        source=cited("nccl-shm"),
        explains=("nccl-shm", "nccl-error"),
    )


RULES: tuple[Rule, ...] = (little_shared_memory,)
