"""tools.cuda-gdb: the image's debugger stops at a kernel on the GPU and shows its name.

Control: a breakpoint at a kernel that is not there; the program must run to its end.
"""

import re

from envbuild.certify import bugs, facts
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Step
from envbuild.certify.suites.tools import common
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Check, Control

CHECK = Check(
    id="tools.cuda-gdb",
    core=False,
    verdict="pass",
    says="cuda-gdb stops at a kernel on the GPU",
    rule="it hits the breakpoint in the kernel and shows it among the running ones",
)
_STEP = "tools.cuda-gdb"
_CONTROL = "tools.cuda-gdb.nothing"


def steps(bench: Bench, seen: Seen) -> tuple[Step, ...]:
    """A breakpoint in the kernel, and one in a kernel that does not exist."""
    path = facts.tool(seen, "cuda-gdb")
    if path is None:
        return ()
    program = bugs.launch(bench, seen, "clean")
    found = []
    for step, kernel in ((_STEP, "clean"), (_CONTROL, "nothing")):
        orders = (
            "set breakpoint pending on",
            f"break {bugs.kernel(seen, kernel)}",
            "run",
            "info cuda kernels",
            "kill",
        )
        words = (word for order in orders for word in ("-ex", order))
        argv = (path, "--batch", "--nx", *words, "--args", *program)
        found.append(Step(step, argv, common.env(bench), 45.0))
    return tuple(found)


def check(seen: Seen) -> Check:
    """Where it stopped."""
    if stopped := common.stopped(seen, CHECK, "cuda-gdb", _STEP):
        return stopped
    ran = seen.step(_STEP)
    controls = _controls(seen)
    out = ran.out if ran else ""
    if not _hit(seen, out, "clean"):
        reason = f"cuda-gdb did not stop at the kernel: {common.said(seen, _STEP)}"
        return common.concluded(ruled(CHECK, "fail", reason, "image"), controls, 1)
    return common.concluded(CHECK, controls, 1)


def _controls(seen: Seen) -> tuple[Control, ...]:
    """The breakpoint at no kernel; none where the debugger came neither to it nor to the end."""
    other = seen.step(_CONTROL)
    out = other.out if other else ""
    hit, end = _hit(seen, out, "nothing"), "exited normally" in out
    if not (hit or end):
        return ()
    says = "it stopped" if hit else "ran to its end"
    return (Control(name="breakpoint at no kernel", red=not hit, says=says),)


def _hit(seen: Seen, out: str, kernel: str) -> bool:
    """It says that it hit the breakpoint in this kernel, with its grid, and lists it as running."""
    name = re.escape(bugs.kernel(seen, kernel))
    hit = re.search(rf"hit (Temporary )?[Bb]reakpoint .*{name} ?<<<\(\d+,\d+,\d+\)", out)
    return bool(hit and re.search(rf"^\*.*Active .*{name}\(", out, re.MULTILINE))
