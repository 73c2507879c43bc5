"""Steps from what a machine has to a container that gets its GPU.

Packages, repositories and keys are rows (`engines.yaml`); every step can be done twice.
"""

import re
from collections.abc import Iterator

from envbuild.advice.fixes import repository
from envbuild.host.access import Containers, is_snap, lack, taken
from envbuild.matrix.model.reference import ContainerPackages, EngineFeature, Reference
from envbuild.planner.ranges import numbers
from envbuild.values.codec import replace
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts

_RPM = {"dnf": "/etc/yum.repos.d", "zypper": "/etc/zypp/repos.d"}
_INSTALL = {
    "apt": ("apt-get", "install", "-y"),
    "dnf": ("dnf", "install", "-y"),
    "zypper": ("zypper", "--non-interactive", "--gpg-auto-import-keys", "install"),
    "pacman": ("pacman", "-S", "--needed", "--noconfirm"),
}
_USER_CONFIG = "$HOME/.config/docker"
_NO_CGROUPS = "nvidia-container-cli.no-cgroups"
_SOCKET_OF_ROOT = "/run/docker.sock"


def steps(rows: Reference, here: Containers) -> tuple[Step, ...]:
    """All that is to do on this machine, in order, so that a container can have its GPU.

    Args:
        rows: packages and releases.
        here: the machine, as probes found it.

    Returns:
        the steps; none either where a container without an engine can do nothing about it.
    """
    missing = lack(here)
    if not missing or (here.inside is not None and missing in {"engine", "answer"}):
        return ()
    if here.platform == "windows":
        return (_desktop(rows),)
    return tuple(_steps(rows, here, missing))


def install(rows: Reference, here: Containers) -> tuple[Step, ...]:
    """The container toolkit in its newest release, whether an older one is there or none."""
    row = packages(rows, here)
    return tuple(_install(row)) if row is not None else (_by_hand(rows),)


def update(rows: Reference, here: Containers) -> tuple[Step, ...]:
    """A newer container toolkit for the one that is there; nothing where there is none.

    JetPack 4 ends with 1.7.0. Later ones may take the vendor's own repository, which is ahead of
    JetPack's.
    """
    if here.platform == "jetson" and _line(here) == "32":
        return ()
    return install(rows, replace(here, platform="linux", l4t=None))


def packages(rows: Reference, here: Containers) -> ContainerPackages | None:
    """The row of this machine's system; None = no row is about it."""
    name = (here.os or "").lower().rstrip("0123456789.-")
    jetson, line = here.platform == "jetson", _line(here)
    found = [
        row
        for row in rows.container_packages
        if (row.platform == "jetson") is jetson
        and (jetson or name in row.systems)
        and row.l4t in {"", line}
    ]
    # The row of the very L4T line goes before that of all others.
    return max(found, key=lambda row: row.l4t, default=None)


def _steps(rows: Reference, here: Containers, missing: str) -> Iterator[Step]:
    found = taken(here)
    if missing == "answer":
        yield _start(here)
    elif missing == "engine":
        yield _engine(rows, here)
    if any(map(is_snap, found or here.engines)):
        yield from _snap(rows) if missing != "answer" else ()
        return
    # What else it lacks shows when it answers; Docker Desktop, on WSL, lacks nothing more.
    if missing == "answer" and (here.toolkit is not None or here.platform == "wsl2"):
        return
    if here.toolkit is None:
        yield from install(rows, here)
    names = {e.name for e in found or here.engines}
    jetpack4 = here.platform == "jetson" and _line(here) == "32"
    if jetpack4 and names and "docker" not in names:
        yield _engine(rows, here)  # its toolkit knows no CDI, which podman needs
    if jetpack4 or "docker" in names or (here.platform == "jetson" and not names):
        yield from _docker(here, found or here.engines)
    else:
        yield from _podman(rows, found[0] if found else None)


