"""How a GPU comes into a container: which daemon answers, and whether it knows of the GPU."""

from collections.abc import Iterator

from envbuild.advice.fixes import container, docker, features
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice, cdi, compat, confine
from envbuild.advice.rules.fit import NO_GPU
from envbuild.advice.scene import Scene
from envbuild.host.access import Containers, containers, is_snap, knows_no_cdi, lack, taken
from envbuild.matrix.load import load, load_reference
from envbuild.planner.table import cite
from envbuild.values.codec import replace
from envbuild.values.diagnosis import Seen
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts

_WITHIN = ("torch-no-driver", "cuda-100", "libcuda-stub")


def desktop_on_linux(scene: Scene) -> Iterator[Advice]:
    """Docker Desktop for Linux runs containers in a machine of its own, without the GPU."""
    engine = scene.engine("docker")
    if engine is None or not scene.native or not _is_desktop(engine) or not scene.host.gpus:
        return
    seen = scene.saw(*NO_GPU)
    rows = load_reference()
    row = features.feature(rows, "docker-desktop", "gpu")
    own = "/run/docker.sock" in scene.host.sockets or "docker-ce" in dict(scene.host.packages)
    yield advice(
        "docker-desktop-linux",
        "error" if seen else "warn",
        f"the docker client talks to Docker Desktop ({engine.context or 'its context'}), whose "
        "containers run in a virtual machine without the GPU",
        why=f"It gives {row.says}. The driver and the container toolkit of this machine are not "
        f"asked. {_where(seen)}",
        steps=(*(() if own else _engine(scene)), _context()),
        source=cite(row, f"{row.engine}-{row.feature}"),
        explains=NO_GPU,
    )


def _is_desktop(engine: EngineFacts) -> bool:
    return "desktop" in (engine.context or "") or engine.system == "Docker Desktop"


def _context() -> Step:
    return Step(
        why="let the client talk to Docker Engine, the daemon of this system",
        argv=("docker", "context", "use", "default"),
        check="docker info --format {{.OperatingSystem}}: this system, not Docker Desktop",
    )


def _engine(scene: Scene) -> tuple[Step, ...]:
    """Docker Engine beside Docker Desktop."""
    os = next((row for row in load().oses if row.id == scene.host.os.id), None)
    packed = next(
        (row for row in load_reference().engine_packages if os is not None and os.id in row.oses),
        None,
    )
    if os is not None and packed is not None:
        return docker.steps(packed, os)
    guide = features.feature(load_reference(), "docker", "install")
    return (
        Step(
            why="Docker Engine runs on this system itself, where the GPU is",
            text=f"install {guide.says}",
            check="systemctl is-active docker: active",
        ),
    )


def snap(scene: Scene) -> Iterator[Advice]:
    """Docker from snap is confined: it sees its own container toolkit alone."""
    engine, here = scene.engine("docker"), containers(scene.host)
    if engine is None or here is None or not _is_snap(engine):
        return
    seen, rows = scene.saw(*NO_GPU), load_reference()
    if seen is None and engine.access:
        return
    row = features.feature(rows, "docker-snap", "own-toolkit")
    bare = replace(engine, cli=engine.cli if is_snap(engine) else "/snap/bin/docker", access=())
    steps = container.steps(rows, replace(here, engines=(bare,)))
    yield advice(
        "docker-snap",
        "error" if seen else "warn",
        f"docker is a snap here ({engine.daemon or engine.cli}), which does not see the driver's "
        "libraries as this system has them",
        why=f"A snap is confined: {row.says}. {_where(seen)}",
        steps=steps,
        source=cite(row, f"{row.engine}-{row.feature}"),
        explains=(*NO_GPU, "container-toolkit-missing", "container-toolkit-not-configured"),
    )


def snap_beside_packages(scene: Scene) -> Iterator[Advice]:
    """A snap of docker breaks where the system has the container toolkit, too."""
    engine, here = scene.engine("docker"), containers(scene.host)
    if engine is None or here is None or here.toolkit is None or not _is_snap(engine):
        return
    rows = load_reference()
    beside, row = (
        features.feature(rows, "docker-snap", "toolkit-of-the-system"),
        container.packages(rows, here),
    )
    if row is None or row.manager != "apt" or not cdi.at_least(engine, beside.since):
        return
    yield advice(
        "docker-snap-toolkit",
        "warn",
        f"docker {engine.version} is a snap: {beside.says}",
        why="The two toolkits are in each other's way.",
        steps=(
            Step(
                why="the snap brings its own; podman and other engines here lose theirs",
                argv=("sudo", "apt-get", "remove", "-y", *row.packages),
                check="docker run --rm --runtime=nvidia ubuntu nvidia-smi -L, after a restart",
            ),
        ),
        source=cite(beside, f"{beside.engine}-{beside.feature}"),
    )


def _is_snap(engine: EngineFacts) -> bool:
    return is_snap(engine) or (engine.daemon or "").startswith("/snap/")


def no_way(scene: Scene) -> Iterator[Advice]:
    """The engine has no way to the GPU: no toolkit, not told of it, or nobody answers."""
    here = containers(scene.host)
    missing = lack(here) if here is not None else ""
    seen = scene.saw(*NO_GPU, *_WITHIN) if scene.saw("container-log") else scene.saw(*NO_GPU)
    if here is None or missing in {"", "engine"} or (here.inside is not None and not taken(here)):
        return
    engine = (taken(here) or here.engines)[0]
    driven = scene.driver_works or scene.jetson
    if _is_snap(engine) or _is_desktop(engine) or not (driven or seen):
        return
    rows = load_reference()
    packed = container.packages(rows, here)
    guide = features.feature(rows, "nvidia-container-toolkit", "install")
    id, says = _told(here, engine, missing)
    broken = missing != "answer" and seen is not None
    yield advice(
        id,
        "error" if broken else "warn",
        says,
        why=("The driver works; its containers get no GPU. " if driven else "") + _where(seen),
        steps=container.steps(rows, here),
        source=cite(packed, packed.manager)
        if packed is not None
        else cite(guide, f"{guide.engine}-{guide.feature}"),
        explains=NO_GPU if missing != "answer" else (),
    )


def _told(here: Containers, engine: EngineFacts, missing: str) -> tuple[str, str]:
    named = " ".join(filter(None, (engine.name, engine.version)))
    if here.remote and missing != "answer":
        says = f"{named}, asked over {here.remote}, gives its containers no GPU"
        return "container-toolkit-not-configured", says
    if missing == "answer":
        return "container-engine", f"{engine.name} does not answer: {engine.says or 'no word'}"
    if missing == "toolkit":
        says = "the NVIDIA container toolkit is not installed"
        return "container-toolkit-missing", f"{named} gives its containers no GPU: {says}"
    version = here.toolkit.version if here.toolkit is not None else None
    lacks = (
        "this podman is older than CDI"
        if knows_no_cdi(engine)
        else "no CDI specification describes the GPUs"
        if engine.name == "podman"
        else "docker was not told of it, or not restarted since"
    )
    says = f"container toolkit {version or ''} is here, and {lacks}"
    return "container-toolkit-not-configured", f"{named} gives its containers no GPU: {says}"


def _where(seen: Seen | None) -> str:
    return where(seen) if seen is not None else ""


RULES: tuple[Rule, ...] = (
    desktop_on_linux,
    snap,
    snap_beside_packages,
    *confine.RULES,
    *cdi.RULES,
    no_way,
    *compat.RULES,
)
