"""What several checks ask of the observations."""

from envbuild.certify import facts
from envbuild.certify.seen import Ran, Seen
from envbuild.certify.texts import NO_GLIBC as NO_GLIBC
from envbuild.certify.texts import last_line as last_line
from envbuild.certify.texts import no_room as no_room
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Blame, Check, Verdict


def broken(ran: Ran | None, what: str) -> tuple[Verdict, str] | None:
    """(verdict, reason) of a step that did not come to its end; None where it did."""
    if ran is None:
        return "inconclusive", f"{what} was not tried: the run ended before it"
    if ran.timed_out:
        return "inconclusive", f"{what} did not end within {ran.ms // 1000} s"
    if full := no_room(ran):
        return "inconclusive", full
    return None


def unrun(seen: Seen, suite: str) -> tuple[Verdict, str, Blame | None] | None:
    """(verdict, reason, blame) where nothing of a suite ran; None where something did.

    Nothing runs without a GPU, nor on one where `smoke` did not come through, nor after Ctrl-C.
    """
    if seen.choice.reason:
        return "skip", seen.choice.reason, "machine"
    if any(s.name == suite or s.name.startswith(f"{suite}.") for s in seen.sessions):
        return None
    why = "the run was interrupted" if seen.interrupted else "smoke did not come through"
    return "inconclusive", f"not tried: {why}", None


def no_compiler(seen: Seen, check: Check) -> Check | None:
    """The check where nothing can be compiled inside; None where something can."""
    if facts.compiler(seen):
        return None
    if seen.step("which") is None:
        return ruled(check, "inconclusive", "the image was not looked at", "suite")
    if seen.image.labels.get("envbuild.stage") == "devel":
        reason = "its label promises a compiler, and neither nvcc nor nvrtc is on its PATH"
        return ruled(check, "fail", reason, "image")
    runtime = seen.terms.stage == "runtime"
    reason = (
        "the runtime stage has no compiler; prebuilt code is used"
        if runtime
        else "the image has no compiler (neither nvcc nor nvrtc on its PATH)"
    )
    return ruled(check, "skip", reason, "image", core=not runtime)


def another_release(seen: Seen, found: str | None, what: str) -> str:
    """Why a version inside is not of the CUDA release that the image promises; empty = it is."""
    promised = (seen.terms.cuda or "").split(".")[:2]
    if not found or len(promised) < 2 or found.split(".")[:2] == promised:
        return ""
    return f"the image promises CUDA {seen.terms.cuda}, its {what} is {found}"


def runtime_library(seen: Seen) -> str | None:
    """The library that the loader check is about: the promised CUDA's, else one that resolves."""
    loaded = facts.loads(seen.step("loads")) or {}
    names = [name for name in loaded if name.startswith("libcudart.so.")]
    if facts.compiler(seen) == "nvrtc":
        names += [name for name in loaded if name.startswith("libnvrtc.so.")]
    major = (seen.terms.cuda or "").split(".")[0]
    if major:
        names = [name for name in names if name.split(".so.")[1].split(".")[0] == major]
    return next((name for name in names if loaded[name].path), names[0] if names else None)
