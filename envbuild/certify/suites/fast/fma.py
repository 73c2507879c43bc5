"""Multiply-adds in cycle space: operations an SM and clock, whatever the clock is."""

from envbuild.certify.seen import Seen
from envbuild.certify.suites.fast import cycles
from envbuild.values.certificate import Check


def check(seen: Seen, dtype: str) -> Check:
    """Throughput of one dtype; the machine's, never the image's: the code is prebuilt."""
    check = Check(
        id=f"fast.fma-{dtype}",
        core=True,
        verdict="pass",
        says=f"the SMs do as many {dtype} multiply-adds a clock as their architecture has lanes",
        unit="FLOP/SM/clock",
        rule="the 95 % interval of the median lies above the floor, the median below the limit; "
        "every sum counts every step",
    )
    rating = seen.card.rate("fma", dtype)
    return cycles.judged(
        seen, check, where="compute", figure=f"fma.{dtype}", dtype=dtype, rating=rating
    )
