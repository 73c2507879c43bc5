"""tools.cuda-gdb: the image's debugger stops at a kernel on the GPU and shows its name.

Control: a breakpoint at a kernel that is not there; the program must run to its end.
"""

import re

from envbuild.certify import bugs, facts
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Step
from envbuild.certify.suites.tools import common
from envbuild.certify.texts import last_line
from envbuild.certify.verdicts import ruled, settle
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
    ran, other = seen.step(_STEP), seen.step(_CONTROL)
    controls: tuple[Control, ...] = ()
    if other is not None and not other.timed_out:
        red = not _hit(seen, other.out, "nothing") and "exited normally" in other.out
        says = "ran to its end" if red else last_line(other.out)
        controls = (Control(name="breakpoint at no kernel", red=red, says=says),)
    out = ran.out if ran else ""
    if not _hit(seen, out, "clean"):
        reason = f"cuda-gdb did not stop at the kernel: {last_line(out)}"
        return settle(ruled(CHECK, "fail", reason, "image"), *controls)
    return settle(CHECK, *controls)


def _hit(seen: Seen, out: str, kernel: str) -> bool:
    """It says that it hit the breakpoint in this kernel, with its grid, and lists it as running."""
    name = re.escape(bugs.kernel(seen, kernel))
    hit = re.search(rf"hit (Temporary )?[Bb]reakpoint .*{name} ?<<<\(\d+,\d+,\d+\)", out)
    return bool(hit and re.search(rf"^\*.*Active .*{name}\(", out, re.MULTILINE))
