"""A container engine, and a container of it that sees the GPU."""

from envbuild.advice.fixes import container, docker, windows
from envbuild.advice.guide.base import Case, at_least, cite, line, looked, ps, state, wsl
from envbuild.advice.guide.windows import distribution_name
from envbuild.host.access import Containers, gpu_flags
from envbuild.matrix.load import load, load_reference
from envbuild.matrix.model.reference import EnginePackages
from envbuild.values.finding import Step
from envbuild.values.guide import Section
from envbuild.values.host import EngineFacts, Tool

_INSTALL = "engines/docker/install sourced"


def facts(case: Case, name: str) -> EngineFacts | None:
    """The engine of that name, one that answers before one that does not."""
    named = [e for e in (case.host.engines if case.host else ()) if e.name == name]
    return min(named, key=lambda e: not e.answers, default=None)


def name(case: Case) -> str:
    """The engine that the guide sets up: the one that was chosen, or answers; else docker."""
    if case.way in {"docker", "podman"}:
        return case.way
    podman, found = facts(case, "podman"), facts(case, "docker")
    only = podman is not None and podman.answers and not (found is not None and found.answers)
    return "podman" if only and case.way == "" else "docker"


def is_desktop(engine: EngineFacts) -> bool:
    """Docker Desktop's own machine, not a server of this system."""
    return "docker desktop" in (engine.system or "").lower()


def _since(engine: str, feature: str) -> str | None:
    every = load_reference().engines
    return next((r.since for r in every if (r.engine, r.feature) == (engine, feature)), None)


def flags(case: Case) -> tuple[str, ...]:
    """The words that bring the GPU into a container: a CDI name where the engine takes one."""
    engine = name(case)
    if case.plan.platform.startswith("jetson"):
        return gpu_flags("docker", "nvidia-runtime")
    found = facts(case, engine)
    offered = found.access if found is not None and found.answers and not is_desktop(found) else ()
    if engine == "podman" or "cdi" in offered:
        return gpu_flags(engine, "cdi")
    version = found.version if found is not None and found.answers else None
    new = at_least(version, _since("docker", "cdi-default"))
    return gpu_flags(
        engine, offered[0] if offered and not new else "gpus" if new is False else "cdi"
    )


def small_image(case: Case) -> str:
    """A plain system: nvidia-smi and the driver's libraries come in with the GPU."""
    known = {row.id: row for row in load().oses}
    here = case.os.image if case.os is not None else None
    return here or known["ubuntu24.04"].image or ""


def desktop(case: Case) -> Section | None:
    """The first way on WSL: Docker Desktop."""
    if case.way not in {"", "docker-desktop"}:
        return None
    found = facts(case, "docker")
    known = is_desktop(found) if found is not None and found.answers and found.system else None
    return Section(
        id="docker-desktop",
        title="Docker Desktop runs, with its WSL integration",
        why="the shorter way: one installer, and no container toolkit in Linux. Take this way or "
        "that of an engine in the distribution, not both",
        runs_in="powershell",
        steps=windows.docker_desktop(
            wsl("docker-desktop-package"), wsl("docker-desktop-switch"), distribution_name(case)
        ),
        test="(docker.exe info --format '{{.OperatingSystem}}') -eq 'Docker Desktop'",
        fails="Docker Desktop is not started, or runs Windows containers: switch to Linux "
        "containers in its menu",
        state=state(known),
        seen=f"docker {found.version} of Docker Desktop" if known and found is not None else "",
        way="docker-desktop",
        source=cite("docker-desktop", "docker-desktop-package", "docker-desktop-switch"),
    )


def docker_engine(case: Case) -> Section | None:
    """Docker Engine in the system itself."""
    row = _row(case)
    if case.way == "docker-desktop" or name(case) != "docker":
        return None
    found = facts(case, "docker")
    here = found.answers and not is_desktop(found) if found is not None else None
    if found is None and looked(case.host, "engines"):
        here = False
    asleep = found is not None and not found.answers
    steps: tuple[Step, ...] = (docker.started(), docker.group())
    if not asleep:
        steps = docker.steps(row, case.os) if row and case.os else (_by_hand(), *steps)
    return Section(
        id="docker",
        title="Docker Engine answers",
        why="its own packages hold BuildKit and read CDI; those of the system may be too old",
        steps=steps,
        # A client that reaches no daemon prints an empty line.
        test="docker info --format '{{.OperatingSystem}}' | grep -Eqv '^$|Docker Desktop'",
        fails="permission denied: the group counts from the next login on, so open a new terminal "
        "and go on there. Cannot connect: sudo systemctl status docker says why",
        state=state(here),
        seen=f"docker {found.version or ''} {found.says or 'answers'}" if found else "",
        way="docker" if case.kind == "wsl2" else "",
        source=f"engine_packages/docker/{row.name} {row.status}" if row else _INSTALL,
    )


