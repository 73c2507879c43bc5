"""tools.sampling: ncu samples counters over time (periodic sampling), where that can be.

On WSL it is not implemented in the GPU's path, whatever is allowed there: it is not tried, and
whoever must have it needs native Linux (github.com/systalyze/utilyze/issues/4, and the list of
limitations in NVIDIA's CUDA on WSL guide). Control: a report without sampling has no such column.
"""

from envbuild.certify import bugs, facts
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Step
from envbuild.certify.suites.tools import common
from envbuild.certify.suites.tools.compute import counted, counting
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import replace

CHECK = Check(
    id="tools.sampling",
    core=False,
    verdict="pass",
    says="ncu samples a counter over time",
    rule="the report has samples for the kernel of this run",
)
METRIC = "pmsampling:sm__cycles_active.avg"
_STEP = "tools.sampling"
_WSL = "periodic sampling is not supported on WSL 2, whatever is allowed: it needs native Linux"


def steps(bench: Bench, seen: Seen) -> tuple[Step, ...]:
    """The clean kernel, sampled."""
    if facts.tool(seen, "ncu") is None or seen.platform == "wsl2":
        return ()
    return counting(bench, seen, _STEP, METRIC, "clean")


def check(seen: Seen) -> Check:
    """Samples, or why there are none: nothing here is ever the image's fault."""
    if seen.platform == "wsl2":
        return ruled(CHECK, "skip", _WSL, "machine")
    if stopped := common.stopped(seen, CHECK, "ncu", _STEP):
        # ncu itself has a check of its own.
        return ruled(CHECK, "skip", stopped.reason, stopped.blame)
    kernel = bugs.kernel(seen, "clean")
    plain = seen.step("tools.ncu.read")
    value = counted(seen.step(f"{_STEP}.read"), kernel, METRIC)
    if value is None:
        reason = f"this ncu has no samples of this GPU: {common.said(seen, _STEP)}"
        return ruled(CHECK, "skip", reason, "machine")
    red = plain is not None and counted(plain, kernel, METRIC) is None
    control = Control(name="report without sampling", red=red, says="no such column")
    return settle(replace(CHECK, value=value), control)
