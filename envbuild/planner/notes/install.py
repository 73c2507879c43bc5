"""How a toolkit of a vendor's archive comes to this machine itself, step by step."""

from envbuild.matrix.model import Repository
from envbuild.planner.compose import archive_url
from envbuild.planner.notes.base import Chosen
from envbuild.values.finding import Step

_KEY = "/etc/apt/keyrings/nvidia-cuda.asc"


def steps(chosen: Chosen, row: Repository, package: str) -> tuple[Step, ...]:
    """What to do on this machine, in order, with a check after each step.

    Args:
        chosen: the plan; its target is a host.
        row: the archive.
        package: what is installed from it.
    """
    if row.kind == "apt":
        return _packages(chosen, row, package)
    return _private(chosen, row)


def _packages(chosen: Chosen, row: Repository, package: str) -> tuple[Step, ...]:
    """From the vendor's repository, as root; on WSL no package of a driver can come along."""
    url = archive_url(row, chosen.target)
    line = f"deb [signed-by={_KEY}] {url} /"
    keep_out = Step(
        why="the Windows driver is the only driver: no package may bring another into WSL",
        argv=_written(
            "/etc/apt/preferences.d/no-cuda-driver",
            f"Package: {' '.join(row.never)}",
            "Pin: release *",
            "Pin-Priority: -1",
        ),
        check="apt-cache policy cuda-drivers: no candidate",
    )
    return (
        Step(
            why="fetch the key that signs the repository; nothing trusts it yet",
            argv=("curl", "-fsSLo", "nvidia-cuda.asc", f"{url}{row.key_file}"),
            check=f"gpg --show-keys nvidia-cuda.asc: {row.key} and no other key",
        ),
        Step(
            why="let apt use the key, for this repository alone",
            argv=("sudo", "install", "-Dm644", "nvidia-cuda.asc", _KEY),
            check=f"ls -l {_KEY}",
        ),
        *([keep_out] if row.platform == "wsl2" else []),
        Step(
            why="add the repository",
            argv=_written("/etc/apt/sources.list.d/nvidia-cuda.list", line),
            check="cat /etc/apt/sources.list.d/nvidia-cuda.list",
        ),
        Step(
            why="read what it has, by its signature",
            argv=("sudo", "apt-get", "update"),
            check="no error about a signature or a key",
        ),
        Step(
            why="install the toolkit alone; `cuda` and `cuda-drivers` would bring a driver",
            argv=("sudo", "apt-get", "install", "-y", "--no-install-recommends", package),
            check=f"/usr/local/cuda-{chosen.choice.place.cuda}/bin/nvcc --version",
        ),
    )


def _written(path: str, *lines: str) -> tuple[str, ...]:
    # A row's texts hold no quote, and shlex would cost every plan its import.
    words = " ".join(f"'{line}'" for line in lines)
    return ("sudo", "sh", "-c", f"printf '%s\\n' {words} > {path}")


def _private(chosen: Chosen, row: Repository) -> tuple[Step, ...]:
    """Into a folder of one's own, without root: the local engine checks every hash."""
    wanted = ["--toolkit-source", row.kind, "--cuda", chosen.choice.place.cuda]
    cc = ["--cc", ",".join(chosen.cc)] if chosen.cc else []
    return (
        Step(
            why="fetch the locked archives and make one toolkit folder of them, without root",
            argv=("envbuild", "build", "--engine", "local", *cc, *wanted),
            check="envbuild run -- nvcc --version",
        ),
    )
