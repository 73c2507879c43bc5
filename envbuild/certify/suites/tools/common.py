"""What the checks of all tools share."""

from collections.abc import Sequence

from envbuild.certify import facts
from envbuild.certify.answers import Answer, ended, read
from envbuild.certify.refusals import refused
from envbuild.certify.seen import Seen, Spoken
from envbuild.certify.steps import Bench, Step
from envbuild.certify.suites.common import unrun
from envbuild.certify.texts import last_line
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control


def env(bench: Bench) -> tuple[str, ...]:
    """Tools keep settings and locks in the user's folders, which an image may lack or deny."""
    return (f"TMPDIR={bench.out()}", f"HOME={bench.out()}")


def stopped(seen: Seen, check: Check, tool: str, step: str) -> Check | None:
    """The check where the tool is not there, or did not end well; None where it did.

    What the machine refuses is a skip; an image that lacks the tool, too. Anything else that ends
    it is open: it is seldom clear whose it is.
    """
    if seen.choice.reason:
        return ruled(check, "skip", seen.choice.reason, "machine")
    if facts.tool(seen, tool) is None:
        known = seen.step("which") is not None
        reason = f"the image has no {tool}" if known else "the image was not looked at"
        return ruled(check, "skip" if known else "inconclusive", reason, "image")
    if nothing := unrun(seen, "tools"):
        return ruled(check, *nothing)
    ran = seen.step(step)
    if why := refused(seen, ran):
        return ruled(check, "skip", why, "machine")
    if ran is not None and ran.rc == 127 and "shared librar" in ran.err:
        # The loader of the image says it: the tool lacks a library.
        return ruled(check, "fail", f"{tool}: {ran.err.strip()[-300:]}", "image")
    if why_not := ended(seen, step):
        return ruled(check, *why_not)
    return None


class Held(Spoken, frozen=True):
    """A line of ``probe holds``: bytes of the file (-1 = none), how often the name is in it."""

    bytes: int = -1
    times: int = 0


def looking(bench: Bench, seen: Seen, step: str, path: str) -> Step:
    """Our own look into a file for the clean kernel's name."""
    argv = (bench.probe("probe"), "holds", "--nonce", seen.nonce, path, "clean")
    return Step(step, argv, (), 20.0)


def held(seen: Seen, step: str) -> Answer[Held]:
    """What it found."""
    return read(seen, step, Held, once=("holds",))


def concluded(check: Check, controls: Sequence[Control], wanted: int) -> Check:
    """The check with its controls; a pass of which one did not run is open."""
    if check.verdict == "pass" and len(controls) < wanted:
        missing = f"{wanted - len(controls)} of {wanted} controls did not run"
        check = ruled(check, "inconclusive", missing, "machine")
    return settle(check, *controls)


def said(seen: Seen, step: str) -> str:
    """The tool's own last words, or those that name an error."""
    ran = seen.step(step)
    return last_line(f"{ran.out}\n{ran.err}") if ran else "nothing"
