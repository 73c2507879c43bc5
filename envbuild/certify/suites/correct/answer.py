"""What the runner says of the kernels of suite `correct`, and whose fault a wrong answer is."""

from envbuild.certify import answers
from envbuild.certify.answers import Answer
from envbuild.certify.seen import Seen, Spoken
from envbuild.certify.suites import common
from envbuild.certify.suites.common import last_line
from envbuild.certify.suites.correct.work import compiled, origin
from envbuild.values.certificate import Blame, Control, Verdict


class Line(Spoken, frozen=True):
    """One line of ``probe correct`` or ``probe fault`` (kernels/runner/correct.c).

    Attributes:
        name, which: the format, and what was done with it.
        compared, wrong, unreal, first: results, those out of bounds, those that are no number or
            infinite, the first wrong one.
        expected: how many wrong ones a control must give; 0 = most of them.
        worst, error: largest error by its bound, and by ``sum |a * b|``.
        answer, right: of a launch, and whether what it stored is there.
    """

    which: str = ""
    compared: int = 0
    wrong: int = -1
    unreal: int = 0
    first: int = -1
    expected: int = 0
    worst: float = 0.0
    error: float = 0.0
    answer: int = -1
    right: int = 0


Stop = tuple[Verdict, str, Blame | None]


def read(seen: Seen, step: str = "correct") -> Answer[Line]:
    """The answer of a step, once it is whole and of the device that `smoke` ran on."""
    answer = answers.read(seen, step, Line, once=("device",))
    if not answer.whole:
        return answer
    device, end = answer.one("device"), answer.one("end")
    if device is None:
        reason = f"{step}: the device did not come up{said(answer)}"
        return Answer((), "fail", reason, "machine")
    gpu = seen.choice.gpu
    if gpu and gpu.uuid and gpu.uuid.startswith("GPU-") and gpu.uuid != device.uuid:
        reason = f"{gpu.uuid} was chosen, {device.uuid} came in"
        return Answer((), "fail", reason, "machine")
    if end is None:
        return Answer(answer.lines, "inconclusive", f"{step} did not come to its end", "machine")
    return answer


def stopped(seen: Seen, file: str = "correct") -> Stop | None:
    """(verdict, reason, blame) of every check of a file where nothing can be judged; else None."""
    if none := common.unrun(seen, "correct"):
        return none
    if origin(seen) == "image" and not compiled(seen, file):
        return _not_made(seen, file)
    answer = read(seen)
    if answer.whole:
        return None
    if answer.verdict == "inconclusive" and right(seen, "correct.reference"):
        # The prebuilt code came through on this GPU: what hung or died is the image's code.
        return "fail", answer.reason, "image"
    return answer.verdict, answer.reason, answer.blame


def _not_made(seen: Seen, file: str) -> Stop:
    step = f"correct.compile.{file}"
    if early := common.broken(seen.step(step), f"compiling {file}.cu"):
        return (*early, "machine")
    ran = seen.step(step)
    reason = f"its compiler does not make {file}.cu: {last_line(ran.err or ran.out) if ran else ''}"
    return "fail", reason, "image"


def right(seen: Seen, step: str) -> bool:
    """Everything in the answer of a step is right."""
    answer = read(seen, step)
    end = answer.one("end")
    results = [line for line in answer.lines if line.event in {"number", "atomics"}]
    return (
        answer.whole
        and end is not None
        and not end.bad
        and bool(results)
        and all(line.wrong == 0 for line in results)
    )


def owner(seen: Seen) -> Blame:
    """Who owns a fault of the code that was judged: the image where prebuilt code is right."""
    return "image" if right(seen, "correct.reference") else "machine"


def said(answer: Answer[Line]) -> str:
    """The failed call of an answer, to be put behind a reason; empty = none failed."""
    failed = answer.one("failed")
    return f": {failed.call} answers {failed.code} {failed.says}".rstrip() if failed else ""


def control(line: Line, name: str) -> Control:
    """A control that counts wrong results: as many as expected, else more than half of all."""
    enough = line.wrong == line.expected if line.expected else line.wrong * 2 > line.compared
    says = f"{line.wrong} of {line.compared} wrong"
    if line.expected:
        says += f", {line.expected} expected"
    return Control(name=name, red=enough and 0 < line.wrong <= line.compared, says=says)
