"""CDI specifications: older than the driver, newer than the engine, without the name asked for."""

import re
from collections.abc import Iterator

from envbuild.advice.fixes import cdi as fixes
from envbuild.advice.fixes import features
from envbuild.advice.installing import release
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene
from envbuild.host.access import Containers, containers
from envbuild.matrix.load import load_reference
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.values.finding import Step
from envbuild.values.host import CdiSpec, EngineFacts, Tool

_BROKEN = (
    "cdi-file-missing",
    *("cuda-999", "cuda-3", "cuda-304", "cuda-803", "cuda-804", "nvml-mismatch", "cuda-100"),
    *("nvml-unknown-error", "nvml-not-found"),
)
_GPU = "nvidia.com/gpu="
_ASKED = re.compile(r"nvidia\.com/gpu=[\w,:.-]{1,200}", re.ASCII)
_REFRESH = "nvidia-cdi-refresh"


def stale(scene: Scene) -> Iterator[Advice]:
    """A specification that was written for another driver, or another start of the machine."""
    if scene.host.inside_container is not None:
        return
    for spec in effective(scene.host.cdi):
        wrong = "; ".join(_wrong(scene, spec))
        if not wrong:
            continue
        seen = scene.saw(*_BROKEN)
        used = any("cdi" in engine.access for engine in scene.host.engines)
        yield advice(
            "cdi-stale",
            "error" if seen else "warn" if used else "watch",
            f"the CDI specification {spec.path} is not of the driver that runs: {wrong}",
            why="It is a list of files and device numbers as they were when it was written; a "
            "container gets what it says. " + (where(seen) if seen else ""),
            steps=(*written(scene, spec.path), *_kept(scene)),
            source=_cited("cdi-refresh"),
            explains=_BROKEN,
        )
        return


def effective(specs: tuple[CdiSpec, ...]) -> tuple[CdiSpec, ...]:
    """Those that give some device: one in /var/run/cdi goes before one in /etc/cdi."""
    later = {d for s in specs if not s.path.startswith("/etc/") for d in s.devices}
    nvidia = [s for s in specs if any(d.startswith(_GPU) for d in s.devices)]
    return tuple(s for s in nvidia if not s.path.startswith("/etc/") or not set(s.devices) <= later)


def _wrong(scene: Scene, spec: CdiSpec) -> Iterator[str]:
    host = scene.host
    driver = host.driver.version if host.driver is not None else None
    if spec.driver is not None and driver is not None and spec.driver != driver and scene.native:
        yield f"it mounts files of {spec.driver}, and {driver} is loaded"
    majors = dict(host.kernel.majors)
    for path, written_down in spec.majors:
        now = majors.get(_major_of(path))
        if now is not None and now != written_down:
            yield f"it says major {written_down} for {path}, and the kernel uses {now}"
    gone = [name for name in spec.missing if ".so." in name]
    if gone:
        yield f"it mounts files that are not there ({gone[0]})"


def _major_of(path: str) -> str:
    """The name of the kernel's list that a device file belongs to."""
    name = path.rpartition("/")[2]
    if name.startswith("nvidia-uvm"):
        return "nvidia-uvm"
    return "nvidia" if re.fullmatch(r"nvidia(\d+|ctl|-modeset)", name) else name


def written(scene: Scene, path: str | None = None) -> tuple[Step, ...]:
    """The specification anew, in the form that the engines of this machine read."""
    rows, host = load_reference(), scene.host
    tool = host.container_toolkit or Tool(name="nvidia-container-toolkit")
    here = Containers(engines=host.engines, toolkit=tool, cdi=host.cdi, platform=host.platform)
    engine = fixes.plain_reader(rows, host.engines) or EngineFacts(name="docker")
    steps = tuple(fixes.described(rows, here, engine))
    return tuple(_into(step, path) for step in steps) if path else steps


def _into(step: Step, path: str) -> Step:
    """The same, written over the file that is read: one elsewhere would not be."""
    argv = tuple(f"--output={path}" if a.startswith("--output=") else a for a in step.argv)
    return Step(why=step.why, argv=argv, text=step.text, check=step.check)


def _kept(scene: Scene) -> Iterator[Step]:
    """Newer toolkits have a service that writes it at each start."""
    row = features.feature(load_reference(), "nvidia-container-toolkit", "cdi-refresh")
    tool = scene.host.container_toolkit
    version = release(tool.version) if tool is not None else None
    if row.since and version and numbers(version) >= numbers(row.since) and not scene.wsl2:
        yield Step(
            why="written anew at each start and after each driver, by the toolkit's own service",
            argv=(
                "sudo",
                "systemctl",
                "enable",
                "--now",
                f"{_REFRESH}.path",
                f"{_REFRESH}.service",
            ),
            check=f"systemctl is-enabled {_REFRESH}.path: enabled",
        )
    else:
        yield Step(
            why="numbers of devices can change at each start, files with each driver",
            text="write it again after each of them (a toolkit of "
            f"{row.since} or newer does so by itself)",
            check="nvidia-ctk cdi list: nvidia.com/gpu=all",
        )


