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
    from envbuild.advice.fixes import repository, wsl

    before = []
    if row.platform == "wsl2":
        from envbuild.matrix.load import load_reference

        lets = next(r for r in load_reference().wsl if r.what == "container-toolkit-packages")
        before = [wsl.keep_out(row.never, lets)]
    return (
        *repository.apt(row, chosen.target.arch, *before),
        Step(
            why="install the toolkit alone; `cuda` and `cuda-drivers` would bring a driver",
            argv=("sudo", "apt-get", "install", "-y", "--no-install-recommends", package),
            check=f"/usr/local/cuda-{chosen.choice.place.cuda}/bin/nvcc --version",
        ),
    )
