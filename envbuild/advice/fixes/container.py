"""Steps from what a machine has to a container that gets its GPU.

Packages, repositories and keys are rows (`engines.yaml`); every step can be done twice.
"""

from collections.abc import Iterator

from envbuild.advice.fixes import cdi, engines, repository
from envbuild.advice.fixes.features import below, feature, release
from envbuild.host.access import Containers, gpu_flags, is_snap, lack, new_way, taken
from envbuild.matrix.model.reference import ContainerPackages, Reference
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


def update(rows: Reference, here: Containers, least: str = "") -> tuple[Step, ...]:
    """A newer container toolkit for the one that is there; nothing where there is none.

    JetPack 4 ends with 1.7.0. Later ones may take the vendor's own repository, which is ahead of
    JetPack's. Engines that read only what older toolkits wrote go on getting that.

    Args:
        rows: packages and releases.
        here: the machine.
        least: the release that it must be afterwards.
    """
    if here.platform == "jetson" and _line(here) == "32":
        return ()
    row = packages(rows, replace(here, platform="linux", l4t=None))
    newer = tuple(_install(row, least)) if row is not None else (_by_hand(rows, least),)
    newest, old = replace(here, toolkit=None), cdi.plain_reader(rows, here.engines)
    return (*newer, *(cdi.described(rows, newest, old) if old is not None else ()))


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
    if here.remote:
        yield engines.elsewhere(here)
        return
    if missing == "answer":
        yield engines.start(here)
    elif missing == "engine":
        yield from engines.engine(rows, here)
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
        yield from engines.engine(rows, here)  # its toolkit knows no CDI, which podman needs
    if jetpack4 or "docker" in names or (here.platform == "jetson" and not names):
        yield from _docker(rows, here, found or here.engines)
    else:
        yield from _cdi(rows, here, found[0] if found else engines.installed(rows, here))


def _install(row: ContainerPackages, least: str = "") -> Iterator[Step]:
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
        why=f"{'update' if least else 'install'} the container toolkit{signed}",
        argv=("sudo", *_INSTALL[row.manager], *row.packages),
        check=toolkit + _at_least(least),
    )


def _by_hand(rows: Reference, least: str = "") -> Step:
    guide = _feature(rows, "nvidia-container-toolkit", "install")
    return Step(
        why="no row is about the packages of this system",
        text=f"{'update' if least else 'install'} {guide}",
        check="nvidia-ctk --version" + _at_least(least),
    )


def _at_least(least: str) -> str:
    return f": {least} or newer" if least else ""


def _docker(rows: Reference, here: Containers, clients: tuple[EngineFacts, ...]) -> Iterator[Step]:
    """Tell docker of the toolkit's runtime; a server with root goes before one without."""
    if here.platform == "jetson" and _line(here) == "32":
        yield Step(
            why="JetPack 4 has no nvidia-ctk that tells docker of the toolkit's runtime",
            text='where /etc/docker/daemon.json does not say so, add to it: "runtimes": '
            '{"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": []}}',
            check="grep nvidia /etc/docker/daemon.json",
        )
        yield _restart(here, clients)
        return
    yield from _unseen(rows, here, clients)
    if clients and all(e.rootless for e in clients):
        yield from _rootless(rows, here)
        return
    yield Step(
        why="tell docker of the toolkit's runtime; /etc/docker/daemon.json keeps what else it says",
        argv=("sudo", "nvidia-ctk", "runtime", "configure", "--runtime=docker"),
        check="grep nvidia /etc/docker/daemon.json",
    )
    if here.inside == "lxc":
        says = _feature(rows, "nvidia-container-toolkit", "no-cgroups-lxc")
        yield Step(
            why=f"this machine is an LXC container: {says}",
            text=f"where it has no privileges: sudo nvidia-ctk config --set {_NO_CGROUPS} "
            "--in-place",
            check="grep no-cgroups /etc/nvidia-container-runtime/config.toml: true",
        )
    yield _restart(here, clients)