def too_new(scene: Scene) -> Iterator[Advice]:
    """A specification in a form that the engine does not read: it then sees no device at all."""
    seen, here = scene.saw("cdi-unresolvable"), containers(scene.host)
    for engine in scene.host.engines if here is not None else ():
        row = fixes.unread(load_reference(), engine, scene.host.cdi)
        if here is None or row is None or not engine.answers:
            continue
        yield advice(
            "cdi-spec-version",
            "error" if seen else "warn",
            fixes.told(row, engine, scene.host.cdi),
            why="It then knows none of its devices, whatever nvidia-ctk cdi list shows. "
            + (where(seen) if seen else ""),
            steps=fixes.readable(load_reference(), here, engine, row),
            source=cite(row, f"{row.engine}-{row.feature}"),
            explains=("cdi-unresolvable",),
        )
        return


def name(scene: Scene) -> Iterator[Advice]:
    """The name that was asked for is in no specification."""
    seen = scene.saw("cdi-unresolvable")
    match = _ASKED.search(seen.text) if seen is not None else None
    asked = match[0].rstrip(",.:") if match is not None else ""
    known = tuple(d for s in scene.host.cdi for d in s.devices if d.startswith(_GPU))
    if seen is None or not known or not asked or asked in known:
        return
    several = "," in asked
    why = "One name a --device: write the flag once for each. " if several else ""
    if scene.wsl2:
        row = next(r for r in load_reference().wsl if r.what == "cdi-names")
        why = f"On WSL {row.says}. "
    yield advice(
        "cdi-name",
        "error",
        f"{asked} is in no CDI specification here; there are {', '.join(known[:8])}",
        why=why + where(seen),
        steps=(
            Step(
                why="ask for one that is there",
                text=f"--device {next((k for k in known if k.endswith('=all')), known[0])}",
                check="nvidia-ctk cdi list: the name that you ask for",
            ),
            *(() if scene.wsl2 or several else written(scene)),
        ),
        source="errors/cdi-unresolvable sourced",
        explains=("cdi-unresolvable",),
    )


def switched_off(scene: Scene) -> Iterator[Advice]:
    """A docker that reads no specification: too old, or not switched on."""
    seen, engine = scene.saw("cdi-unresolvable"), scene.engine("docker")
    if seen is None or engine is None or not engine.answers or "cdi" in engine.access:
        return
    rows = load_reference()
    first = features.feature(rows, "docker", "cdi")
    default = features.feature(rows, "docker", "cdi-default")
    if scene.wsl2 or not effective(scene.host.cdi) or at_least(engine, default.since, unknown=True):
        return
    if not at_least(engine, first.since, unknown=True):
        says = f"docker {engine.version} knows no CDI devices; {first.since} is the first that does"
        steps: tuple[Step, ...] = (
            Step(
                why="the way of older docker: the hook behind --gpus",
                text="start the container with --gpus all, or update docker",
                check="nvidia-smi in it shows the card",
            ),
        )
    else:
        says = f"CDI is not switched on in docker {engine.version}"
        steps = (
            Step(
                why="switch it on in daemon.json, which keeps what else it says",
                argv=("sudo", "nvidia-ctk", "runtime", "configure", "--runtime=docker",
                      "--cdi.enabled"),
                check="grep cdi /etc/docker/daemon.json: true",
            ),
            Step(
                why="docker reads that when it starts; containers that run now stop",
                argv=("sudo", "systemctl", "restart", "docker"),
                check="docker info: CDI spec directories",
            ),
        )  # fmt: skip
    yield advice(
        "cdi-off",
        "error",
        says,
        why=where(seen),
        steps=steps,
        source=cite(first, f"{first.engine}-{first.feature}"),
        explains=("cdi-unresolvable",),
    )


def at_least(engine: EngineFacts, since: str | None, *, unknown: bool = False) -> bool:
    """The engine is of this release or newer; ``unknown`` where one of them is not known."""
    version = features.release(engine)
    if version is None or since is None:
        return unknown
    return numbers(version) >= numbers(since)


def _cited(feature: str) -> str:
    row = features.feature(load_reference(), "nvidia-container-toolkit", feature)
    return cite(row, f"{row.engine}-{row.feature}")


RULES: tuple[Rule, ...] = (stale, too_new, name, switched_off)
