"""Suite `numba`: kernels that numba compiles in the image. Core: kernels."""

from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Work
from envbuild.certify.suites.common import unrun
from envbuild.certify.suites.frameworks import answer, installed, judged, missing, step
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Check
from envbuild.values.codec import Pairs, replace

STEP = "numba.kernels"
_PACKAGES = ("numba-cuda", "numba")
KERNELS = Check(
    id="numba.kernels",
    core=True,
    verdict="pass",
    says="kernels that numba compiles in the image (elementwise; shared memory, barriers and an "
    "atomic) are right in every element",
    unit="wrong elements",
    limit="0",
    rule="all elements are compared with the CPU, none differs",
)


def judge(seen: Seen) -> tuple[Check, ...]:
    """All checks of the suite."""
    if stopped := missing(seen, "numba", *_PACKAGES) or unrun(seen, "numba"):
        return (ruled(KERNELS, *stopped),)
    name, version = installed(seen, *_PACKAGES) or ("numba", "")
    found, stopped = answer(seen, STEP, f"{name} {version}")
    check = KERNELS
    if line := found.one("build"):
        inputs = {"numba": line.version, "numba-cuda": line.other or "none (numba's own)"}
        inputs |= {"NVRTC": line.nvrtc or "none", "CUDA runtime": line.cuda or "none"}
        check = replace(check, value=f"{name} {version}", inputs=Pairs(inputs))
    return (judged(check, (found, stopped), ("add", "reduction")),)


def next_work(bench: Bench, seen: Seen) -> Work | None:
    """One run of its kernels."""
    if any(session.name == "numba" for session in seen.sessions):
        return None
    if missing(seen, "numba", *_PACKAGES):
        return None
    return Work("numba", (step(bench, seen, STEP, seconds=120.0),))
