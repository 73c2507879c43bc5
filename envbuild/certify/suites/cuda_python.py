"""Suite `cuda-python`: driver and NVRTC through its bindings, and through `cuda.core`.

Core: bindings. Side: core (skipped where the package is not there).
"""

from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Work
from envbuild.certify.suites.common import unrun
from envbuild.certify.suites.frameworks import (
    Said,
    answer,
    installed,
    judged,
    missing,
    refusal,
    step,
)
from envbuild.certify.suites.smoke import BAD_LAUNCH
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

BINDINGS_STEP, CORE_STEP = "cuda-python.bindings", "cuda-python.core"
_PACKAGES = ("cuda-bindings", "cuda-python")
BINDINGS = Check(
    id="cuda-python.bindings",
    core=True,
    verdict="pass",
    says="a kernel is compiled by NVRTC, loaded and launched through the bindings, and is right",
    unit="wrong elements",
    limit="0",
    rule="every call answers success; all elements are compared, none differs",
)
CORE = Check(
    id="cuda-python.core",
    core=False,
    verdict="pass",
    says="the same through the objects of cuda.core",
    unit="wrong elements",
    limit="0",
    rule="all elements are compared, none differs",
)


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    stopped = missing(seen, "cuda-python", *_PACKAGES) or unrun(seen, "cuda-python")
    if stopped:
        return ruled(BINDINGS, *stopped), ruled(CORE, *stopped)
    what = " ".join(installed(seen, *_PACKAGES) or ())
    found, stopped = answer(seen, BINDINGS_STEP, what)
    build, bad, refused = found.one("build"), found.one("answer"), found.one("refused")
    if stopped is None and (bad is None or refused is None):
        stopped = "inconclusive", "a control did not run", "suite"
    inputs = Pairs({"NVRTC": (build.nvrtc if build else "") or "none"})
    check = replace(BINDINGS, value=what, inputs=inputs)
    controls = (*_bad_launch(bad), *refusal(refused, "no_such_name"))
    bindings = judged(check, (found, stopped), ("add",), lambda _: 0.0, *controls)
    return bindings, judged(CORE, answer(seen, CORE_STEP, what), ("add",))


def _bad_launch(line: Said | None) -> tuple[Control, ...]:
    if line is None:
        return ()
    says = f"4096 threads a block answer {line.code}"
    return (Control(name="bad launch", red=line.code in BAD_LAUNCH, says=says),)


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """One run of both."""
    if any(session.name == "cuda-python" for session in seen.sessions):
        return None
    if missing(seen, "cuda-python", *_PACKAGES):
        return None
    names = (BINDINGS_STEP, CORE_STEP)
    return Work("cuda-python", tuple(step(bench, seen, name) for name in names))
