"""A part of torch, once its build is known to fit the device."""

from envbuild.certify.answers import Answer
from envbuild.certify.seen import Seen
from envbuild.certify.suites.frameworks import Heard, answer
from envbuild.certify.suites.torch import build


def heard(seen: Seen, step: str) -> Heard:
    """What a part said; nothing is run of a torch that has no code for the device."""
    first = build.judge(seen)
    if first.verdict == "pass":
        return answer(seen, step, build.name(seen))
    verdict = "skip" if first.verdict == "fail" else first.verdict
    return Answer(), (verdict, f"not run: {first.reason}", first.blame)
