"""Suite `torch`: what it was built for, its kernels, its libraries, what it compiles, its graphs.

Core: build, eager, matmul, conv, add, graph. Side: cudnn, extension (skipped without a compiler),
compile (skipped below its floor). No kernel runs before the list of architectures covers the
device.
"""

from envbuild.certify.floors import COMPILE, above
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Work
from envbuild.certify.suites.frameworks import device_cc, missing, step
from envbuild.certify.suites.torch import (
    add,
    build,
    compile,
    conv,
    eager,
    extension,
    graph,
    matmul,
)
from envbuild.values.certificate import Check


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    return (
        build.judge(seen),
        eager.judge(seen),
        matmul.judge(seen),
        *conv.judge(seen),
        add.judge(seen),
        graph.judge(seen),
        extension.judge(seen),
        compile.judge(seen),
    )


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """First what torch was built for; then its parts, if the device can run them."""
    done = {session.name for session in seen.sessions}
    if build.STEP not in done:
        if missing(seen, "torch", "torch"):
            return None
        return Work(build.STEP, (step(bench, seen, build.STEP, seconds=120.0),))
    if "torch.parts" in done or build.judge(seen).verdict != "pass":
        return None
    parts = [
        step(bench, seen, eager.STEP),
        step(bench, seen, matmul.STEP),
        step(bench, seen, conv.STEP),
        step(bench, seen, add.STEP, bench.probe("add.fatbin"), "envbuild_add"),
        step(bench, seen, graph.STEP),
        step(bench, seen, extension.STEP, bench.out("extension"), seconds=300.0),
    ]
    if not above(seen.floors, COMPILE, device_cc(seen)):
        parts.append(step(bench, seen, compile.STEP, seconds=180.0))
    return Work("torch.parts", tuple(parts))
