"""torch.compile."""

from envbuild.certify.floors import COMPILE, above
from envbuild.certify.seen import Seen
from envbuild.certify.suites import bounds
from envbuild.certify.suites.frameworks import device_cc, judged
from envbuild.certify.suites.torch import build
from envbuild.certify.suites.torch.parts import heard
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

STEP = "torch.compile"
# A product, an exponential and a quotient an element, each right to a few units.
_OPERATIONS = 8
_TERMS = 768  # columns of the probe
_BOUND = bounds.of_f32(_OPERATIONS + _TERMS)
CHECK = Check(
    id="torch.compile",
    core=False,
    verdict="pass",
    says="torch.compile makes a kernel in the image, and its numbers are right",
    formula=f"{_OPERATIONS} + terms roundings of f32, relative (all terms are positive)",
    rule="Inductor made a kernel, and the largest error is within the bound",
)


def judge(seen: Seen) -> Check:
    """The check of torch.compile: not tried where the device is below Inductor's floor."""
    found, stopped = heard(seen, STEP)
    floor = above(seen.floors, COMPILE, device_cc(seen))
    if floor and build.judge(seen).verdict == "pass":
        reason = f"Inductor's Triton needs compute capability {floor.cc}, the device is "
        reason += f"{device_cc(seen)} ({floor.source}); eager mode works"
        return ruled(CHECK, "skip", reason, "machine")
    kernels = {line.name: line.count for line in found.all("kernels")}
    check = replace(CHECK, inputs=Pairs({"kernels made": str(kernels.get("compiled", "none"))}))
    if stopped is None and set(kernels) != {"compiled", "eager"}:
        stopped = "inconclusive", "the kernels made were not counted", "suite"
    if stopped is None and kernels["compiled"] < 1:
        stopped = "fail", "torch.compile came back without a kernel of its own", "image"
    made = kernels.get("eager", 0)
    plain = Control(name="without Inductor", red=made == 0, says=f"{made} kernels made")
    return judged(check, (found, stopped), ("compiled",), _BOUND, plain)
