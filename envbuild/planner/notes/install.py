"""How a toolkit of a vendor's archive comes to this machine itself, step by step."""

from envbuild.matrix.model import Repository
from envbuild.planner.notes import native
from envbuild.planner.notes.base import Chosen
from envbuild.values.finding import Step


def steps(chosen: Chosen, row: Repository, package: str) -> tuple[Step, ...]:
    """What to do on this machine, in order, with a check after each step.

    Args:
        chosen: the plan; its target is a host.
        row: the archive.
        package: what is installed from it.
    """
    if row.kind == "apt":
        return _packages(chosen, row, package)
    return (native.private(chosen),)


def _packages(chosen: Chosen, row: Repository, package: str) -> tuple[Step, ...]:
    """From the vendor's repository, as root; on WSL no package of a driver can come along."""
    from envbuild.advice.fixes import repository

    keep_out = Step(
        why="the Windows driver is the only driver: no package may bring another into WSL",
        argv=repository.written(
            "/etc/apt/preferences.d/no-cuda-driver",
            f"Package: {' '.join(row.never)}",
            "Pin: release *",
            "Pin-Priority: -1",
        ),
        check="apt-cache policy cuda-drivers: no candidate",
    )
    before = [keep_out] if row.platform == "wsl2" else []
    return (
        *repository.apt(row, chosen.target.arch, *before),
        Step(
            why="install the toolkit alone; `cuda` and `cuda-drivers` would bring a driver",
            argv=("sudo", "apt-get", "install", "-y", "--no-install-recommends", package),
            check=f"/usr/local/cuda-{chosen.choice.place.cuda}/bin/nvcc --version",
        ),
    )
