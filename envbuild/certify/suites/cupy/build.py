"""What cupy was built for, against the NVRTC that it finds."""

import re

from envbuild.certify.floors import above
from envbuild.certify.seen import Seen
from envbuild.certify.suites.common import unrun
from envbuild.certify.suites.frameworks import Stopped, answer, device_cc, installed, missing
from envbuild.certify.suites.words import plain
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

STEP = "cupy.build"
PACKAGES = ("cupy-cuda*", "cupy")
CHECK = Check(
    id="cupy.build",
    core=True,
    verdict="pass",
    says="cupy is built for this device, and finds an NVRTC of the CUDA that it is built for",
    formula="major(NVRTC) = major(CUDA of the wheel)",
    rule="the majors are equal, and the device reaches the package's floor",
)
# cupy-cuda13x, and cupy-cuda117 of the time when each minor had its own.
_WHEEL = re.compile(r"cupy-cuda(\d\d)(?:x|\d)")


def name(seen: Seen) -> str:
    """``cupy-cuda13x 14.2.0``."""
    return " ".join(installed(seen, *PACKAGES) or ("cupy",))


def judge(seen: Seen) -> Check:
    """The check of the build."""
    if stopped := missing(seen, "cupy", *PACKAGES) or unrun(seen, "cupy"):
        return ruled(CHECK, *stopped)
    package, version = installed(seen, *PACKAGES) or ("cupy", "")
    found, stopped = answer(seen, STEP, name(seen))
    line = found.one("build")
    if stopped or line is None:
        return ruled(CHECK, *(stopped or ("inconclusive", "cupy says nothing", "suite")))
    match = _WHEEL.match(package)
    cuda = match[1] if match else line.cuda.partition(".")[0]
    cuda = cuda if cuda.isdecimal() else ""
    inputs = {"cupy": f"{package} {version}", "built for CUDA": cuda or "unknown"}
    inputs |= {"NVRTC": line.nvrtc or "none", "device": device_cc(seen)}
    check = replace(CHECK, value=f"{package} {version}", inputs=Pairs(inputs))
    if stopped := _unfit(seen, package, version, line.nvrtc, line.says, cuda):
        return ruled(check, *stopped)
    other = str(int(cuda) + 1)
    red = not _fits(line.nvrtc, other)
    says = f"NVRTC {line.nvrtc} for a wheel of CUDA {other}: {'refused' if red else 'taken'}"
    return settle(check, Control(name="a wheel of another CUDA", red=red, says=says))


def _unfit(  # noqa: PLR0917
    seen: Seen, package: str, version: str, nvrtc: str, says: str, cuda: str
) -> Stopped | None:
    """Why this cupy cannot compile here; None = it can."""
    what = f"{package} {version}"
    if floor := above(seen.floors, package, device_cc(seen)):
        reason = f"{what} needs compute capability {floor.cc}, the device is {device_cc(seen)} "
        return "fail", f"{reason}({floor.source})", "image"
    if not nvrtc:
        word = plain((says, ""), what, device_cc(seen), seen.driver or "")
        reason = word.reason if word.text else f"NVRTC cannot be loaded: {says or 'no reason'}"
        return "fail", f"{reason}; the package {package}[ctk] or a devel image has it", "image"
    if not cuda:
        return "inconclusive", "cupy does not say which CUDA it was built for", "image"
    if not _fits(nvrtc, cuda):
        return "fail", f"NVRTC {nvrtc} does not match {what}, which needs NVRTC {cuda}", "image"
    return None


def _fits(nvrtc: str, cuda: str) -> bool:
    """NVRTC and the wheel are of one CUDA major."""
    return nvrtc.partition(".")[0] == cuda
