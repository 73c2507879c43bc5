"""Suite `fast`: what this device reaches, as a share of what it can reach.

Core: clock, fma-f32, fma-f64, dram-read, dram-triad. All of it is the machine's, but what the
image's own compiler makes (codegen), which is paired with the prebuilt code on the same GPU, and
its cuBLAS.
"""

from envbuild.certify import facts
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Work
from envbuild.certify.suites.fast import (
    clock,
    codegen,
    copies,
    cublas,
    dram,
    fma,
    l2,
    latency,
    tensor,
    work,
)
from envbuild.values.certificate import Check


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    return (
        clock.check(seen),
        fma.check(seen, "f32"),
        fma.check(seen, "f64"),
        *(dram.check(seen, kind) for kind in dram.FIGURES),
        l2.check(seen),
        copies.check(seen),
        latency.launch(seen),
        latency.graph(seen),
        codegen.check(seen, "fma"),
        codegen.check(seen, "triad"),
        *tensor.checks(seen),
        *cublas.checks(seen),
    )


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """Compile where the image can, then measure."""
    done = {session.name for session in seen.sessions}
    own = bool(facts.compiler(seen))
    if own and "fast.compile" not in done:
        return Work("fast.compile", (work.compiling(bench, seen),), gpu=False)
    if "fast" not in done:
        compiled = seen.step(codegen.COMPILE)
        return Work("fast", work.running(bench, seen, own=bool(compiled and compiled.ok)))
    return None
