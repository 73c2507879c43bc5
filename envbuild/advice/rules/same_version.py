"""Whether the kernel module that runs, the one on disk and the libraries are of one version."""

from collections.abc import Iterator

from envbuild.advice.fixes import modules
from envbuild.advice.installing import library, module_of, release, right
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.rules.fit import SILENT
from envbuild.advice.scene import Scene
from envbuild.planner.ranges import numbers
from envbuild.values.finding import Step
from envbuild.values.host import KernelModule


def mismatch(scene: Scene) -> Iterator[Advice]:
    """The module that runs, the one on disk and the libraries are not of one version."""
    module, files = module_of(scene), library(scene)
    loaded = release(module.version) if module is not None else None
    if module is None or loaded is None or not scene.native:
        return
    if files is not None and files != loaded:
        yield _mismatch(scene, module, loaded, files)
    elif module.on_disk is not None and module.on_disk != loaded:
        broken = scene.saw("nvml-mismatch") is not None
        yield advice(
            "driver-mismatch" if broken else "driver-restart",
            "error" if broken else "watch",
            f"driver {loaded} runs, {module.on_disk} is installed: it begins with the next start",
            why="An update replaced the module's file. Programs that start between the two can "
            "meet libraries of the other version.",
            steps=(modules.restart(f"cat /sys/module/nvidia/version: {module.on_disk}"),),
            source="errors/nvml-mismatch sourced",
            explains=("nvml-mismatch",),
        )


def _mismatch(scene: Scene, module: KernelModule, loaded: str, files: str) -> Advice:
    says = f"the driver's libraries are {files}, and its kernel module that runs is {loaded}"
    explains = (*SILENT, "nvml-mismatch", "cuda-803", "cuda-804", "cdi-stale", "forward-compat")
    if scene.host.inside_container is not None:
        says += ": this container holds driver files of its own, or is older than the driver"
        steps: tuple[Step, ...] = (
            Step(
                why="files of the driver are mounted when a container starts; an image must hold "
                "none of its own",
                text="start a new container from an image without driver packages (libcuda1, "
                "libnvidia-*)",
                check="ldconfig -p, in it: one libcuda.so.1, of the machine's version",
            ),
        )
    elif module.on_disk in {None, files}:
        newer = numbers(files) > numbers(loaded)
        steps = (modules.restart(f"cat /sys/module/nvidia/version: {files}"),)
        if newer and module.on_disk is None:
            steps = (_on_disk(files), *steps)
    else:
        fix = right(scene)
        says += f", {module.on_disk} on disk: two drivers were installed over each other"
        steps = (_two_installs(), *(fix.steps if fix is not None else ()))
    return advice(
        "driver-mismatch",
        "error",
        says,
        why="The two must be of one version. An update replaces the files at once, the module "
        "at the next start alone.",
        steps=steps,
        source="errors/nvml-mismatch sourced",
        explains=explains,
    )


def _on_disk(files: str) -> Step:
    return Step(
        why="the module that the next start takes",
        argv=("modinfo", "-F", "version", "nvidia"),
        check=f"{files}; another version: it was not built, sudo dkms autoinstall first",
    )


def _two_installs() -> Step:
    return Step(
        why="files of the vendor's own installer lie over those of packages, or the other way",
        text="where the .run installer was used: sudo nvidia-uninstall; then the packages of one "
        "driver again, all of one version",
        check="modinfo -F version nvidia and ls /usr/lib*/*/libcuda.so.*: one version",
    )


RULES: tuple[Rule, ...] = (mismatch,)
