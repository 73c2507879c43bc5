"""Steps inside a distribution of WSL 2: systemd, and no driver but that of Windows."""

import shlex

from envbuild.advice.fixes import repository
from envbuild.matrix.model.reference import WslNeed
from envbuild.values.finding import Step

_CONF = "/etc/wsl.conf"


def driver_packages(drivers: WslNeed, others: WslNeed) -> str:
    """A shell command that lists installed packages of a Linux driver, one a line."""
    installed = "dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n' 2>/dev/null"
    wanted = f"grep -E {shlex.quote(drivers.value)} | grep -Ev {shlex.quote(others.value)}"
    return f"{installed} | sed -n 's/^[hi]i *//p' | {wanted}"


def none_left(drivers: WslNeed, others: WslNeed) -> str:
    """A shell command that ends with 0 where no package of a Linux driver is installed."""
    return f'test -z "$({driver_packages(drivers, others)})" # no package of a driver is left'


def keep_out(never: tuple[str, ...], lets: WslNeed) -> Step:
    """No package may bring a driver from now on, whatever depends on it.

    Args:
        never: patterns of packages, as apt's preferences spell them.
        lets: those that they would catch, too, and that are none of a driver.
    """
    return Step(
        why="the Windows driver is the only driver: no package may bring another into WSL",
        argv=repository.written(
            "/etc/apt/preferences.d/no-cuda-driver",
            # Of the records that name a package, the first one counts.
            *(f"Package: {lets.value}", "Pin: release *", "Pin-Priority: 500", ""),
            *(f"Package: {' '.join(never)}", "Pin: release *", "Pin-Priority: -1"),
        ),
        check="apt-cache policy cuda-drivers: no candidate",
    )


def purge(drivers: WslNeed, others: WslNeed) -> tuple[Step, ...]:
    """Take a Linux driver out that some package brought along.

    Args:
        drivers: the pattern of the packages to remove.
        others: the pattern of those that look alike and stay.
    """
    listed = driver_packages(drivers, others)
    return (
        Step(
            why="a Linux driver hides that of Windows: remove every package of one",
            argv=("sh", "-c", f"{listed} | xargs -r sudo apt-get purge -y"),
            check="apt list --installed: of NVIDIA the container toolkit alone",
        ),
        Step(
            why="and what only they needed",
            argv=("sudo", "apt-get", "autoremove", "-y"),
            check="ls /usr/lib/x86_64-linux-gnu/libcuda.so.1: no such file",
        ),
    )


def systemd() -> Step:
    """Let systemd start services, docker's among them; what else wsl.conf says stays."""
    script = (
        f"touch {_CONF} && sed -i '/^[[:space:]]*systemd[[:space:]]*=/d' {_CONF} && "
        f"{{ grep -q '^\\[boot\\]' {_CONF} || echo '[boot]' >>{_CONF}; }} && "
        f"sed -i '/^\\[boot\\]/a systemd=true' {_CONF}"
    )
    return Step(
        why="services such as docker's are started by systemd",
        argv=("sudo", "sh", "-c", script),
        check=f"grep -A1 boot {_CONF}: systemd=true",
    )