def _install(row: ContainerPackages) -> Iterator[Step]:
    """The vendor's repository where the system's own has no package; then the packages."""
    if row.url is not None and row.manager == "apt":
        yield from repository.signed("nvidia-container-toolkit", row.url, row.key_url, row.key)
    elif row.url is not None:
        file = f"{_RPM[row.manager]}/nvidia-container-toolkit.repo"
        yield Step(
            why="add the vendor's repository; what it lists is signed",
            argv=("sudo", "curl", "-fsSLo", file, row.url),
            check=f"grep gpgkey {file}: {row.key_url}",
        )
    elif row.manager == "apt":
        yield repository.update()
    signed = f"; where a key is asked about, it is {row.key}" if row.manager in _RPM else ""
    toolkit = "nvidia-ctk --version" if row.l4t != "32" else "nvidia-container-cli --version"
    yield Step(
        why=f"install the container toolkit{signed}",
        argv=("sudo", *_INSTALL[row.manager], *row.packages),
        check=toolkit,
    )


def _by_hand(rows: Reference) -> Step:
    guide = _feature(rows, "nvidia-container-toolkit", "install")
    return Step(
        why="no row is about the packages of this system",
        text=f"install {guide}",
        check="nvidia-ctk --version",
    )


def _docker(here: Containers, clients: tuple[EngineFacts, ...]) -> Iterator[Step]:
    """Tell docker of the toolkit's runtime; a server with root goes before one without."""
    if here.platform == "jetson" and _line(here) == "32":
        yield Step(
            why="JetPack 4 has no nvidia-ctk that tells docker of the toolkit's runtime",
            text='where /etc/docker/daemon.json does not say so, add to it: "runtimes": '
            '{"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": []}}',
            check="grep nvidia /etc/docker/daemon.json",
        )
        yield _restart(here)
        return
    if clients and all(e.rootless for e in clients):
        yield from _rootless()
        return
    yield Step(
        why="tell docker of the toolkit's runtime; /etc/docker/daemon.json keeps what else it says",
        argv=("sudo", "nvidia-ctk", "runtime", "configure", "--runtime=docker"),
        check="grep nvidia /etc/docker/daemon.json",
    )
    yield _restart(here)


def _restart(here: Containers) -> Step:
    way = "--runtime=nvidia" if here.platform == "jetson" else "--gpus all"
    seen = "nvidia-smi -L" if here.platform != "jetson" else "true"
    # A distribution in WSL may run without systemd; `service` works with and without it.
    wsl = here.platform == "wsl2"
    restart = ("service", "docker", "restart") if wsl else ("systemctl", "restart", "docker")
    return Step(
        why="docker reads that when it starts; containers that run now stop",
        argv=("sudo", *restart),
        check=f"docker run --rm {way} ubuntu {seen}",
    )


def _rootless() -> Iterator[Step]:
    file = f'"{_USER_CONFIG}/daemon.json"'
    configure = f"nvidia-ctk runtime configure --runtime=docker --config={file}"
    yield Step(
        why="tell the docker of this user, which runs without root, of the toolkit's runtime",
        argv=("sh", "-c", f'mkdir -p "{_USER_CONFIG}" && {configure}'),
        check=f"sh -c 'grep nvidia {file}'",
    )
    yield Step(
        why="docker reads that when it starts; containers that run now stop",
        argv=("systemctl", "--user", "restart", "docker"),
        check="docker info --format '{{json .Runtimes}}' names nvidia",
    )
    yield no_cgroups()


def no_cgroups() -> Step:
    """Let the hook work for a docker without root; never where one with root listens."""
    turn = f"sudo nvidia-ctk config --set {_NO_CGROUPS} --in-place"
    return Step(
        why="without root the hook may set no cgroups. This counts for the whole machine: a docker "
        "with root would get no GPU by the hook, so that nothing is done where one listens",
        argv=("sh", "-c", f"! test -S {_SOCKET_OF_ROOT} && {turn}"),
        check="docker run --rm --gpus all ubuntu nvidia-smi -L",
    )


