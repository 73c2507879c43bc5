"""One check against itself: its verdict, limit and texts again, from terms and samples; pure."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from math import isclose

from envbuild.certify import verdicts
from envbuild.certify.arithmetic import broken, numbers_of
from envbuild.errors import InputError
from envbuild.values.certificate import Check, Measure


def wrong(check: Check) -> Iterator[str]:
    """What in a check does not follow from the rest of it."""
    if verdicts.settle(check, *check.controls).verdict != check.verdict:
        yield "it passed without a control that turned red in this run"
    elif check.verdict != "void" and not all(control.red for control in check.controls):
        yield f"it is called {check.verdict} beside a control that stayed green"
    yield from _words(check)
    try:
        numbers = numbers_of(check)
        failed = broken(check)
    except InputError as e:
        yield e.what
        return
    limit = numbers.get("limit")
    if check.measure is not None:
        yield from _samples(check.measure)
        yield from _limit(check, check.measure, limit)
    yield from _texts(check, numbers)
    if check.verdict == "pass":
        yield from (f"it passed, and {bound} does not hold" for bound in failed)


def _words(check: Check) -> Iterator[str]:
    """A verdict and what is said of it: nobody owns a pass, and nothing decides a skip."""
    if check.verdict == "pass":
        if check.blame:
            yield f"it passed, and the {check.blame} is blamed"
        return
    if not check.reason:
        yield f"it is called {check.verdict}, and nothing says why"
    if check.verdict != "skip":
        return
    measure = check.measure
    judged = bool(check.controls or check.bounds or check.terms)
    # A figure with a floor and no limit cannot be judged. Without a figure a side check that has
    # a value was decided, while one that a suite needs is not saved by a skip.
    if measure is not None:
        judged = judged or measure.limit is not None or measure.floor is None
    else:
        judged = judged or bool(check.value and not check.core)
    if judged:
        yield "it is called a skip, and it was judged"


def _samples(measure: Measure) -> Iterator[str]:
    value, low, high = measure.value, measure.low, measure.high
    if not low <= value <= high:
        yield f"its median {value:g} lies outside {low:g} to {high:g}"
    spread = (measure.smallest, measure.q1, measure.q3, measure.largest)
    lies = (spread[0], spread[1], value, spread[2], spread[3])
    # All of them 0 = not kept.
    if any(spread) and (list(lies) != sorted(lies) or low < spread[0] or high > spread[3]):
        yield f"its median {value:g} and interval do not lie as its samples do"
    if measure.n < 1:
        yield "it has a figure of no sample"
    yield from (
        f"its figure {point.name} lies outside {point.low:g} to {point.high:g}"
        for point in measure.points
        if not point.low <= point.value <= point.high
    )


def _limit(check: Check, measure: Measure, limit: float | None) -> Iterator[str]:
    """A limit that is said is one that is computed, and a floor that is said is one that binds."""
    said, floor = measure.limit, measure.floor
    if said is not None and limit is not None and not isclose(said, limit, rel_tol=1e-12):
        yield f"its limit is said to be {said:g}, and {check.expression} is {limit:g}"
    if check.verdict != "pass":
        return
    if said is not None and not any("limit" in bound for bound in check.bounds):
        yield f"it passed, and no bound is about its limit, {said:g}"
    if floor is not None and not any(b.startswith(f"low >= {floor!r} * ") for b in check.bounds):
        yield f"it passed, and no bound is its floor, {floor:g} of the limit"


def _texts(check: Check, numbers: dict[str, float]) -> Iterator[str]:
    """Texts that people read are those of the figures, as far as they are numbers."""
    pairs = [
        ("value", check.value, numbers.get("value")),
        ("limit", check.limit, numbers.get("limit")),
    ]
    pairs += [(name, text, numbers.get(name)) for name, text in check.inputs]
    for name, text, number in pairs:
        if number is not None and not _rounded(text, number):
            yield f"its {name} is written {text[:40]!r}, and is {number:g}"


def _rounded(text: str, number: float) -> bool:
    """Whether a text is a number to its last digit, or no number at all."""
    try:
        said = Decimal(text)
    except (InvalidOperation, ValueError):
        return True
    try:
        unit = Decimal(1).scaleb(int(said.as_tuple().exponent))
        return abs(said - Decimal(number)) <= unit * Decimal("0.51")
    except (ArithmeticError, ValueError):  # beyond what is counted with, or not finite
        return False
