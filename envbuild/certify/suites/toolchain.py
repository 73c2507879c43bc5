"""Suite `toolchain`, no GPU: the image's compiler, its pair, its code, its loader, no driver.

Core: compiles, pair, sass, loader, no-driver. Side: lock-drift (skipped without a lock).

An image whose plan or label says ``stage=runtime`` promises no compiler. It is certified with the
prebuilt code, and its core is sass (of the prebuilt code), loader and no-driver. Any other image
without a compiler fails: a core check that the image cannot be asked. A prefix that holds NVRTC
and no nvcc compiles device code only: no host compiler takes part, so pair is no core check of it.
"""

from envbuild.certify.seen import Seen
from envbuild.certify.suites import compiling, loading
from envbuild.values.certificate import Check


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    return (
        compiling.compiles(seen),
        compiling.pair(seen),
        compiling.sass(seen),
        loading.loader(seen),
        loading.no_driver(seen),
        loading.lock_drift(seen),
    )
