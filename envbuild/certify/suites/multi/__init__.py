"""Suite `multi`: what needs several GPUs, or several instances of one.

Core is what the host has: with two GPUs or more `multi.copies` and `multi.sum`, with MIG instances
`multi.mig`; on one plain GPU all are skipped and a required suite ends with 4. NCCL is core, too:
an image that is certified for several GPUs must be able to sum over them. That P2P is refused is a
fact of the machine, a wrong number is a fault. Figures are reported, not judged: no limit is known.
"""

from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Work
from envbuild.certify.suites.multi import copies, instances, summing
from envbuild.values.certificate import Check


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """Each MIG instance in a run of its own, then all GPUs together."""
    return (
        instances.next_work(bench, seen)
        or copies.next_work(bench, seen)
        or summing.next_work(bench, seen)
    )


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    return (copies.check(seen), summing.check(seen), instances.check(seen))
