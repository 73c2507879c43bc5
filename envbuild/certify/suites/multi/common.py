"""What the checks of several GPUs share."""

import msgspec

from envbuild.certify.seen import Seen, Spoken
from envbuild.certify.suites.common import unrun
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Check
from envbuild.values.host import Gpu


class Line(Spoken, frozen=True):
    """A line of ``probe peers`` or ``probe reduce``; what another kind has keeps its default."""

    ordinal: int = -1
    older: int = 0
    error: str = ""
    path: str = ""
    missing: str = ""
    version: int = 0
    compared: int = -1
    wrong: int = -1
    ranks: int = 0
    direct: int = 0
    gbs: float = 0.0
    available: int = 0
    need: int = 0
    # Python's word, and so not a field's name.
    origin: int = msgspec.field(name="from", default=-1)
    to: int = -1


def whole(seen: Seen) -> tuple[Gpu, ...]:
    """The GPUs that are not divided: only these reach each other."""
    return tuple(gpu for gpu in seen.gpus if gpu.mig is None or not gpu.mig.enabled)


def uuids(seen: Seen) -> tuple[str, ...]:
    """Names of the whole GPUs, for a container that shall have them; empty = all there are."""
    gpus = whole(seen)
    named = tuple(gpu.uuid for gpu in gpus if gpu.uuid)
    return named if len(named) == len(gpus) else ()


def alone(seen: Seen, check: Check) -> Check | None:
    """The check where there are not several whole GPUs, or nothing ran; None where one can judge.

    It is core only where there are several, or where the machine has nothing else for this suite.
    """
    if seen.choice.reason:
        return ruled(check, "skip", seen.choice.reason, "machine")
    count = len(whole(seen))
    if count < 2:
        divided = len(seen.gpus) - count
        what = "one GPU" if count == 1 else "no GPU"
        reason = f"the host has {what} that is not divided by MIG" if divided else "one GPU alone"
        return ruled(check, "skip", reason, "machine", core=not divided)
    if nothing := unrun(seen, "multi"):
        return ruled(check, *nothing)
    return None


def failure(line: Line) -> str:
    """A call that failed, in words."""
    return f"{line.call} answers {line.code} {line.says}".strip()
