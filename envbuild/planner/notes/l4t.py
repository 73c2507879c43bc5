"""A Jetson whose L4T is of another release than the image that is planned for it."""

import re
from collections.abc import Iterator

from envbuild.matrix.model import JetsonRow
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step


def older_than_image(chosen: Chosen) -> Iterator[Finding]:
    """The image gets its CUDA from the machine, whose own files are of an older release."""
    target, row = chosen.target, chosen.choice.place.row
    if chosen.choice.place.os is None or not isinstance(row, JetsonRow) or not row.mounted:
        return
    here = target.containers.l4t if target.containers is not None else None
    given = re.search(r"\d+\.\d+(\.\d+)?", target.request.l4t or here or "", re.ASCII)
    made = re.search(r":r(\d+(\.\d+)+)$", row.image or "", re.ASCII)
    if given is None or made is None:
        return
    width = len(numbers(given[0]))
    if numbers(given[0]) >= numbers(made[1])[:width]:
        return
    says = (
        f"the machine has L4T {given[0]} and the image is of L4T {made[1]}: CUDA is mounted from "
        "the machine into it, and whether these two releases work together was not verified"
    )
    step = Step(
        why="one release on both sides is what the vendor makes them for",
        text=f"update the machine to L4T {made[1]} (JetPack {row.jetpack}), or take the tag "
        f"r{given[0]} of the same image as the base",
        check="cat /etc/nv_tegra_release",
    )
    found = note("l4t-image-newer", "warn", says, chosen.choice.place.cite)
    yield replace(found, steps=(step,))


def builds_elsewhere(chosen: Chosen) -> Iterator[Finding]:
    """Beside the index of torch, which is planned, NVIDIA has one for this L4T."""
    target = chosen.target
    row = chosen.table.jetson.get(target.l4t or "")
    if row is None or row.index is None or chosen.choice.build is None:
        return
    says = f"NVIDIA has an index of builds for JetPack {row.jetpack}, too: {row.index}"
    yield note("jetson-index", "info", says, cite(row, row.l4t), row.note)
