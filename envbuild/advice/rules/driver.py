"""The driver of a machine with a kernel of its own: does it fit, run, and serve every program."""

from collections.abc import Iterator

from envbuild.advice.installing import owner, release
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice, fit, jetson, loading, same_version
from envbuild.advice.scene import Scene
from envbuild.matrix.load import load
from envbuild.planner.table import cite
from envbuild.values.finding import Step

_FABRIC = ("nvidia-fabricmanager", "cuda-datacenter-fabricmanager")


def fabric_manager(scene: Scene) -> Iterator[Advice]:
    """GPUs behind NVSwitches wait for the Fabric Manager, in exactly the driver's version."""
    host, seen = scene.host, scene.saw("cuda-802")
    joined = [gpu.fabric for gpu in host.gpus]
    if not host.nvswitches or (seen is None and "completed" in joined):
        return
    state = host.services.get("nvidia-fabricmanager")
    other = _other_version(scene)
    waits = any(word in {"in-progress", "not-started"} for word in joined)
    looked = bool(host.services)
    if not (seen or waits or other or (looked and state != "active")):
        return
    row = next(row for row in load().situations if row.what == "fabric-manager")
    if host.inside_container is not None:
        steps: tuple[Step, ...] = (owner("a running Fabric Manager of the driver's version"),)
        says = "the GPUs of this machine are not joined by its Fabric Manager"
    else:
        says = f"{host.nvswitches} NVSwitches are here, and "
        says += f"the Fabric Manager {other}" if other else _said(state)
        steps = _fabric_steps(scene, there=state is not None or bool(other), other=bool(other))
    yield advice(
        "fabric-manager",
        "error",
        says,
        why=f"{row.says}. " + (where(seen) if seen else ""),
        steps=steps,
        source=cite(row, row.what),
        explains=("cuda-802", "cuda-999", "cuda-3", "nccl-error"),
    )


def _said(state: str | None) -> str:
    return f"nvidia-fabricmanager is {state}" if state else "the Fabric Manager is not installed"


def _other_version(scene: Scene) -> str:
    """``580.95.05 is not of the driver's version 580.105.08``, or empty."""
    driver = scene.host.driver.version if scene.host.driver is not None else None
    for name, text in scene.host.packages:
        version = release(text.partition("-")[0]) if name.startswith(_FABRIC) else None
        if version is not None and driver is not None and version != driver:
            return f"{version} is not of the driver's version {driver}"
    return ""


def _fabric_steps(scene: Scene, *, there: bool, other: bool) -> tuple[Step, ...]:
    driver = scene.host.driver.version if scene.host.driver is not None else None
    wanted = f"of version {driver}" if driver else "of the driver's version"
    install = Step(
        why="it works with the driver of its own version alone",
        text=f"install the package nvidia-fabricmanager {wanted}, from where the driver is from",
        check=f"nv-fabricmanager --version: {driver or 'the version of the driver'}",
    )
    start = Step(
        why="it joins the GPUs through the switches, now and at each start",
        argv=("sudo", "systemctl", "enable", "--now", "nvidia-fabricmanager"),
        check="nvidia-smi -q: Fabric, State: Completed",
    )
    said = Step(
        why="where it ends again, it says why",
        argv=("sudo", "journalctl", "-u", "nvidia-fabricmanager", "-n", "50"),
        check="no line with an error",
    )
    return (start, said) if there and not other else (install, start)


def compute_mode(scene: Scene) -> Iterator[Advice]:
    """A mode that lets one program, or none, use the card."""
    seen = scene.saw("cuda-46")
    for number, gpu in enumerate(scene.host.gpus):
        mode = gpu.compute_mode
        if mode in {None, "default"} or (mode != "prohibited" and seen is None):
            continue
        one = "no program may use it" if mode == "prohibited" else "one program at a time uses it"
        step = Step(
            why="let every program use it; the mode lasts until the next start",
            argv=("sudo", "nvidia-smi", "-i", str(number), "-c", "0"),
            check="nvidia-smi --query-gpu=compute_mode --format=csv: Default",
        )
        mine = scene.host.inside_container is None
        yield advice(
            "compute-mode",
            "error" if seen else "warn",
            f"the compute mode of {gpu.name or 'the GPU'} is {mode}: {one}",
            why="Somebody set it, perhaps on purpose (a queue of jobs, MPS): ask first. "
            + (where(seen) if seen else ""),
            steps=(step if mine else owner("the compute mode Default"),),
            source="errors/cuda-46 sourced",
            explains=("cuda-46",),
        )
        return


def memory_module(scene: Scene) -> Iterator[Advice]:
    """CUDA needs nvidia-uvm, nvidia-smi does not: it shows a card that no program can use."""
    seen = scene.saw("cuda-999", "cuda-3", "cuda-304")
    host = scene.host
    names = {m.name for m in host.kernel.modules if m.loaded}
    if seen is None or not scene.native or host.inside_container is not None:
        return
    if "nvidia" not in names or "nvidia_uvm" in names or not _modules_known(scene):
        return
    yield advice(
        "uvm-not-loaded",
        "error",
        "nvidia-uvm, the driver's module for memory, is not loaded: CUDA cannot start, whatever "
        "nvidia-smi shows",
        why=f"NVML does without it, CUDA does not. {where(seen)}",
        steps=(
            Step(
                why="load the module and make its device files",
                argv=("sudo", "nvidia-modprobe", "-u", "-c=0"),
                check="ls -l /dev/nvidia-uvm",
            ),
            Step(
                why="and at each start, before a container asks for it",
                argv=("sudo", "sh", "-c", "echo nvidia-uvm > /etc/modules-load.d/nvidia-uvm.conf"),
                check="cat /etc/modules-load.d/nvidia-uvm.conf",
            ),
        ),
        source="errors/cuda-999 sourced",
        explains=("cuda-999", "cuda-3", "cuda-304"),
    )


def _modules_known(scene: Scene) -> bool:
    """The list of the loaded modules was read, and not only one of them recorded."""
    kernel = scene.host.kernel
    return bool(kernel.majors) and "nvidia-uvm" not in dict(kernel.majors)


RULES: tuple[Rule, ...] = (
    jetson.no_smi,
    *fit.RULES,
    *loading.RULES,
    *same_version.RULES,
    fabric_manager,
    compute_mode,
    memory_module,
)