def _podman(rows: Reference, engine: EngineFacts | None) -> Iterator[Step]:
    """A CDI specification, in the words of this podman; what docker of today reads too."""
    version = release(engine)
    since = _since(rows, "podman", "cdi")
    if version and since and numbers(version) < numbers(since):
        yield Step(
            why=f"podman {version} takes no CDI device; {since} is the first that does",
            text=f"install podman {since} or newer, or docker",
            check="podman --version",
        )
    newer = _since(rows, "podman", "cdi-0.7.0")
    plain = bool(version and newer and numbers(version) < numbers(newer))
    flag = ("--feature-flag", "no-additional-gids-for-device-nodes") if plain else ()
    old = f"; podman below {newer} does not read all that newer toolkits write" if plain else ""
    yield Step(
        why=f"describe the GPUs for CDI; again after a new driver or another MIG layout{old}",
        argv=("sudo", "nvidia-ctk", "cdi", "generate", *flag, "--output=/etc/cdi/nvidia.yaml"),
        check="nvidia-ctk cdi list: nvidia.com/gpu=all is among them",
    )


def _start(here: Containers) -> Step:
    """The engine is there and nobody answers."""
    engine = next((e for e in here.engines if not e.answers), None)
    name = engine.name if engine is not None else "docker"
    said = engine.says if engine is not None else ""
    check = "docker info: it names a server" if name == "docker" else f"{name} info"
    if "permission denied" in said.lower():
        return Step(
            why="only root and the group docker may ask it; whoever is in that group has root's "
            "rights on this machine. It counts from the next login on",
            argv=("sudo", "sh", "-c", 'groupadd -f docker && usermod -aG docker "$SUDO_USER"'),
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


def _engine(rows: Reference, here: Containers) -> Step:
    docker, least = _feature(rows, "docker", "install"), _since(rows, "podman", "cdi")
    podman = f"podman {least} or newer of this system's own packages, or "
    desktop = "; or Docker Desktop, and skip the rest" if here.platform == "wsl2" else ""
    # A Jetson's lists of files are read by docker's nvidia runtime.
    return Step(
        why="an engine starts the containers",
        text=f"install {'' if here.platform == 'jetson' else podman}{docker}{desktop}",
        check="docker info: it names a server",
    )


def _snap(rows: Reference) -> Iterator[Step]:
    yield Step(
        why=f"{_feature(rows, 'docker-snap', 'own-toolkit')}; newer ones set it up by themselves",
        argv=("sudo", "snap", "refresh", "docker"),
        check="docker info --format '{{json .Runtimes}}' names nvidia",
    )
    yield Step(
        why="where it still names none; the images and volumes of the snap go with it",
        text=f"sudo snap remove docker, then install {_feature(rows, 'docker', 'install')}",
        check="command -v docker: not below /snap",
    )


def _desktop(rows: Reference) -> Step:
    return Step(
        why=_feature(rows, "docker-desktop", "gpu"),
        text="install Docker Desktop and start it with the WSL 2 backend, or plan inside WSL",
        check="docker run --rm --gpus all ubuntu nvidia-smi -L",
    )


def _line(here: Containers) -> str:
    return (here.l4t or "").lstrip("rR").partition(".")[0]


def feature(rows: Reference, engine: str, name: str) -> EngineFeature:
    """What a row of `engines.yaml` says of an engine; without the row, that nothing is known."""
    found = (r for r in rows.engines if (r.engine, r.feature) == (engine, name))
    none = EngineFeature(engine=engine, feature=name, says=engine, source=(), status="derived")
    return next(found, none)


def _feature(rows: Reference, engine: str, name: str) -> str:
    return feature(rows, engine, name).says


def _since(rows: Reference, engine: str, name: str) -> str | None:
    return feature(rows, engine, name).since


def release(engine: EngineFacts | None) -> str | None:
    """The numbers that the version of an engine begins with; None = not known."""
    match = re.match(r"\d{1,6}(\.\d{1,6}){0,3}", (engine.version if engine else None) or "")
    return match[0] if match else None
