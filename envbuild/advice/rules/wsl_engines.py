"""WSL 2 and container engines: that of a distribution, and Docker Desktop."""

from collections.abc import Iterator

from envbuild.advice.fixes import windows, wsl
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene
from envbuild.matrix.load import load_reference
from envbuild.matrix.model.reference import WslNeed
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts


def need(what: str) -> WslNeed:
    """The row of `wsl.yaml` about a matter."""
    return next(row for row in load_reference().wsl if row.what == what)


def cited(what: str) -> str:
    """That row as a source."""
    return f"wsl/{what} {need(what).status}"


def in_linux(scene: Scene) -> bool:
    """In the distribution itself, not in a container on it."""
    return scene.wsl2 and scene.host.inside_container is None


def no_systemd(scene: Scene) -> Iterator[Advice]:
    """Docker was installed in a distribution where nothing starts services."""
    linux, engine = scene.host.wsl, scene.engine("docker")
    if not in_linux(scene) or linux is None or linux.systemd is not False or engine is None:
        return
    own = {"docker-ce", "docker.io"} & {name for name, _ in scene.host.packages}
    if engine.answers or not own:
        return
    yield advice(
        "wsl-systemd",
        "warn",
        "docker is installed in this distribution and does not run: systemd is off here",
        why="Services are started by systemd, which a distribution of WSL may be without.",
        steps=(
            wsl.systemd(),
            windows.restart_wsl("systemd begins with the start of the distribution"),
            Step(
                why="docker starts with the distribution from then on",
                argv=("sudo", "systemctl", "enable", "--now", "docker"),
                check="docker info: it names a server",
            ),
        ),
        source=cited("systemd"),
        explains=("container-engine",),
    )


def two_engines(scene: Scene) -> Iterator[Advice]:
    """Docker Desktop and an engine of the distribution's own: one client, two servers."""
    engine = scene.engine("docker")
    own = sorted({"docker-ce", "docker.io"} & {name for name, _ in scene.host.packages})
    if not in_linux(scene) or engine is None or not own or not _desktop(engine):
        return
    yield advice(
        "wsl-two-engines",
        "warn",
        f"Docker Desktop answers, and {own[0]} is installed in this distribution, too",
        why="They are two separate ways: what is configured for one (container toolkit, CDI, "
        "daemon.json), the other does not read.",
        steps=(
            Step(
                why="keep one: either Docker Desktop, and remove the engine of the distribution",
                argv=("sudo", "apt-get", "remove", "-y", *own),
                check="docker info: Operating System: Docker Desktop",
            ),
            Step(
                why="or the engine of the distribution",
                text="in Docker Desktop: Settings > Resources > WSL Integration: turn this "
                "distribution off",
                check="docker info: Operating System: that of this distribution",
            ),
        ),
        source=cited("docker-desktop-switch"),
    )


def desktop_takes_no_names(scene: Scene) -> Iterator[Advice]:
    """Docker Desktop does not read the CDI specifications of a distribution."""
    seen, engine = scene.saw("cdi-unresolvable"), scene.engine("docker")
    if seen is None or engine is None or not _desktop(engine) or scene.native:
        return
    row = need("docker-desktop")
    yield advice(
        "docker-desktop-cdi",
        "error",
        "Docker Desktop does not see the CDI specifications that nvidia-ctk wrote in Linux",
        why=f"{row.says[:1].upper()}{row.says[1:]}. {where(seen)}",
        steps=(
            Step(
                why="its own way to the GPU",
                text="start the container with --gpus all in place of --device nvidia.com/gpu=...",
                check="nvidia-smi in it shows the card",
            ),
        ),
        source=cited("docker-desktop"),
        explains=("cdi-unresolvable", "cdi-name", "cdi-stale"),
    )


def _desktop(engine: EngineFacts) -> bool:
    return engine.system == "Docker Desktop" or "desktop" in (engine.context or "")


RULES: tuple[Rule, ...] = (no_systemd, two_engines, desktop_takes_no_names)