def _unseen(rows: Reference, here: Containers, clients: tuple[EngineFacts, ...]) -> Iterator[Step]:
    """A docker that reads CDI by itself, and shows none of the GPUs that a file here describes."""
    since = feature(rows, "docker", "cdi-default").since
    docker = next((e for e in clients if e.answers and release(e)), None)
    named = any(d.startswith(cdi.GPU) for spec in here.cdi for d in spec.devices)
    if docker is None or not named or below(release(docker), since):
        return
    yield Step(
        why=f"docker reads CDI specifications by itself from {since} on, and this one shows none, "
        "although there is one: find out why, or go on with the runtime below",
        text='see that /etc/docker/daemon.json does not say "cdi": false, and that docker info '
        "lists the folder of the specification; then sudo systemctl restart docker",
        check="docker info names nvidia.com/gpu=all: then nothing more is to do",
    )


def _restart(here: Containers, clients: tuple[EngineFacts, ...]) -> Step:
    check = "docker run --rm --runtime=nvidia ubuntu true"
    # A distribution in WSL may run without systemd; `service` works with and without it.
    wsl = here.platform == "wsl2"
    restart = ("service", "docker", "restart") if wsl else ("systemctl", "restart", "docker")
    return Step(
        why="docker reads that when it starts; containers that run now stop",
        argv=("sudo", *restart),
        check=check if here.platform == "jetson" else _run(clients),
    )


def _run(clients: tuple[EngineFacts, ...]) -> str:
    """A container that lists the GPUs, by the way that the plan takes once the steps are done."""
    way = "nvidia-runtime" if clients and all(map(new_way, clients)) else "gpus"
    return f"docker run --rm {' '.join(gpu_flags('docker', way))} ubuntu nvidia-smi -L"


def _rootless(rows: Reference, here: Containers) -> Iterator[Step]:
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
    # From there on the runtime makes a CDI specification of its own, which needs no such setting.
    by_cdi = feature(rows, "nvidia-container-toolkit", "jit-cdi-default").since
    version = release(here.toolkit)
    if here.toolkit is not None and (version is None or below(version, by_cdi)):
        yield no_cgroups("nvidia-runtime")


def no_cgroups(way: str = "gpus") -> Step:
    """Let the hook work for a docker without root; never where one with root listens."""
    turn = f"sudo nvidia-ctk config --set {_NO_CGROUPS} --in-place"
    stop = f"{{ echo 'a docker with root listens at {_SOCKET_OF_ROOT}: not changed' >&2; exit 1; }}"
    return Step(
        why="without root the hook may set no cgroups. This counts for the whole machine: a docker "
        "with root would get no GPU by the hook, so that nothing is done where one listens (there, "
        "CDI: sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml)",
        argv=("sh", "-c", f"! test -S {_SOCKET_OF_ROOT} || {stop}; {turn}"),
        check=f"docker run --rm {' '.join(gpu_flags('docker', way))} ubuntu nvidia-smi -L",
    )


def _cdi(rows: Reference, here: Containers, engine: EngineFacts) -> Iterator[Step]:
    """A CDI specification that this podman reads, or the docker of today in its place."""
    version, since = release(engine), feature(rows, engine.name, "cdi").since
    if engine.name == "podman" and below(version, since):
        other = engines.installed(rows, here)
        newer = f"install podman {since} or newer"
        text = newer if other.name == "podman" else f"{newer}; or docker: the next steps"
        yield Step(
            why=f"podman {version} takes no CDI device; {since} is the first that does",
            text=text,
            check="podman --version",
        )
        if other.name == "docker":
            yield from engines.engine(rows, here)
            engine = other
        if here.platform == "jetson":
            yield from _docker(rows, here, ())
            return
    yield from cdi.described(rows, here, engine)


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


def _feature(rows: Reference, engine: str, name: str) -> str:
    return feature(rows, engine, name).says
