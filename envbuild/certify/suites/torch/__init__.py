"""Suite `torch`: what it was built for, its kernels, its libraries, what it compiles, its graphs.

Core: build, eager, matmul, conv, add, graph. Side: cudnn, extension (skipped without a compiler),
compile (skipped below its floor). No kernel runs before the list of architectures covers the
device.
"""

from envbuild.certify.floors import COMPILE, above
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Step, Work
from envbuild.certify.suites.frameworks import device_cc, forked, missing, step, unheard
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
from envbuild.values.codec import Pairs, replace


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    checks = (
        build.judge(seen),
        eager.judge(seen),
        matmul.judge(seen),
        *conv.judge(seen),
        add.judge(seen),
        graph.judge(seen),
        extension.judge(seen),
        compile.judge(seen),
    )
    return tuple(_told(check, seen) for check in checks)


def _told(check: Check, seen: Seen) -> Check:
    """The check, which says where its part had to run a second time."""
    if len(seen.all(check.id)) < 2:
        return check
    again = ("process", "of its own, after one that shared its import did not come to its end")
    return replace(check, inputs=Pairs((*check.inputs, again)))


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """First what torch was built for; then its parts, if the device can run them.

    Torch is imported once for all parts; one that does not come to its end runs again by itself.
    """
    done = {session.name for session in seen.sessions}
    if build.STEP not in done:
        if missing(seen, "torch", "torch"):
            return None
        return Work(build.STEP, (step(bench, seen, build.STEP, seconds=120.0),))
    if "torch.apart" in done or build.judge(seen).verdict != "pass":
        return None
    parts = _parts(bench, seen)
    if "torch.parts" not in done:
        return Work("torch.parts", (forked(bench, seen, "torch.parts", "torch", parts),))
    left = unheard(seen, parts, build.name(seen))
    return Work("torch.apart", tuple(left)) if left else None


def _parts(bench: Bench, seen: Seen) -> list[Step]:
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
    return parts
