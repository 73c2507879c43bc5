"""Where packages that are built for a Jetson are: plans are not made of them, people use them."""

from collections.abc import Iterator

from envbuild.planner.table import Table
from envbuild.planner.target import Target
from envbuild.values.finding import Step

_CONTAINERS = "https://github.com/dusty-nv/jetson-containers"


def elsewhere(table: Table, target: Target) -> Iterator[Step]:
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