def _by_hand() -> Step:
    every = load_reference().engines
    says = next(r.says for r in every if (r.engine, r.feature) == ("docker", "install"))
    return Step(
        why="no row is about the packages of this system",
        text=f"install {says}",
        check="docker --version",
    )


def podman(case: Case) -> Section | None:
    """Podman from the system's own packages, where it was chosen or is there."""
    since = _since("podman", "cdi")
    if name(case) != "podman" or since is None:
        return None
    found = facts(case, "podman")
    new = at_least(found.version, since) if found is not None and found.answers else None
    if found is None and looked(case.host, "engines"):
        new = False
    return Section(
        id="podman",
        title=f"Podman {since} or newer",
        why="the first that reads CDI; it needs neither a server nor root",
        steps=(
            Step(
                why="podman comes with the system; one that is too old means a newer system",
                text=f"install podman {since} or newer from the packages of this system",
                check="podman --version",
            ),
        ),
        test=f"printf '%s\\n' {since} \"$(podman version --format '{{{{.Client.Version}}}}' "
        '2>/dev/null)" | sort -CV',
        fails="podman is not there, or older: this system has none that can lend a GPU, so take "
        "--engine docker",
        state=state(new),
        seen=f"podman {found.version or ''} {found.says or 'answers'}" if found else "",
        source="engines/podman/cdi sourced",
    )


def _system(case: Case) -> str | None:
    """The system's name, also of one that no row is about."""
    if case.os is not None:
        return case.os.id
    return case.host.os.id if case.host is not None else None


def _row(case: Case) -> EnginePackages | None:
    every = load_reference().engine_packages
    return next((row for row in every if case.os is not None and case.os.id in row.oses), None)


def container_toolkit(case: Case) -> Section | None:
    """The container toolkit, told to the engine."""
    if case.way == "docker-desktop":
        return None
    host = case.host
    engine = facts(case, name(case))
    known: bool | None = None
    if host is not None and looked(host, "engines", "toolkit"):
        known = engine is not None and bool(engine.access)
    tool = host.container_toolkit if host is not None else None
    jetson = case.plan.platform.startswith("jetson")
    cdi = "nvidia-ctk cdi list 2>/dev/null | grep -qx 'nvidia.com/gpu=all'"
    runtime = (
        "docker info --format '{{range $name, $r := .Runtimes}}{{$name}} {{end}}' | grep -qw nvidia"
    )
    only = ". On WSL there is the one name 'all', none by number" if case.kind == "wsl2" else ""
    return Section(
        id="container-toolkit",
        title="The container toolkit lends the GPU to the engine",
        why="it brings the driver's files into a container, which holds none of its own" + only,
        steps=_toolkit_steps(case),
        test=runtime if jetson else cdi,
        fails="nvidia-ctk is missing: its package was not installed. It names no GPU: the driver "
        "does not answer, see the sections above",
        state=state(known),
        seen=f"container toolkit {tool.version or ''}" if tool is not None else "",
        way="docker" if case.kind == "wsl2" else "",
        source=_packages(case),
    )


def _packages(case: Case) -> str:
    """The row that the container toolkit's packages are from."""
    jetson = "jetson" if case.kind == "jetson" else "linux"
    row = container.packages(load_reference(), Containers(os=_system(case), platform=jetson))
    if row is None:
        return "engines/nvidia-container-toolkit/install sourced"
    return f"container_packages/{row.manager} {row.status}"


