"""Steps to a container engine that answers: install one, start it, or reach the right one."""

from collections.abc import Iterator

from envbuild.advice.fixes import docker
from envbuild.advice.fixes.features import below, feature, release
from envbuild.host.access import Containers, is_snap
from envbuild.matrix.model.reference import Reference
from envbuild.planner.ranges import numbers
from envbuild.values.codec import replace
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts, Tool

_GROUP = 'groupadd -f docker && usermod -aG docker "$SUDO_USER"'


def start(here: Containers) -> Step:
    """The engine is there and nobody answers."""
    engine = next((e for e in here.engines if not e.answers), None)
    name = engine.name if engine is not None else "docker"
    said = engine.says if engine is not None else ""
    check = "docker info: it names a server" if name == "docker" else f"{name} info"
    if "permission denied" in said.lower():
        return _permitted(check, snap=engine is not None and is_snap(engine))
    if "no answer" in said.lower():
        return Step(
            why=f"{name} hangs or is slow: nobody says that it is stopped",
            text=f"look what it does (journalctl -u {name} -n 50), then ask again with more time: "
            "ENVBUILD_PROBE_TIMEOUT=60 envbuild detect",
            check=check,
        )
    if name != "docker":
        return Step(why=f"it said: {said}", text=f"make {name} work", check=check)
    if here.platform == "wsl2":
        text = (
            "start Docker Desktop and switch on its WSL integration for this distribution, or, "
            "where docker is installed in the distribution: sudo service docker start"
        )
        return Step(why="nothing answers behind this docker client", text=text, check=check)
    if engine is not None and is_snap(engine):
        return Step(
            why="docker is not running", argv=("sudo", "snap", "start", "docker"), check=check
        )
    return Step(
        why="docker is not running; it starts now and with the machine (without root instead: "
        "systemctl --user enable --now docker)",
        argv=("sudo", "systemctl", "enable", "--now", "docker"),
        check=check,
    )


def _permitted(check: str, *, snap: bool) -> Step:
    why = "only root and the group docker may ask it; whoever is in that group has root's rights "
    why += "on this machine. It counts from the next login on"
    again = " && snap disable docker && snap enable docker" if snap else ""
    if snap:
        why += "; the snap reads the group when it starts, and its containers stop"
    return Step(why=why, argv=("sudo", "sh", "-c", f"{_GROUP}{again}"), check=check)


def elsewhere(here: Containers) -> Step:
    """The server is on another machine: what is set up here does not reach it."""
    return Step(
        why=f"docker's server is asked over {here.remote}, so that it may be on another machine",
        text="there: envbuild detect --json > host.json, and here: envbuild plan --host host.json; "
        "or, for the docker of this machine: unset DOCKER_HOST && docker context use default",
        check="docker info --format '{{.Name}}': the name of the machine that you mean",
    )


def engine(rows: Reference, here: Containers) -> Iterator[Step]:
    """Install an engine that this system has, in a release that takes a GPU."""
    if here.platform == "jetson":
        yield _on_jetson(rows, here)
        return
    packed = _docker(rows, here)
    podman = _podman(rows, here)
    if podman is None and packed:
        if here.platform == "wsl2":
            yield _either()
        yield from packed
        return
    guide = feature(rows, "docker", "install").says
    text = f"{podman}, or {guide}" if podman is not None else guide
    desktop = "; or Docker Desktop, and skip the rest" if here.platform == "wsl2" else ""
    info = "docker info: it names a server"
    yield Step(
        why="an engine starts the containers",
        text=f"install {text}{desktop}",
        check=f"podman info, without an error; or {info}" if podman is not None else info,
    )


def installed(rows: Reference, here: Containers) -> EngineFacts:
    """What `engine` leads to: this system's podman, or the newest docker where that is too old."""
    if _podman(rows, here) is None:
        return EngineFacts(name="docker")
    return EngineFacts(name="podman", version=feature(rows, "podman", f"of-{here.os}").since)


def _podman(rows: Reference, here: Containers) -> str | None:
    """The podman to install; None = that of this system is too old, or there is none."""
    least = feature(rows, "podman", "cdi").since
    row = feature(rows, "podman", f"of-{here.os}")
    if not row.source:
        return f"podman, where this system's own packages have {least} or newer"
    if row.since is None or below(row.since, least):
        return None
    return f"podman of this system's own packages ({row.since})"


def _docker(rows: Reference, here: Containers) -> tuple[Step, ...]:
    """Docker Engine of its own repository, step by step, where that is known for this system."""
    from envbuild.matrix.load import load

    os = next((row for row in load().oses if here.os in (row.id, *row.aliases)), None)
    packed = next((r for r in rows.engine_packages if os is not None and os.id in r.oses), None)
    if packed is None or os is None:
        return ()
    # A distribution in WSL may run without systemd; `service` works with and without it.
    argv = ("sudo", "service", "docker", "start")
    steps = docker.steps(packed, os)
    return tuple(
        replace(step, argv=argv, check="docker info: it names a server")
        if here.platform == "wsl2" and step == docker.started()
        else step
        for step in steps
    )


def _either() -> Step:
    return Step(
        why="on WSL either docker serves, not both",
        text="Docker Desktop on Windows, with its WSL integration on for this distribution: then "
        "leave out all other steps, and its flag is --gpus all; or docker in here: go on",
        check="docker info: it names a server, once there is one",
    )


def _on_jetson(rows: Reference, here: Containers) -> Step:
    """Docker, as a Jetson's lists of files are read by its nvidia runtime."""
    guide = feature(rows, "docker", "install").says
    text, check = f"install {guide}", "docker info: it names a server"
    if lacks_raw(rows, here):
        new, line = (feature(rows, name, "iptables-raw").since for name in ("docker", "l4t"))
        text += (
            f", in a release before {new} (apt-cache madison docker-ce lists them), and hold it: "
            f"apt-mark hold docker-ce. From L4T {line} on, the newest works"
        )
        check += f", older than {new}"
    return Step(why="an engine starts the containers", text=text, check=check)


def lacks_raw(rows: Reference, here: Containers) -> bool:
    """The kernel of this Jetson lacks what newer dockers need."""
    line = release(Tool(name="l4t", version=(here.l4t or "").lstrip("rR")))
    return here.platform == "jetson" and below(line, feature(rows, "l4t", "iptables-raw").since)


def needs_raw(rows: Reference, version: str | None) -> bool:
    """A docker of this release needs the table raw of iptables."""
    since = feature(rows, "docker", "iptables-raw").since
    return version is not None and since is not None and numbers(version) >= numbers(since)
