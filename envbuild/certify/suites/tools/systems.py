"""tools.nsys: the image's Nsight Systems writes a new report that holds the kernel's name.

The report is exported as SQLite by nsys itself and searched by our own program: nsys's tables need
a Python. Controls: the report of another kernel, an empty file, a file that names the kernel of
another run.
"""

from envbuild.certify import bugs, facts
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Step
from envbuild.certify.suites.tools import common
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import replace

CHECK = Check(
    id="tools.nsys",
    core=False,
    verdict="pass",
    says="nsys traces a kernel on the GPU",
    unit="times named",
    limit="1",
    rule="its new report, exported, holds the name of the kernel of this run",
)
_STEP = "tools.nsys"
_OTHER, _EMPTY, _STALE = (f"{_STEP}.{name}" for name in ("other", "empty", "stale"))


def steps(bench: Bench, seen: Seen) -> tuple[Step, ...]:
    """A trace of the clean kernel and one of another, each looked into; and two files of ours."""
    path = facts.tool(seen, "nsys")
    if path is None:
        return ()
    (bench.scratch / _EMPTY).write_bytes(b"")
    before = bugs.kernel(seen, "clean").replace(seen.nonce, seen.nonce[::-1])
    (bench.scratch / _STALE).write_text(before, encoding="ascii")
    found = []
    for step, kernel in ((_STEP, "clean"), (_OTHER, "race")):
        out = bench.out(step)
        options = ("-t", "cuda", "-s", "none", "--force-overwrite", "true", "--export", "sqlite")
        argv = (path, "profile", *options, "-o", out, *bugs.launch(bench, seen, kernel))
        found.append(Step(step, argv, common.env(bench), 60.0))
        found.append(common.looking(bench, seen, f"{step}.holds", f"{out}.sqlite"))
    found += [common.looking(bench, seen, f"{s}.holds", bench.out(s)) for s in (_EMPTY, _STALE)]
    return tuple(found)


def check(seen: Seen) -> Check:
    """What its report holds."""
    if stopped := common.stopped(seen, CHECK, "nsys", _STEP):
        return stopped
    answer = common.held(seen, f"{_STEP}.holds")
    line = answer.one("holds")
    if line is None:
        why = (answer.verdict, answer.reason, answer.blame)
        open_ = ("inconclusive", "its report was not looked into", "suite")
        return ruled(CHECK, *(open_ if answer.whole else why))
    controls = tuple(
        control
        for step, name in (
            (_OTHER, "report of another kernel"),
            (_EMPTY, "empty report"),
            (_STALE, "report of another run"),
        )
        if (control := _control(seen, step, name))
    )
    now = replace(CHECK, value=str(line.times))
    if line.bytes < 0:
        reason = f"nsys ended with 0 and left no report: {common.said(seen, _STEP)}"
        return common.concluded(ruled(now, "fail", reason, "image"), controls, 3)
    if not line.times:
        reason = f"its report does not hold the kernel: {common.said(seen, _STEP)}"
        return common.concluded(ruled(now, "fail", reason, "image"), controls, 3)
    return common.concluded(now, controls, 3)


def _control(seen: Seen, step: str, name: str) -> Control | None:
    """A file that must not hold the name; None where there was none to look into."""
    line = common.held(seen, f"{step}.holds").one("holds")
    if line is None or line.bytes < 0:
        return None
    says = f"{line.times} times in {line.bytes} bytes"
    return Control(name=name, red=line.times == 0, says=says)
