"""A certificate as a table; words, bars and colours only, nothing is decided here."""

import re
from collections.abc import Callable, Iterator, Sequence

from envbuild.certify.report.bars import bars
from envbuild.certify.report.essence import essence
from envbuild.certify.report.figures import Named, one_line, short
from envbuild.certify.report.words import headline
from envbuild.certify.suites import before
from envbuild.values.certificate import Certificate, Control, SuiteResult

_GPU_LESS = "--require toolchain needs no GPU"
_COLOURS = {
    "pass": "green",
    "fail": "red",
    "void": "red",
    "inconclusive": "yellow",
    "skip": "dim",
    "CERTIFIED": "green",
    "NOT CERTIFIED": "red",
    "REPLAYED": "yellow",
}
_WIDTH = 120
# Names of controls on one line.
_FEW = 5


def table(certificate: Certificate, saved: str | None = None, width: int = _WIDTH) -> str:
    """The lines that people read.

    Args:
        certificate: the result.
        saved: the file it was written to.
        width: of the terminal, in characters; lines with bars keep within it.
    """
    return "\n".join(_lines(certificate, saved, width))


def coloured(text: str, paint: Callable[[str, str], str]) -> str:
    """The table with its verdicts in colour, by ``paint(word, colour)``.

    Only the first words of a line are ours: foreign text begins none, and gets no colour.
    """
    words = "|".join(word for word in _COLOURS if word.islower())
    heads = "|".join(word for word in _COLOURS if not word.islower())
    line = re.compile(rf"^(\S* +)({words})\b|^()({heads})\b", re.MULTILINE)

    def one(found: re.Match[str]) -> str:
        word = found[2] or found[4]
        return (found[1] or "") + paint(word, _COLOURS[word])

    return line.sub(one, text)


def _lines(c: Certificate, saved: str | None, width: int) -> Iterator[str]:
    longest = max((len(one_line(suite.name)) for suite in c.suites), default=0)
    for suite in c.suites:
        yield from _suite(c, suite, max(longest, 9), width)
    controls = [control for s in c.suites for check in s.checks for control in check.controls]
    if controls:
        yield f"controls  {_controls(controls)}"
    yield _verdict(c, saved)
    if c.not_run:
        yield f"not run   {one_line(', '.join(c.not_run))}"
    if c.recorded == "replayed":
        return
    if c.exit == 0:
        yield f"next      envbuild run {one_line(c.subject.name)}"
    elif (
        c.exit == 4
        and c.device is None
        and not any(s.name == "toolchain" and s.required for s in c.suites)
    ):
        yield f"next      run it where the GPU is; {_GPU_LESS}"


def _suite(c: Certificate, suite: SuiteResult, column: int, width: int) -> Iterator[str]:
    counted = [check for check in suite.checks if check.core or check.verdict != "skip"]
    passed = sum(check.verdict == "pass" for check in counted)
    note = "" if suite.required else " (not required)"
    if note and suite.verdict == "fail" and suite.name in _below(c):
        note = " (not required, but nothing in it may fail)"
    summary = f"{suite.verdict} {passed}/{len(counted)}{note}"
    yield f"{one_line(suite.name):<{column}} {summary}  {essence(c, suite)}".rstrip()
    figures = [Named(check, check.measure) for check in suite.checks if check.measure]
    yield from bars(figures, width)
    open_points: dict[tuple[str, str], list[str]] = {}
    for check in suite.checks:
        if check.verdict == "pass" or (check.verdict == "skip" and not check.core):
            continue
        owner = f" [{check.blame}]" if check.blame else ""
        text = f"{one_line(check.reason)}{owner}"
        open_points.setdefault((check.verdict, text), []).append(one_line(short(check)))
    for (word, text), names in open_points.items():
        yield f"  {word:<12} {', '.join(names)}: {text}"


def _below(c: Certificate) -> tuple[str, ...]:
    """The suites that the required ones build on: what fails there is never certified."""
    return before(tuple(suite.name for suite in c.suites if suite.required))


def _controls(controls: Sequence[Control]) -> str:
    """How many turned red, by a few names; those that did not, by all."""
    red = dict.fromkeys(one_line(control.name) for control in controls if control.red)
    green = dict.fromkeys(one_line(control.name) for control in controls if not control.red)
    text = f"{sum(control.red for control in controls)} of {len(controls)} turned red"
    if red:
        text += f": {', '.join([*red][:_FEW])}" + (", …" if len(red) > _FEW else "")
    return text + (f"; STAYED GREEN: {', '.join(green)}" if green else "")


def _verdict(c: Certificate, saved: str | None) -> str:
    line = headline(c)
    if c.device:
        line += f", cc {c.device.cc}"
    elif c.cc:
        line += f", cc {', '.join(c.cc)} (no GPU used)" if not c.exit else ""
    line += f", {c.subject.kind} {_digest(c.subject.digest)}"
    if c.device:
        line += f" on {c.device.uuid[:12]}… ({c.device.name}, {c.access})"
    return one_line(line) + (f"  → {saved}" if saved else "")


def _digest(digest: str | None) -> str:
    return "without a digest" if digest is None else f"{digest[:19]}…"
