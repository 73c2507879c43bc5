"""Profilers and debuggers: counters that are guarded, cards that a release does not serve."""

from collections.abc import Iterator

from envbuild.advice.rows import cited, where
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene
from envbuild.advice.when import holds
from envbuild.matrix.load import load, load_reference
from envbuild.planner.table import cite
from envbuild.values.diagnosis import Seen
from envbuild.values.finding import Step

_PARAMS = "grep RmProfilingAdminOnly /proc/driver/nvidia/params"
_OPTION = "NVreg_RestrictProfilingToAdminUsers"
_FILE = "/etc/modprobe.d/nvidia-profiling.conf"


def counters(scene: Scene) -> Iterator[Advice]:
    """Performance counters are guarded: by Windows on WSL, elsewhere by the kernel module."""
    seen = scene.saw("nvgpuctrperm")
    if seen is None:
        return
    if scene.wsl2 or scene.host.platform == "windows":
        yield _of_windows(seen)
    else:
        yield _of_module(scene, seen)


def _of_windows(seen: Seen) -> Advice:
    from envbuild.advice.fixes import windows

    row = next(row for row in load_reference().wsl if row.what == "counters")
    return advice(
        "perf-counters",
        "error",
        "Windows guards the GPU's performance counters: its NVIDIA Control Panel opens them",
        why="Nothing inside Linux opens them. Counters that are sampled over time do not exist on "
        f"WSL at all; those of single kernels (ncu) do. {where(seen)}",
        steps=(windows.counters(row),),
        source=cite(row, row.what),
        explains=("nvgpuctrperm",),
    )


def _of_module(scene: Scene, seen: Seen) -> Advice:
    only_admin = scene.setting("RmProfilingAdminOnly")
    written = [
        c.path for c in scene.host.configs if c.values.get(f"options.nvidia.{_OPTION}") == "0"
    ]
    if only_admin == "0":
        says = "this machine lets every user read counters: the program runs elsewhere, or isolated"
        steps = _by_capability(scene)
    elif written:
        says = f"{written[0]} opens the counters, and the loaded module does not know of it"
        steps = (*_reach_the_module(scene), *_by_capability(scene))
    else:
        says = "the GPU's performance counters are open to administrators only"
        steps = (*_by_capability(scene), *_open_for_all(scene))
    return advice(
        "perf-counters",
        "error",
        says,
        why="The module takes its options when it is loaded, often from the start image, which "
        f"holds a copy of these files. Traces (nsys) need no counters. {where(seen)}",
        steps=steps,
        source=cited(seen.id),
        explains=("nvgpuctrperm",),
    )


def _by_capability(scene: Scene) -> tuple[Step, ...]:
    """In a container: one capability, as root in it."""
    row = next(row for row in load().situations if row.what == "perfmon")
    version = (scene.host.driver.version if scene.host.driver else None) or ""
    branch = version.partition(".")[0]
    enough = branch.isdigit() and int(branch) >= int(row.least or 0)
    name = "PERFMON" if enough else "SYS_ADMIN"
    return (
        Step(
            why="in a container the capability is enough; docker gives none to a user who is not "
            "root, so both flags go together",
            text=f"docker run --cap-add {name} --user 0 ... (outside of a container: sudo with the "
            "full path of ncu)",
            check="ncu writes a report",
        ),
    )


def _open_for_all(scene: Scene) -> tuple[Step, ...]:
    line = f"options nvidia {_OPTION}=0"
    return (
        Step(
            why="or open them to every user of this machine",
            argv=("sudo", "sh", "-c", f"echo '{line}' > {_FILE}"),
            check=f"cat {_FILE}",
        ),
        *_reach_the_module(scene),
    )


def _reach_the_module(scene: Scene) -> tuple[Step, ...]:
    """The start image again, and a start: then the module has the option."""
    rpm = holds("rpm", scene)
    rebuild = ("sudo", "dracut", "--force") if rpm else ("sudo", "update-initramfs", "-u")
    return (
        Step(
            why="the initramfs, from which the module is loaded, holds a copy of that file",
            argv=rebuild,
            check="no error",
        ),
        Step(
            why="the option is taken when the module is loaded",
            argv=("sudo", "systemctl", "reboot"),
            check=f"{_PARAMS}: 0",
        ),
    )


def card_not_served(scene: Scene) -> Iterator[Advice]:
    """A profiler saw no kernel, and the card is one that the current one does not serve."""
    seen = scene.saw("ncu-no-kernels", "ncu-unsupported", "nvprof-cc8")
    for _, row in scene.chips if seen is not None else ():
        if seen is None or not row.profiler:
            continue
        yield advice(
            "profiler-too-new",
            "error",
            f"the current Nsight Compute does not serve this card ({row.arch}, cc {row.cc})",
            why=f"Releases end with the cards of their time. {where(seen)}",
            steps=(
                Step(
                    why="what reads the counters of this card",
                    text=f"use {row.profiler}",
                    check="its report names a kernel",
                ),
            ),
            source=cite(row, row.cc),
            explains=("ncu-no-kernels", "ncu-unsupported"),
        )
        return


RULES: tuple[Rule, ...] = (counters, card_not_served)
