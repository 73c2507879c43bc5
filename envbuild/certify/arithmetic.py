"""Bounds: the inequalities that a pass needs, as arithmetic that anybody can do again.

A limit is an expression over named numbers, ``clock_khz * 2000 * bus_bits / 8e9``, and a bound is
an inequality, ``low >= 0.94 * limit``: the same lines judge a figure when it is measured, and again
when somebody who was not there reads the certificate.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping

from envbuild.errors import InputError
from envbuild.values.certificate import Check
from envbuild.values.codec import Pairs

_DO: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_IS: dict[type, Callable[[float, float], bool]] = {
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
}
_LONGEST = 300


def evaluate(expression: str, numbers: Mapping[str, float]) -> float:
    """The value of an expression of + - * /, numbers, names and brackets.

    Raises:
        InputError: it is anything else, or has no finite value.
    """
    node = _parsed(expression)
    return _value(node, numbers, expression)


def holds(bound: str, numbers: Mapping[str, float]) -> bool:
    """Whether an inequality of two expressions holds.

    Raises:
        InputError: it is none, or a name in it has no number.
    """
    node = _parsed(bound)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in _IS:
        raise _unreadable(bound)
    left = _value(node.left, numbers, bound)
    return _IS[type(node.ops[0])](left, _value(node.comparators[0], numbers, bound))


def terms(numbers: Mapping[str, float]) -> Pairs:
    """Numbers as a certificate keeps them, to the last digit."""
    return Pairs({name: repr(number) for name, number in numbers.items()})


def numbers_of(check: Check) -> dict[str, float]:
    """The numbers that the bounds of a check are about: its terms, its limit, its figure.

    Raises:
        InputError: a term is no finite number, or takes the place of the figure's.
    """
    found: dict[str, float] = {}
    for name, text in check.terms:
        try:
            found[name] = float(text)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):
            what = f"{check.id}: {name} is {text[:40]!r}, which is no number"
            raise InputError(what, fix="it was changed by hand, or is of another release")
    own: dict[str, float] = {}
    if check.expression:
        own["limit"] = evaluate(check.expression, found)
    if check.measure is not None:
        own |= {name: float(getattr(check.measure, name)) for name in ("value", "low", "high")}
    if taken := own.keys() & found.keys():
        what = f"{check.id}: its terms name {min(taken)}, which is not theirs"
        raise InputError(what, fix="it was changed by hand, or is of another release")
    return found | own


def broken(check: Check) -> tuple[str, ...]:
    """The bounds of a check that do not hold.

    Raises:
        InputError: one cannot be read.
    """
    numbers = numbers_of(check)
    return tuple(bound for bound in check.bounds if not holds(bound, numbers))


def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise _unreadable(text)
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as e:
        raise _unreadable(text) from e


def _value(node: ast.expr, numbers: Mapping[str, float], text: str) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        found = float(node.value)  # type: ignore[arg-type]
    elif isinstance(node, ast.Name) and node.id in numbers:
        found = numbers[node.id]
    elif isinstance(node, ast.BinOp) and type(node.op) in _DO:
        left, right = _value(node.left, numbers, text), _value(node.right, numbers, text)
        try:
            found = _DO[type(node.op)](left, right)
        except ArithmeticError as e:
            raise _unreadable(text) from e
    else:
        raise _unreadable(text)
    if not math.isfinite(found):
        raise _unreadable(text)
    return found


def _unreadable(text: str) -> InputError:
    what = f"{text[:80]!r} is no bound: + - * / of numbers and named numbers, and one comparison"
    return InputError(what, fix="it was changed by hand, or is of another release")
