"""The driver of a machine with a kernel of its own: does it fit, run, and serve every program."""

from collections.abc import Iterator

from envbuild.advice.fixes import driver as fixes_driver
from envbuild.advice.fixes import fabric as fixes
from envbuild.advice.fixes.driver import owner
from envbuild.advice.installing import installed
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice, fit, jetson, loading, same_version
from envbuild.advice.scene import Scene, is_version, table
from envbuild.host.fabric import fabric_of
from envbuild.matrix.load import load
from envbuild.planner import drivers
from envbuild.planner.table import cite
from envbuild.values.finding import Step


def fabric_manager(scene: Scene) -> Iterator[Advice]:
    """GPUs behind NVSwitches wait for the Fabric Manager, in exactly the driver's version."""
    rows, seen = load().situations, scene.saw("cuda-802")
    here = fabric_of(scene.host, rows)
    if here is None or (seen is None and here.joined):
        return
    driver = scene.host.driver.version if scene.host.driver is not None else None
    lacks = fixes.lack(here, driver)
    if not lacks and seen is None:
        return
    row = next(row for row in rows if row.what == "fabric-manager")
    if here.inside is not None:
        steps: tuple[Step, ...] = (owner("a running Fabric Manager of the driver's version"),)
        says = "the GPUs of this machine are not joined by its Fabric Manager"
    else:
        says = f"{here.switches or 'its'} NVSwitches are here, and "
        says += lacks or "the Fabric Manager did not join its GPUs when this was written"
        steps = fixes.steps(here, driver)
    # Where nothing shows the switches, another machine may manage them for this one.
    known = here.switches or here.waits or seen is not None
    yield advice(
        "fabric-manager",
        "error" if known else "warn",
        says,
        why=f"{row.says}. " + (where(seen) if seen else ""),
        steps=steps,
        source=cite(row, row.what),
        explains=("cuda-802", "cuda-999", "cuda-3", "nccl-error"),
    )


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


def version_unread(scene: Scene) -> Iterator[Advice]:
    """A driver answers, and its version is not known: nothing can be said of what it serves."""
    driver = scene.host.driver
    if driver is None or driver.version or installed(scene) or scene.jetson or not scene.cards:
        return
    row = table().capability(scene.cards[0][1].cc)
    yield advice(
        "driver-unread",
        "warn",
        drivers.UNREAD,
        steps=(fixes_driver.version(),),
        source=cite(row, row.cc),
    )


def other_level(scene: Scene) -> Iterator[Advice]:
    """The CUDA level that was read is not the driver's: another libcuda answered."""
    version, own = scene.driver_version, scene.driver_cuda
    told = scene.host.driver.cuda if scene.host.driver is not None else None
    if version is None or not told or not is_version(told) or told == own:
        return
    row = drivers.branch_of(table(), version)
    says, why = drivers.level_says(version, told, own)
    source = cite(row, str(row.branch)) if row is not None else ""
    yield advice("driver-cuda-level", "info", says, why=why, source=source)


RULES: tuple[Rule, ...] = (
    jetson.no_smi,
    *fit.RULES,
    *loading.RULES,
    *same_version.RULES,
    fabric_manager,
    compute_mode,
    memory_module,
    version_unread,
    other_level,
)
