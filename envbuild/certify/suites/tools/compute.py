"""tools.ncu: the image's Nsight Compute counts in a kernel and writes a report that holds its name.

ncu reads its own report back. Controls: the report of another kernel, an empty report. Counters are
for administrators only unless somebody who may allows them: that refusal is a skip with who can.
"""

import csv

from envbuild.certify import bugs, facts
from envbuild.certify.seen import Ran, Seen
from envbuild.certify.steps import Bench, Step
from envbuild.certify.suites.tools import common
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import replace

CHECK = Check(
    id="tools.ncu",
    core=False,
    verdict="pass",
    says="ncu counts in a kernel on the GPU",
    unit="cycles",
    rule="its new report, read back, has a row of the kernel of this run with what was counted",
)
METRIC = "sm__cycles_elapsed.max"
_STEP, _OTHER, _EMPTY = "tools.ncu", "tools.ncu.other", "tools.ncu.empty"


def steps(bench: Bench, seen: Seen) -> tuple[Step, ...]:
    """The clean kernel and another counted, each report read back; an empty one read, too."""
    path = facts.tool(seen, "ncu")
    if path is None:
        return ()
    (bench.scratch / f"{_EMPTY}.ncu-rep").write_bytes(b"")
    return (
        *counting(bench, seen, _STEP, METRIC, "clean"),
        *counting(bench, seen, _OTHER, METRIC, "race"),
        _reading(bench, path, _EMPTY),
    )


def counting(bench: Bench, seen: Seen, step: str, metric: str, kernel: str) -> tuple[Step, ...]:
    """One kernel counted with one metric, and the report read back."""
    path = facts.tool(seen, "ncu") or "ncu"
    options = ("--force-overwrite", "--metrics", metric, "-o", bench.out(step))
    argv = (path, *options, *bugs.launch(bench, seen, kernel))
    return Step(step, argv, common.env(bench), 60.0), _reading(bench, path, step)


def _reading(bench: Bench, path: str, step: str) -> Step:
    argv = (path, "--import", f"{bench.out(step)}.ncu-rep", "--csv", "--page", "raw")
    return Step(f"{step}.read", argv, common.env(bench), 30.0)


def counted(ran: Ran | None, kernel: str, metric: str) -> str | None:
    """What a report read back says of one kernel's metric; None = nothing."""
    if ran is None or not ran.ok:
        return None
    lines = ran.out.splitlines()
    start = next((i for i, line in enumerate(lines) if '"Kernel Name"' in line), None)
    if start is None:
        return None
    try:
        rows = list(csv.DictReader(lines[start:]))
    except csv.Error:
        return None
    found = (row.get(metric) for row in rows if str(row.get("Kernel Name")).startswith(kernel))
    return next((value for value in found if value), None)


def check(seen: Seen) -> Check:
    """What its report says of the kernel."""
    if stopped := common.stopped(seen, CHECK, "ncu", _STEP):
        return stopped
    value = counted(seen.step(f"{_STEP}.read"), bugs.kernel(seen, "clean"), METRIC)
    controls = _controls(seen)
    if value is None:
        reason = f"its report has no row of the kernel: {_why(seen)}"
        return common.concluded(ruled(CHECK, "fail", reason, "image"), controls, 2)
    return common.concluded(replace(CHECK, value=value), controls, 2)


def _controls(seen: Seen) -> list[Control]:
    """The report of another kernel, if there is one, and the empty one, if ncu ended on it."""
    named, other = bugs.kernel(seen, "clean"), bugs.kernel(seen, "race")
    another, empty = (seen.step(f"{step}.read") for step in (_OTHER, _EMPTY))
    found = []
    if counted(another, other, METRIC) or counted(another, named, METRIC):
        red = counted(another, named, METRIC) is None
        says = f"a row of {other if red else named}"
        found.append(Control(name="report of another kernel", red=red, says=says))
    if empty is not None and not empty.timed_out and not empty.signal:
        red = counted(empty, named, METRIC) is None
        says = common.said(seen, f"{_EMPTY}.read")
        found.append(Control(name="empty report", red=red, says=says))
    return found


def _why(seen: Seen) -> str:
    """The reader's words if it failed, else those of the run that should have counted."""
    reading = seen.step(f"{_STEP}.read")
    return common.said(seen, f"{_STEP}.read" if reading and not reading.ok else _STEP)
