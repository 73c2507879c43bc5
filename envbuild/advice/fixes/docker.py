"""Steps that install Docker Engine from its own repository, with root or without."""

from collections.abc import Iterator

from envbuild.advice.fixes import repository
from envbuild.matrix.model import Os
from envbuild.matrix.model.reference import EnginePackages
from envbuild.values.finding import Step


def steps(row: EnginePackages, os: Os) -> tuple[Step, ...]:
    """Install the engine, start it, and let this user ask it.

    Args:
        row: its repository and packages.
        os: the system.
    """
    install = _apt(row, os) if os.family == "apt" else _dnf(row)
    return (*install, started(), group())


def _apt(row: EnginePackages, os: Os) -> Iterator[Step]:
    if row.conflicts:
        listed = (
            f"dpkg-query -W -f '${{db:Status-Abbrev}} ${{Package}}\\n' {' '.join(row.conflicts)} "
            "2>/dev/null | sed -n 's/^[hi]i *//p'"
        )
        yield Step(
            why="engines of the system's archive cannot stand beside it; images and volumes stay",
            argv=("sh", "-c", f"{listed} | xargs -r sudo apt-get remove -y"),
            check=f"dpkg -l {' '.join(row.conflicts)}: none is installed",
        )
    suite = f"{os.codename} stable"
    yield from repository.signed("docker", row.url, row.key_url, row.key, rest=suite)
    yield Step(
        why="install the engine with its BuildKit",
        argv=("sudo", "apt-get", "install", "-y", *row.packages),
        check="docker --version",
    )


def _dnf(row: EnginePackages) -> Iterator[Step]:
    yield Step(
        why="dnf learns to add repositories",
        argv=("sudo", "dnf", "install", "-y", "dnf-command(config-manager)"),
        check="dnf config-manager --help",
    )
    yield Step(
        why="add docker's repository, whose packages are signed",
        argv=("sudo", "dnf", "config-manager", "--add-repo", row.url),
        check="dnf repolist: docker-ce-stable",
    )
    yield Step(
        why=f"take its key, {row.key}",
        argv=("sudo", "rpm", "--import", row.key_url),
        check="rpm -q gpg-pubkey --qf '%{SUMMARY}\\n': Docker Release",
    )
    yield Step(
        why="install the engine with its BuildKit",
        argv=("sudo", "dnf", "install", "-y", *row.packages),
        check="docker --version",
    )


def started() -> Step:
    """Now and with the machine."""
    return Step(
        why="start it now and with the machine",
        argv=("sudo", "systemctl", "enable", "--now", "docker"),
        check="systemctl is-active docker: active",
    )


def group() -> Step:
    """Who is in the group docker may ask the server, and through it has root's rights."""
    return Step(
        why="let this user ask docker without sudo; who may do that has root's rights through it",
        argv=("sh", "-c", 'sudo usermod -aG docker "$(id -un)"'),
        check="id -nG, in a new terminal: docker",
    )


def rootless(row: EnginePackages) -> tuple[Step, ...]:
    """A second server that runs as this user, beside the first or without it."""
    return (
        Step(
            why="user and group numbers of its own, and the set-up program",
            argv=("sudo", "apt-get", "install", "-y", *row.rootless),
            check="command -v dockerd-rootless-setuptool.sh newuidmap",
        ),
        Step(
            why="a server of this user, beside the one with root: not as root, without sudo",
            argv=("dockerd-rootless-setuptool.sh", "install", "--force"),
            check="docker --context rootless info: rootless, under Security Options",
        ),
        Step(
            why="it starts with the machine and not with the first login",
            argv=("sh", "-c", 'sudo loginctl enable-linger "$(id -un)"'),
            check="ls /var/lib/systemd/linger",
        ),
    )
