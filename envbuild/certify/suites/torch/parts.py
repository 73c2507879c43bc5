"""A part of torch, once its build is known to fit the device."""

from envbuild.certify.seen import Seen
from envbuild.certify.suites.frameworks import Heard, gated
from envbuild.certify.suites.torch import build


def heard(seen: Seen, step: str) -> Heard:
    """What a part said; nothing is run of a torch that has no code for the device."""
    return gated(build.judge(seen), seen, step, build.name(seen))
