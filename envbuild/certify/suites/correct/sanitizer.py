"""correct.sanitizer: the image's compute-sanitizer finds what is wrong, and nothing else.

memcheck, racecheck and synccheck each run on a kernel with one planted bug of their kind, which
they must name, and on the clean kernel, where they must find nothing: that is the control, for a
tool that always complains proves nothing. Out-of-bounds stores do not fault by themselves (4 KiB to
64 MiB past an allocation went through on an H200), so nothing but the sanitizer finds them.

A side check: the image need not have the tool. A machine that refuses it (a sandbox; WSL without
the debugger interface on the Windows side) is a skip with that reason.
"""

import re
from typing import NamedTuple

from envbuild.certify import bugs, facts
from envbuild.certify.answers import ended
from envbuild.certify.arithmetic import terms
from envbuild.certify.refusals import refused
from envbuild.certify.seen import Ran, Seen
from envbuild.certify.steps import Bench, Step, Work
from envbuild.certify.suites.common import unrun
from envbuild.certify.texts import last_line
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import replace

NAME = "correct.sanitizer"
_FOUND = 86  # the exit code that we ask for where something is found
_SUMMARY = re.compile(r"^========= (ERROR|RACECHECK) SUMMARY: (\d+) ", re.MULTILINE)
_CLEAN = "clean"

CHECK = Check(
    id=NAME,
    core=False,
    verdict="pass",
    says="compute-sanitizer finds a planted bug of each kind",
    unit="bugs found",
    limit="3",
    rule="memcheck, racecheck and synccheck name the kernel with their bug",
)


class Tool(NamedTuple):
    """One tool of the sanitizer, the kernel with its bug, and how it names that bug."""

    name: str
    bug: str
    text: str


# Words of compute-sanitizer 2025.3 on an H200, in racecheck of 2021 too.
TOOLS = (
    Tool("memcheck", "out_of_bounds", r"Invalid __global__ write of size \d"),
    Tool("racecheck", "race", r"Race reported|hazard detected"),
    Tool("synccheck", "divergent", r"Barrier error detected"),
)


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """Each tool on its bug and on the clean kernel; None where it ran, or is not in the image."""
    path = facts.tool(seen, "compute-sanitizer")
    if path is None or any(s.name == NAME for s in seen.sessions):
        return None
    env = (f"TMPDIR={bench.out()}", f"HOME={bench.out()}")
    steps = []
    for tool in TOOLS:
        argv = (path, "--tool", tool.name, "--error-exitcode", str(_FOUND))
        for kernel in (tool.bug, _CLEAN):
            program = bugs.launch(bench, seen, kernel)
            steps.append(Step(_step(tool, kernel), (*argv, *program), env, 30.0))
    return Work(NAME, tuple(steps))


def _step(tool: Tool, kernel: str) -> str:
    return f"{NAME}.{tool.name}.{kernel}"


def check(seen: Seen) -> Check:
    """What the three tools found."""
    if nothing := unrun(seen, "correct"):
        return ruled(CHECK, *nothing)
    if facts.tool(seen, "compute-sanitizer") is None:
        return ruled(CHECK, "skip", "the image has no compute-sanitizer", "image")
    found = 0
    controls = []
    for tool in TOOLS:
        bug, clean = (seen.step(_step(tool, kernel)) for kernel in (tool.bug, _CLEAN))
        if open_ := _open(seen, tool, bug, clean):
            return open_
        named = bugs.kernel(seen, _CLEAN)
        red = _findings(clean) == 0 and not re.search(f"^=.*{named}", _out(clean), re.MULTILINE)
        says = f"{_findings(clean)} findings in the clean kernel"
        controls.append(Control(name=tool.name, red=red, says=says))
        found += _names(seen, tool, bug)
    now = replace(
        CHECK,
        value=str(found),
        expression="3",
        bounds=("found == limit",),
        terms=terms({"found": found}),
    )
    missed = [t.name for t in TOOLS if not _names(seen, t, seen.step(_step(t, t.bug)))]
    if missed:
        now = ruled(now, "fail", f"{', '.join(missed)} did not name the planted bug", "image")
    return settle(now, *controls)


def _open(seen: Seen, tool: Tool, bug: Ran | None, clean: Ran | None) -> Check | None:
    """The check where a tool did not come to a summary; None where it did."""
    for kernel, ran in ((_CLEAN, clean), (tool.bug, bug)):
        if ran is not None and _findings(ran) is not None and not ran.timed_out:
            continue
        if why := refused(seen, ran):
            return ruled(CHECK, "skip", f"{tool.name}: {why}", "machine")
        step = _step(tool, kernel)
        if stopped := ended(seen, step):
            return ruled(CHECK, *stopped)
        said = last_line(_out(ran))
        return ruled(CHECK, "inconclusive", f"{tool.name} gave no summary: {said}", "suite")
    return None


def _out(ran: Ran | None) -> str:
    return ran.out if ran else ""


def _findings(ran: Ran | None) -> int | None:
    """What the tool counted; None = it came to no summary, or two."""
    found = _SUMMARY.findall(_out(ran))
    return int(found[0][1]) if len(found) == 1 else None


def _names(seen: Seen, tool: Tool, ran: Ran | None) -> bool:
    """The tool found something of its kind in the kernel with the bug."""
    out = _out(ran)
    kernel = re.search(f"^=.*{bugs.kernel(seen, tool.bug)}", out, re.MULTILINE)
    return bool(_findings(ran) and re.search(tool.text, out) and kernel)
