"""Where else builds are, for a Jetson or a new card: no plan is made of them, people use them."""

from collections.abc import Iterator

from envbuild.planner.ranges import numbers
from envbuild.planner.table import Table
from envbuild.planner.target import Target
from envbuild.values.finding import Step

_CONTAINERS = "https://github.com/dusty-nv/jetson-containers"


def containers(table: Table, target: Target) -> Iterator[Step]:
    """Images of the vendor's own registry, for cards above those that a package has code for."""
    for wanted in target.packages:
        for row in table.packages.get(wanted.name, ())[:1]:
            last = row.cc_max
            above = [cc for cc in target.cc if last is not None and numbers(cc) > numbers(last)]
            if row.container is None or not above or target.arch == "aarch64":
                continue
            run = ("docker", "run", "--rm", "--gpus", "all", row.container)
            yield Step(
                why=f"NVIDIA's own container of {row.name} has code for cc {', '.join(above)}",
                argv=(*run, "python", "-c", f"import {row.name}; print({row.name}.__version__)"),
                check="it prints a version, and nvidia-smi in it shows the card",
            )


def jetson(table: Table, target: Target) -> Iterator[Step]:
    """Builds for the L4T that is there: an index for pip, wheels of torch, containers."""
    row = table.jetson.get(target.l4t or "")
    wished = (*((target.torch,) if target.torch is not None else ()), *target.packages)
    if row is None or not wished:
        return
    names = tuple(map(str, wished))
    check = f"python3 -c 'import {wished[0].name.replace('-', '_')}'"
    if target.torch is not None:
        check = "python3 -c 'import torch; print(torch.cuda.is_available())': True"
    if row.index is not None:
        yield Step(
            why=f"NVIDIA's index of builds for JetPack {row.jetpack} may have it, and pip says if "
            "not: on the machine itself, or in an image of its L4T",
            argv=("python3", "-m", "pip", "install", "--index-url", row.index, *names),
            check=check,
        )
    if row.wheels is not None and target.torch is not None:
        yield Step(
            why=f"or a wheel of torch that NVIDIA made for JetPack {row.jetpack}",
            text=f"take the one for this Python from {row.wheels}, and pip install it",
            check=check,
        )
    yield Step(
        why=f"or a container that is made for the L4T that is there ({row.l4t})",
        text=f"git clone {_CONTAINERS} and run its install.sh; then jetson-containers run "
        f"$(autotag {'l4t-pytorch' if target.torch is not None else wished[0].name})",
        check=f"inside it: {check}",
    )
