"""Suite `cupy`: the NVRTC that it finds, what it compiles with it, its cuBLAS.

Core: build, jit, matmul. An import proves nothing: cupy loads NVRTC and headers when it compiles.
"""

from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Work
from envbuild.certify.suites.cupy import build, kernels
from envbuild.certify.suites.frameworks import missing, step
from envbuild.values.certificate import Check


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    return (build.judge(seen), *kernels.judge(seen))


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """First what cupy was built for; then its kernels, if they can be compiled."""
    done = {session.name for session in seen.sessions}
    if build.STEP not in done:
        if missing(seen, "cupy", *build.PACKAGES):
            return None
        return Work(build.STEP, (step(bench, seen, build.STEP, seconds=60.0),))
    if "cupy.parts" in done or build.judge(seen).verdict != "pass":
        return None
    names = (kernels.JIT_STEP, kernels.MATMUL_STEP)
    return Work("cupy.parts", tuple(step(bench, seen, name) for name in names))
