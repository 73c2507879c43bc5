"""Checks of the arithmetic: every format that the GPU has, against this machine's in f64.

Two products a format. Of small integers every result is exact, whatever the order of the sums:
none may differ in a bit. Of reals each result lies within the bound of `formats`. What is no
number is never within it.
"""

from envbuild.certify.answers import Answer
from envbuild.certify.arithmetic import terms
from envbuild.certify.seen import Seen
from envbuild.certify.suites.correct import answer as answered
from envbuild.certify.suites.correct.answer import Line
from envbuild.certify.suites.correct.formats import (
    COLUMNS,
    DEPTH,
    FORMATS,
    ROWS,
    Format,
    lacking,
)
from envbuild.certify.suites.correct.work import origin, too_old
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check
from envbuild.values.codec import Pairs, replace

_CONTROLS = {
    "planted": "no number, an infinity and one bit are planted",
    "zeros": "nothing is launched",
    "stride": "wrong stride",
    "operand": "another operand",
}
_NARROW = "held to the bound of its wider type"


def checks(seen: Seen) -> tuple[Check, ...]:
    """One check a format."""
    return tuple(_check(seen, form) for form in FORMATS)


def _check(seen: Seen, form: Format) -> Check:
    check = Check(
        id=f"correct.{form.name.replace('_', '-')}",
        core=True,
        verdict="pass",
        says=f"products in {form.says} are what they must be",
        unit="of the bound",
        limit="1",
        formula=f"|c - sum(a*b)| <= g / (1 - g) * sum|a*b|, g = {form.bound}",
        inputs=Pairs(
            {
                "size": f"{ROWS} x {COLUMNS}, {DEPTH} terms",
                "operands": form.operands,
                "sums": form.sums,
                "code": origin(seen),
            }
        ),
        rule="integers: every result is exact; reals: every result is within the bound",
    )
    if seen.choice.reason:
        return ruled(check, "skip", seen.choice.reason, "machine")
    if reason := lacking(seen, form) or too_old(seen, form):
        return ruled(check, "skip", reason, None, core=False)
    if stop := answered.stopped(seen, form.file):
        return ruled(check, *stop)
    return _judged(seen, form, check, answered.read(seen))


def _judged(seen: Seen, form: Format, check: Check, answer: Answer[Line]) -> Check:
    exact = _one(answer, "number", form, "integers")
    real = _one(answer, "number", form, "reals")
    if exact is None or real is None:
        tried = any(line.name == form.name for line in answer.all("trying"))
        if tried and answer.one("failed"):
            reason = f"no result{answered.said(answer)}"
            return ruled(check, "fail", reason, answered.owner(seen))
        return ruled(check, "inconclusive", "not tried: the run ended before it", "suite")
    for line in (exact, real):
        if line.compared != ROWS * COLUMNS:
            reason = f"{line.compared} of {ROWS * COLUMNS} results were compared"
            return ruled(check, "inconclusive", reason, "suite")
        if not 0 <= line.unreal <= line.wrong <= line.compared:
            reason = f"{line.wrong} results are wrong and {line.unreal} no number or infinite"
            return ruled(check, "inconclusive", f"{reason}: that cannot be", "suite")
    inputs = {**dict(check.inputs), "largest error": f"{real.error:.1e} of sum|a*b|"}
    check = replace(
        check,
        value=f"{real.worst:.2g}",
        inputs=Pairs(inputs),
        expression="1",
        bounds=("worst <= limit", "wrong == 0"),
        terms=terms({"worst": real.worst, "wrong": exact.wrong + real.wrong}),
    )
    for line in (exact, real):
        if line.wrong:
            nans = f", {line.unreal} of them no number or infinite" if line.unreal else ""
            reason = (
                f"{line.wrong} of {line.compared} products of {line.which} are wrong{nans}; "
                f"the first at {line.first // COLUMNS}, {line.first % COLUMNS}"
            )
            # That the comparison can fail needs no further proof here.
            return ruled(check, "fail", reason, answered.owner(seen))
    names = {**_CONTROLS, **({"narrow": _NARROW} if form.rounding else {})}
    lines = {which: _one(answer, "control", form, which) for which in names}
    missing = [which for which, line in lines.items() if line is None]
    if missing:
        return ruled(check, "inconclusive", f"no control ran: {', '.join(missing)}", "suite")
    return settle(check, *(answered.control(line, names[w]) for w, line in lines.items() if line))


def _one(answer: Answer[Line], kind: str, form: Format, which: str) -> Line | None:
    """The one line of this kind; None where there is none, or another claims to be it."""
    found = [x for x in answer.all(kind) if (x.name, x.which) == (form.name, which)]
    return found[0] if len(found) == 1 else None