def _toolkit_steps(case: Case) -> tuple[Step, ...]:
    """Install it, tell the engine, and describe the GPUs for CDI: all of it can be done again."""
    reference, engine = load_reference(), name(case)
    host = case.host
    tool = host.container_toolkit if host is not None else None
    here = Containers(
        engines=(facts(case, engine) or EngineFacts(name=engine),),
        toolkit=tool,
        os=_system(case),
        platform="jetson" if case.kind == "jetson" else "wsl2" if case.kind == "wsl2" else "linux",
        l4t=host.jetson.l4t if host is not None and host.jetson is not None else None,
    )
    bare = tuple(_bare(e) for e in here.engines)
    steps = container.steps(reference, _with(here, engines=bare))
    if engine == "docker" and case.kind != "jetson":
        known = tool or Tool(name="nvidia-container-toolkit")
        podman = EngineFacts(name="podman", answers=True)
        steps += container.steps(reference, _with(here, engines=(podman,), toolkit=known))
    return steps


def _bare(engine: EngineFacts) -> EngineFacts:
    """The engine once it answers, before it can lend a GPU."""
    from envbuild.values.codec import replace

    return replace(engine, answers=True, access=())


def _with(here: Containers, **changes: object) -> Containers:
    from envbuild.values.codec import replace

    return replace(here, **changes)


def container_gpu(case: Case) -> Section | None:
    """A container that sees the GPU."""
    if case.way == "docker-desktop":
        return None
    engine, image = name(case), small_image(case)
    run = line(engine, "run", "--rm", *flags(case), image)
    jetson = case.kind == "jetson"
    # A Jetson's older releases have no nvidia-smi; its driver's library is there in all of them.
    look = "sh -c 'ls /usr/lib/aarch64-linux-gnu/tegra*/libcuda.so* >/dev/null'"
    return Section(
        id="container-gpu",
        title="A container sees the GPU",
        why="a plain system without any NVIDIA package: all that it sees was lent to it",
        steps=(
            Step(
                why="the flags that every container needs from now on",
                argv=("sh", "-c", f"{run} {look if jetson else 'nvidia-smi -L'}"),
                check="a line 'GPU 0: ...' with the card" if not jetson else "no error",
            ),
        ),
        test=f"{run} {look}" if jetson else f"{run} nvidia-smi -L | grep -q '^GPU 0'",
        fails="'could not select device driver' or 'unresolvable CDI devices': the section above "
        "failed, or docker was not restarted since. 'Failed to initialize NVML': envbuild doctor",
        way="docker" if case.kind == "wsl2" else "",
        source="engines/docker/cdi-default sourced",
    )


def desktop_gpu(case: Case) -> Section | None:
    """The same with Docker Desktop, which takes no CDI name from a distribution."""
    if case.way not in {"", "docker-desktop"}:
        return None
    run = ("docker.exe", "run", "--rm", "--gpus", "all", small_image(case))
    quoted = " ".join(
        word if word.replace(".", "").isalnum() or word[0] == "-" else ps(word) for word in run
    )
    return Section(
        id="desktop-gpu",
        title="A container of Docker Desktop sees the GPU",
        why="Docker Desktop sees no CDI specification of a distribution: the flag is --gpus all",
        runs_in="powershell",
        steps=(
            Step(
                why="the flag that every container needs from now on",
                argv=(*run, "nvidia-smi", "-L"),
                check="a line 'GPU 0: ...' with the card",
            ),
        ),
        test=f"[bool]({quoted} nvidia-smi -L | Select-String -Quiet '^GPU 0')",
        fails="the Windows driver or WSL is too old: see the first sections",
        way="docker-desktop",
        source=cite("docker-desktop"),
    )


def rootless(case: Case) -> Section | None:
    """Docker without root, for those who want it."""
    row = _row(case)
    if case.way not in {"", "docker"} or row is None or not row.rootless or name(case) != "docker":
        return None
    found = facts(case, "docker")
    return Section(
        id="rootless",
        title="Docker without root",
        why="a server that runs as you; with CDI it needs no setting of its own. Never set "
        "no-cgroups while a docker with root is used: that one would get no GPU then",
        steps=docker.rootless(row),
        test="docker --context rootless info --format '{{.SecurityOptions}}' | grep -q rootless",
        fails="the program says what is missing: often newuidmap, or it was run as root",
        state=state(True if found is not None and found.rootless else None),
        optional=True,
        source=f"engine_packages/docker/{row.name} {row.status}",
    )
