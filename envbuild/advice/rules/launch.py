"""Launches that a card does not take: the figures of this card."""

from collections.abc import Iterator

from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene
from envbuild.matrix.load import load_reference
from envbuild.values.finding import Step

_TEXTS = ("cuda-9", "cuda-701")


def beyond_the_card(scene: Scene) -> Iterator[Advice]:
    """A grid, block or shared memory above what this card takes."""
    seen = scene.saw(*_TEXTS)
    if seen is None:
        return
    ccs = [row.cc for _, row in scene.chips]
    rows = [row for row in load_reference().limits if row.cc in ccs and row.smem_block]
    if not rows:
        return
    row = min(rows, key=lambda row: row.smem_block or 0)
    resources = seen.id == "cuda-701"
    yield advice(
        seen.id,
        "error",
        "a block wants more registers or shared memory than this card has for it (error 701)"
        if resources
        else "a kernel was launched with a grid, block or shared memory that this card does not "
        "take (error 9)",
        why=f"A block of cc {row.cc} has at most 1024 threads and {row.smem_block} KiB of shared "
        "memory, of which it gets more than 48 only where the kernel opts in; no side of a grid "
        f"or block may be 0. {where(seen)}",
        steps=(
            Step(
                why="an empty input often makes an empty grid, another card's size a large block",
                text="print grid, block and shared memory before that launch",
                check=f"none is 0; a block has at most 1024 threads and {row.smem_block} KiB",
            ),
            Step(
                why="registers of a thread times its block must fit into 64 K",
                text="smaller blocks, or __launch_bounds__ when compiling"
                if resources
                else "for more than 48 KiB: cudaFuncSetAttribute(kernel, "
                f"cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES), up to {row.smem_block} KiB",
                check="cudaGetLastError() right after the launch gives 0",
            ),
        ),
        source=f"limits/{row.cc} {row.status}",
        explains=_TEXTS,
    )


RULES: tuple[Rule, ...] = (beyond_the_card,)
