"""A container engine, and a container of it that sees the GPU."""

from envbuild.advice.fixes import container, docker, windows
from envbuild.advice.guide.base import Case, at_least, cite, line, ps, state, wsl
from envbuild.advice.guide.windows import distribution_name
from envbuild.host.access import gpu_flags
from envbuild.matrix.load import load, load_reference
from envbuild.matrix.model.reference import EnginePackages
from envbuild.values.guide import Section
from envbuild.values.host import EngineFacts


def facts(case: Case, name: str) -> EngineFacts | None:
    """The engine of that name, one that answers before one that does not."""
    named = [e for e in (case.host.engines if case.host else ()) if e.name == name]
    return min(named, key=lambda e: not e.answers, default=None)


def is_desktop(engine: EngineFacts) -> bool:
    """Docker Desktop's own machine, not a server of this system."""
    return "docker desktop" in (engine.system or "").lower()


def rows(case: Case) -> EnginePackages | None:
    """How docker is installed on the system, None where no row is about it."""
    every = load_reference().engine_packages
    return next((row for row in every if case.os and case.os.id in row.oses), None)


def flags(case: Case, engine: str) -> tuple[str, ...]:
    """The words that bring the GPU into a container of this engine."""
    if case.plan.platform.startswith("jetson"):
        return gpu_flags("docker", "nvidia-runtime")
    found = facts(case, engine)
    offered = found.access if found is not None and found.answers else ()
    way = "cdi" if "cdi" in offered or engine == "podman" or not offered else offered[0]
    return gpu_flags(engine, way)


def small_image(case: Case) -> str:
    """A plain system: nvidia-smi and the driver's libraries come in with the GPU."""
    os = case.os if case.os is not None and case.os.image is not None else None
    known = {row.id: row for row in load().oses}
    return (os or known["ubuntu24.04"]).image or ""


def desktop(case: Case) -> Section | None:
    """The first way on WSL: Docker Desktop."""
    if case.way not in {"", "docker-desktop"}:
        return None
    found = facts(case, "docker")
    known = found.answers and is_desktop(found) if found is not None and found.system else None
    return Section(
        id="docker-desktop",
        title="Docker Desktop runs, with its WSL integration",
        why="the shorter way: one installer, and no container toolkit in Linux. Take this one or "
        "the engine in the distribution, not both",
        shell="powershell",
        steps=windows.docker_desktop(
            wsl("docker-desktop-package"), wsl("docker-desktop-switch"), distribution_name(case)
        ),
        test="(docker.exe info --format '{{.OperatingSystem}}') -eq 'Docker Desktop'",
        fails="Docker Desktop is not started, or runs Windows containers: switch to Linux "
        "containers in its menu",
        state=state(known),
        way="docker-desktop",
        source=cite("docker-desktop", "docker-desktop-package", "docker-desktop-switch"),
    )


def docker(case: Case) -> Section | None:
    """Docker Engine in the system itself."""
    if case.way not in {"", "docker"} or case.os is None:
        return None
    row, found = rows(case), facts(case, "docker")
    if row is None:
        return None
    here = found.answers and not is_desktop(found) if found is not None else None
    if case.host is not None and found is None and any(p.name == "engines" for p in case.host.probes):
        here = False
    return Section(
        id="docker",
        title="Docker Engine runs in this system",
        why="docker's own packages hold BuildKit and read CDI; those of the system may be too old",
        steps=docker_steps(row, case),
        test="docker info --format '{{.OperatingSystem}}' | grep -qv 'Docker Desktop'",
        fails="permission denied: the group counts from the next login on, so open a new terminal "
        "and run this again. Cannot connect: sudo systemctl status docker says why",
        state=state(here),
        seen=f"docker {found.version or ''}: {found.says or 'answers'}" if found else "",
        way="docker" if case.kind == "wsl2" else "",
        source=f"engine_packages/docker/{row.name} {row.status}",
    )


def docker_steps(row: EnginePackages, case: Case) -> tuple:
    """Start it where it is installed, else install it."""
    assert case.os is not None
    return docker_fix(row, case)


def container_toolkit(case: Case) -> Section | None:
    """The container toolkit, told to the engine."""
    if case.way == "docker-desktop":
        return None
    return Section(
        id="container-toolkit",
        title="The container toolkit describes the GPU to the engine",
        why="it brings the driver's files into a container",
        steps=(),
        test="nvidia-ctk cdi list 2>/dev/null | grep -q '^nvidia.com/gpu=all$'",
        fails="",
    )
