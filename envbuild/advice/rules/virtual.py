"""GPUs that are not simply a card in a machine: MIG, vGPU, and the inside of a container."""

from collections.abc import Iterator

from envbuild.advice.fixes.driver import owner
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice, visible
from envbuild.advice.scene import Scene
from envbuild.matrix.load import load
from envbuild.matrix.model import Situation
from envbuild.planner.table import cite
from envbuild.values.finding import Severity, Step

_NONE = ("cuda-100", "cuda-101", "torch-no-driver", "cuda-3", "unknown-device")
_NO_GPU = ("torch-no-driver", "cuda-100", "nvml-not-found", "smi-missing", "libcuda-stub",
           "wsl-libcuda-missing", "image-driver-banner")  # fmt: skip


def _row(what: str) -> Situation:
    return next(row for row in load().situations if row.what == what)


def mig_without_instance(scene: Scene) -> Iterator[Advice]:
    """MIG is on, and nothing was cut out of the card: CUDA sees no device."""
    empty = [g for g in scene.host.gpus if g.mig and g.mig.enabled and not g.mig.instances]
    if not empty:
        return
    seen, row = scene.saw(*_NONE), _row("mig")
    index = str(scene.host.gpus.index(empty[0]))
    every = len(empty) == len(scene.host.gpus)
    steps = (
        Step(
            why="which sizes this card can be cut into",
            argv=("sudo", "nvidia-smi", "mig", "-i", index, "-lgip"),
            check="a list of profiles with their ids",
        ),
        Step(
            why="make a GPU instance of a profile (0: the whole card; several with commas), and "
            "with -C a compute instance in it",
            argv=("sudo", "nvidia-smi", "mig", "-i", index, "-cgi", "0", "-C"),
            check="nvidia-smi -L: a line MIG with its UUID",
        ),
        Step(
            why="or use the card as a whole; no program may use it meanwhile",
            argv=("sudo", "nvidia-smi", "-i", index, "-mig", "0"),
            check="nvidia-smi --query-gpu=mig.mode.current --format=csv: Disabled",
        ),
    )
    inside = scene.host.inside_container is not None
    yield advice(
        "mig-no-instance",
        "error" if every or seen else "warn",
        f"MIG is on for {empty[0].name or 'the GPU'}, and there is no MIG instance: CUDA finds no "
        "device",
        why=f"With MIG on, programs use GPU instances with compute instances alone; {row.says}. "
        + (where(seen) if seen else ""),
        steps=(owner("a MIG instance, or MIG off"),) if inside else steps,
        source=cite(row, row.what),
        explains=(*_NONE, "cuda-visible-devices"),
    )


def mig_shows_one(scene: Scene) -> Iterator[Advice]:
    """Several instances, and one visible device: that is how it works."""
    count = sum(len(g.mig.instances) for g in scene.host.gpus if g.mig and g.mig.enabled)
    if count < 2:
        return
    row = _row("mig")
    yield advice(
        "mig-one-device",
        "info",
        f"{count} MIG instances are here, and each program sees one: that is how MIG works",
        why=f"{row.says[:1].upper()}{row.says[1:]}: CUDA_VISIBLE_DEVICES=MIG-UUID, one program an "
        "instance. Containers that run already do not see new ones.",
        source=cite(row, row.what),
    )


def vgpu_licence(scene: Scene) -> Iterator[Advice]:
    """A vGPU without a licence is slowed down, then refuses work."""
    bad = [g for g in scene.host.gpus if "unlicensed" in (g.licence or "").lower()]
    seen = scene.saw("cuda-102")
    if not bad:
        return
    row, daemon = _row("vgpu"), scene.host.services.get("nvidia-gridd")
    says = f"the vGPU {bad[0].name or ''} has no licence: the driver says {bad[0].licence}"
    if daemon is not None and daemon != "active":
        says += f"; nvidia-gridd, which asks for it, is {daemon}"
    yield advice(
        "vgpu-licence",
        "error" if seen or scene.saw("cuda-46") else "warn",
        says,
        why=f"{row.says[:1].upper()}{row.says[1:]}. Without one it is slowed down after some "
        "minutes. " + (where(seen) if seen else ""),
        steps=(
            Step(
                why="the guest's driver asks the licence server that this token names",
                text="put the client configuration token of your licence server into "
                "/etc/nvidia/ClientConfigToken",
                check="ls /etc/nvidia/ClientConfigToken: a file client_configuration_token_*.tok",
            ),
            Step(
                why="the daemon reads it when it starts",
                argv=("sudo", "systemctl", "restart", "nvidia-gridd"),
                check="nvidia-smi -q: License Status: Licensed",
            ),
        )
        if scene.host.inside_container is None
        else (owner("a licence for its vGPU"),),
        source=cite(row, row.what),
        explains=("cuda-102", "cuda-46"),
    )


def container_without_gpu(scene: Scene) -> Iterator[Advice]:
    """In a container that was started without a GPU, nothing can be installed that brings one."""
    host, seen = scene.host, scene.saw(*_NO_GPU)
    nodes = [n for n in host.devices if n.path.startswith(("/dev/nvidia", "/dev/dxg"))]
    if host.inside_container is None or scene.driver_works or nodes or scene.jetson:
        return
    # Nobody missed it yet: where a card is on the bus somebody will, else it may be meant.
    unasked: Severity = "warn" if host.gpus else "info"
    yield advice(
        "container-without-gpu",
        "error" if seen is not None else unasked,
        f"this is a container ({host.inside_container}) that was started without a GPU: it has no "
        "device file of one",
        why="Driver and device files come from the machine, when the container starts. A driver "
        f"that is installed in here changes nothing. {where(seen) if seen is not None else ''}",
        steps=(
            Step(
                why="on the machine, not in here: start it with the flags for a GPU",
                text="docker run --gpus all (or --device nvidia.com/gpu=all); on a rented machine "
                "choose one with a GPU",
                check="nvidia-smi, in the new container: the card",
            ),
        ),
        source="errors/image-driver-banner sourced",
        explains=_NO_GPU,
    )


def capabilities(scene: Scene) -> Iterator[Advice]:
    """A container that got the device files, and not the libraries for CUDA."""
    host, seen = scene.host, scene.saw(*_NO_GPU)
    able = host.env.get("NVIDIA_DRIVER_CAPABILITIES")
    if host.inside_container is None or not able or able == "all":
        return
    lacks = sorted({"compute", "utility"} - set(able.split(",")))
    if not lacks or (seen is None and "compute" not in lacks):
        return
    yield advice(
        "driver-capabilities",
        "error" if seen else "warn",
        f"the container was given NVIDIA_DRIVER_CAPABILITIES={able}: {' and '.join(lacks)} is left "
        "out",
        why="compute brings the library for CUDA, utility nvidia-smi and NVML. "
        + (where(seen) if seen else ""),
        steps=(
            Step(
                why="it counts when the container starts",
                text="start it again with -e NVIDIA_DRIVER_CAPABILITIES=compute,utility",
                check="nvidia-smi, in the new container: the card",
            ),
        ),
        source="errors/image-driver-banner sourced",
        explains=_NO_GPU,
    )


RULES: tuple[Rule, ...] = (
    container_without_gpu,
    capabilities,
    mig_without_instance,
    *visible.RULES,
    mig_shows_one,
    vgpu_licence,
)
