"""CUDA graphs: warm-up on a side stream, capture, replay."""

from envbuild.certify.seen import Seen
from envbuild.certify.suites import bounds
from envbuild.certify.suites.frameworks import judged, refusal
from envbuild.certify.suites.torch.parts import heard
from envbuild.values.certificate import Check

STEP = "torch.graph"
# 256 products, one more sum, and the result.
_BOUND = bounds.of_f32(258)
CHECK = Check(
    id="torch.graph",
    core=True,
    verdict="pass",
    says="a captured product replays right with changed inputs, and again after a capture that "
    "had to be refused",
    formula="258 roundings of f32, relative (all terms are positive)",
    rule="warm-up on a side stream, capture, replay; each replay is within the bound of f32",
)
# cudaErrorStreamCaptureUnsupported and what follows it.
_REFUSALS = ("not permitted when stream is capturing", "StreamCapture", "during capture")
_WHY = "refused: a capture only records, and nothing may wait for the GPU inside it"


def judge(seen: Seen) -> Check:
    """The check of graphs."""
    found, stopped = heard(seen, STEP)
    if stopped and stopped[0] == "fail" and (line := found.one("error")):
        stopped = (stopped[0], _explained(stopped[1], line.says), stopped[2])
    refused = found.one("refused")
    if stopped is None and refused is None:
        stopped = "inconclusive", "the capture that must be refused was not tried", "suite"
    names = ("replay 1", "replay 2", "replay after a refusal")
    return judged(CHECK, (found, stopped), names, _BOUND, *refusal(refused, *_REFUSALS, says=_WHY))


def _explained(reason: str, text: str) -> str:
    """With the three known causes, where a capture itself was refused."""
    if not any(word in text for word in _REFUSALS):
        return reason
    return (
        f"{reason} - the capture was refused: a library was first used inside it (no warm-up), or "
        "something waited for the GPU, or used the default stream"
    )
