"""Suite `tools`: a debugger and profilers of the image work on this GPU, or it is said why not.

Each tool is a check of its own and a side check: an image need not have all of them, and a machine
may refuse one (counters for administrators only, no ptrace, WSL): that is a skip with who can allow
it, and never the image's fault. Core is `tools.works`: at least one of cuda-gdb, nsys and ncu did
its work. So a suite that is required fails with 6 for an image without any, with 4 on a machine
that refuses all of them, and a tool that is there and broken fails it in any case. (The sanitizer
belongs to suite `correct`.)

A tool's exit code proves nothing: nsys ends with 0 when it could not write its report, and reads an
empty one with 0. So the kernel's name must be in what it wrote, a name that no report from before
can hold; reports that are empty, of another kernel or of another run must not hold it.

Everything runs in one container, as root where the image's own user is not: docker gives another
user no effective capabilities.
"""

from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Step, Work
from envbuild.certify.suites.tools import compute, debugger, sampling, systems
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check
from envbuild.values.codec import replace

_TOOLS = (debugger, systems, compute)
_PARTS = (*_TOOLS, sampling)
_ROOT = {"", "0", "root", "0:0", "root:root"}

_WORKS = Check(
    id="tools.works",
    core=True,
    verdict="pass",
    says="a debugger or profiler of the image works on this GPU",
    rule="at least one of cuda-gdb, nsys and ncu did its work",
)


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """All tools that the image has, in one run; None once they ran, or where there is none."""
    if any(session.name == "tools" for session in seen.sessions):
        return None
    steps: list[Step] = [step for part in _PARTS for step in part.steps(bench, seen)]
    own = seen.image.user in _ROOT or seen.subject.kind == "prefix"
    return Work("tools", tuple(steps), user="" if own else "0") if steps else None


def judge(seen: Seen) -> tuple[Check, ...]:
    """A check for each tool, and whether any worked."""
    checks = tuple(part.check(seen) for part in _PARTS)
    return (*checks, _works(checks[: len(_TOOLS)]))


def _works(checks: tuple[Check, ...]) -> Check:
    """The core check, from those of the tools: the first that passed, else why none did."""
    passed = [check for check in checks if check.verdict == "pass"]
    if passed:
        names = ", ".join(check.id.partition(".")[2] for check in passed)
        controls = (control for check in passed for control in check.controls)
        return settle(replace(_WORKS, value=names), *controls)
    order = ("void", "fail", "inconclusive", "skip")
    worst = min(checks, key=lambda check: (order.index(check.verdict), check.blame == "image"))
    reasons = "; ".join(f"{check.id.partition('.')[2]}: {check.reason}" for check in checks)
    return ruled(_WORKS, worst.verdict, reasons, worst.blame)
