"""torch's own kernels."""

from envbuild.certify.seen import Seen
from envbuild.certify.suites.frameworks import judged
from envbuild.certify.suites.torch.parts import heard
from envbuild.values.certificate import Check
from envbuild.values.codec import replace

STEP = "torch.eager"
CHECK = Check(
    id="torch.eager",
    core=True,
    verdict="pass",
    says="torch's eager kernels (elementwise, reduction, gather) are right in every element",
    unit="wrong elements",
    limit="0",
    rule="all elements are compared with the CPU, none differs",
)


def judge(seen: Seen) -> Check:
    """The check of eager kernels."""
    found, stopped = heard(seen, STEP)
    device = found.one("device")
    value = f"on {device.name}" if device else ""
    return judged(
        replace(CHECK, value=value), (found, stopped), ("elementwise", "reduction", "gather")
    )
