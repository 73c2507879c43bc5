"""How a toolkit that is no package of the vendor's repository comes to this machine itself."""

from envbuild.matrix.model import DistroToolkit, JetsonRow, WheelToolkit
from envbuild.planner.notes.base import Chosen
from envbuild.planner.spell import argv, as_request
from envbuild.values.codec import replace
from envbuild.values.finding import Step

_VENV = "cuda-venv"
_LOCKED = ".envbuild/context/requirements.txt"
"""Where `envbuild build` leaves the requirements that it locked."""


def private(chosen: Chosen) -> Step:
    """Into a folder of one's own, without root: the local engine checks every hash."""
    target, place = chosen.target, chosen.choice.place
    # The engine asks for an image's plan: what this machine has is not its base's.
    request = replace(
        as_request(target),
        where=None,
        base_os=None,
        glibc=None,
        gcc=None,
        cuda=place.cuda if place.kind == "compiler" else target.request.cuda,
        toolkit_source=place.source,
    )
    what = {"wheels": "wheels", "conda": "packages"}.get(place.source, "archives")
    done = "nvcc --version" if place.kind == "compiler" else "python3 -c 'import torch'"
    return Step(
        why=f"lock the {what} by hash, fetch them, and make one folder of them, without root",
        argv=(*argv(request, "build"), "--engine", "local"),
        check=f"envbuild run -- {done}",
    )


def wheels(chosen: Chosen) -> tuple[Step, ...]:
    """The private folder, or a virtual environment of one's own with the same hashes."""
    place = chosen.choice.place
    pip = f"{_VENV}/bin/python"
    found = [
        private(chosen),
        Step(
            why="or into a virtual environment: make one",
            argv=("python3", "-m", "venv", _VENV),
            check=f"{pip} --version",
        ),
        Step(
            why="install the very wheels that the first step locked: pip checks their hashes",
            argv=(pip, "-m", "pip", "install", "--require-hashes", "--no-deps", "-r", _LOCKED),
            check=f"{pip} -m pip check",
        ),
    ]
    if not isinstance(place.row, WheelToolkit):
        test = "import torch; print(torch.cuda.get_arch_list(), torch.cuda.is_available())"
        why = "see that it has code for the card and finds it"
        return (*found, Step(why=why, argv=(pip, "-c", test), check="the card's target, and True"))
    prefix = f"{_VENV}/lib/python3.*/site-packages/{place.row.prefix}"
    home = f"export CUDA_HOME=$(echo $PWD/{prefix})"
    return (
        *found,
        Step(
            why="link what builds look for; the folder of the first step has it already",
            argv=("sh", "-c", f"cd {prefix} && ln -sfn lib lib64 && cd lib && {_LINKS}"),
            check=f"ls {prefix}/lib64/libcudart.so",
        ),
        Step(
            why="let compilers find it, in each shell that builds",
            text=f"{home} PATH=$(echo $PWD/{prefix})/bin:$PATH",
            check="$CUDA_HOME/bin/nvcc --version",
        ),
    )


_LINKS = 'for f in lib*.so.*; do ln -sf "$f" "${f%%.so.*}.so"; done'


def archive(row: DistroToolkit) -> tuple[Step, ...]:
    """From the distribution's own archive, as root."""
    package = row.packages[0]
    return (
        Step(
            why=f"let apt read {', '.join(row.components)}: the toolkit is not in main alone",
            text=f"Components: {' '.join(row.components)} in /etc/apt/sources.list.d/*.sources",
            check=f"sudo apt-get update; apt-cache policy {package}: {row.version}",
        ),
        Step(
            why="install it with the gcc that it takes; it brings libcuda1, which belongs to the "
            "distribution's own driver: with another driver take another source",
            argv=("sudo", "apt-get", "install", "-y", "--no-install-recommends", *row.packages),
            check=f"nvcc --version; g++-{row.gcc} --version (NVCC_CCBIN=g++-{row.gcc})",
        ),
    )


def jetson(row: JetsonRow) -> tuple[Step, ...]:
    """Part of the L4T that is there."""
    return (
        Step(
            why=f"the CUDA of L4T {row.l4t} is part of JetPack {row.jetpack}: no other is needed",
            argv=("sudo", "apt-get", "install", "-y", "nvidia-jetpack"),
            check=f"/usr/local/cuda/bin/nvcc --version: {row.cuda}",
        ),
    )
