"""A certificate as Markdown, compact, for the summary of a CI job."""

from collections.abc import Iterator, Sequence

from envbuild.certify.report import compare
from envbuild.certify.report.essence import essence
from envbuild.certify.report.figures import (
    Named,
    interval,
    measured,
    one_line,
    people,
    share,
    short,
    state,
)
from envbuild.certify.report.words import headline, where
from envbuild.values.certificate import Certificate, Check, SuiteResult

_MARKS = {"pass": "✅", "fail": "❌", "void": "⛔", "inconclusive": "❔", "skip": "◽"}
# Whatever Markdown, its tables, autolinks, mentions or formulas could read as theirs.
_ENTITIES = {ord(c): f"&#{ord(c)};" for c in "&<>|`*_[]\\~#@$!:"}


def markdown(certificate: Certificate, found: compare.Comparison | None = None) -> bytes:
    """The summary; equal certificates give equal bytes."""
    return ("\n".join(_lines(certificate, found)) + "\n").encode()


def escaped(text: str) -> str:
    """Foreign text as nothing but text, on one line."""
    line = one_line("".join(c if c.isprintable() else " " for c in text))
    return line.translate(_ENTITIES).replace("www.", "www&#46;")


def _lines(c: Certificate, found: compare.Comparison | None) -> Iterator[str]:
    yield f"## {_MARKS[c.verdict]} {escaped(headline(c))}"
    yield ""
    yield escaped(where(c))
    yield ""
    yield from _table(("suite", "verdict", "passed", "what"), [_suite(c, s) for s in c.suites])
    yield from _open(c.suites)
    figures = list(measured(c))
    if figures:
        heads = ("check", "figure", "of the limit", "95 % interval", "floor", "state")
        yield from _table(heads, [_figure(one) for one in figures])
    if found:
        yield from _compared(found)
    controls = [control for s in c.suites for check in s.checks for control in check.controls]
    red = sum(control.red for control in controls)
    yield f"Controls: {red} of {len(controls)} turned red."
    if c.not_run:
        yield f"Not run: {escaped(', '.join(c.not_run))}."


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _suite(c: Certificate, suite: SuiteResult) -> tuple[str, ...]:
    counted = [check for check in suite.checks if check.core or check.verdict != "skip"]
    passed = sum(check.verdict == "pass" for check in counted)
    name = escaped(suite.name) + ("" if suite.required else " (not required)")
    verdict = f"{_MARKS[suite.verdict]} {suite.verdict}"
    return name, verdict, f"{passed}/{len(counted)}", escaped(essence(c, suite))


def _open(suites: Sequence[SuiteResult]) -> Iterator[str]:
    points = [check for suite in suites for check in suite.checks if _is_open(check)]
    for check in points:
        owner = f" ({check.blame})" if check.blame else ""
        reason = escaped(check.reason or check.says)
        yield f"- {_MARKS[check.verdict]} **{escaped(check.id)}** {check.verdict}{owner}: {reason}"
    if points:
        yield ""


def _is_open(check: Check) -> bool:
    return check.verdict != "pass" and (check.core or check.verdict != "skip")


def _figure(one: Named) -> tuple[str, ...]:
    check, measure = one
    of = share(measure)
    return (
        escaped(short(check)),
        escaped(people(check)),
        "unknown" if of is None else f"{of * 100:.1f} %",
        escaped(interval(measure)),
        "" if measure.floor is None else f"{measure.floor * 100:.0f} %",
        escaped(state(measure)),
    )


def _compared(found: compare.Comparison) -> Iterator[str]:
    head, *rest = compare.lines(found)
    yield f"Compared with the older certificate: {escaped(head.partition(' ')[2])}"
    yield ""
    for line in rest:
        yield f"- {escaped(line)}"
    if rest:
        yield ""
