"""CUDA graphs: warm-up on a side stream, capture, replay."""

from envbuild.certify.seen import Seen
from envbuild.certify.suites import bounds
from envbuild.certify.suites.frameworks import Said, judged
from envbuild.certify.suites.torch.parts import heard
from envbuild.values.certificate import Check, Control

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


def judge(seen: Seen) -> Check:
    """The check of graphs."""
    found, stopped = heard(seen, STEP)
    if stopped and stopped[0] == "fail" and (line := found.one("error")):
        stopped = (stopped[0], _explained(stopped[1], line.says), stopped[2])
    if stopped is None and found.one("refused") is None:
        stopped = "inconclusive", "the capture that must be refused was not tried", "suite"
    names = ("replay 1", "replay 2", "replay after a refusal")
    return judged(CHECK, (found, stopped), names, _BOUND, *_refused(found.one("refused")))


def _refused(line: Said | None) -> tuple[Control, ...]:
    """The capture with a wait in it: refused, for the reason that it waits."""
    if line is None:
        return ()
    red = any(text in line.says for text in _REFUSALS)
    says = (
        "refused: a capture only records, and nothing may wait for the GPU inside it"
        if red
        else f"not refused: {line.says[:120] or 'the wait was taken'}"
    )
    return (Control(name=line.name, red=red, says=says),)


def _explained(reason: str, text: str) -> str:
    """With the three known causes, where a capture itself was refused."""
    if not any(word in text for word in _REFUSALS):
        return reason
    return (
        f"{reason} - the capture was refused: a library was first used inside it (no warm-up), or "
        "something waited for the GPU, or used the default stream"
    )
