"""torch's add against a kernel that was written by hand."""

from statistics import median

from envbuild.certify.seen import Seen
from envbuild.certify.suites.frameworks import judged
from envbuild.certify.suites.torch.parts import heard
from envbuild.values.certificate import Check
from envbuild.values.codec import Pairs, replace

STEP = "torch.add"
CHECK = Check(
    id="torch.add",
    core=True,
    verdict="pass",
    says="torch's add equals the prebuilt kernel on the same memory, stream and context",
    unit="differing elements",
    limit="0",
    rule="all elements are compared, none differs; the speeds are reported and not judged",
)


def judge(seen: Seen) -> Check:
    """The check of the vector add."""
    found, stopped = heard(seen, STEP)
    speeds = Pairs(
        {
            f"speed, {line.name}": f"{line.bytes / median(line.ms) / 1e6:.0f} GB/s"
            for line in found.all("time")
            if line.ms and median(line.ms) > 0
        }
    )
    check = replace(CHECK, inputs=speeds)
    return judged(check, (found, stopped), ("torch and kernel", "torch and CPU"))
