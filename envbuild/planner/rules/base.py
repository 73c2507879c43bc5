"""What a rule is, and how it becomes a mask over places or builds."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from envbuild.planner.table import Kind, Table
from envbuild.planner.target import Target
from envbuild.values.finding import Finding

Axis = Literal["toolkit", "place", "build"]
Judge = Callable[[Table, Any, Target], Finding | None]

_KEEP = 20_000  # verdicts; a process that sweeps all requests must not grow without end


class Rule(NamedTuple):
    """One kind of constraint: judged once per row of its axis.

    Attributes:
        reads: the fields of the target that it looks at; equal fields, equal verdicts.
        binds: kinds of places that it can speak against.
    """

    id: str
    axis: Axis
    reads: tuple[str, ...]
    judge: Judge
    binds: tuple[Kind, ...]


class Verdict(NamedTuple):
    """Rows that a rule lets pass, as a mask, and what it says about the others, by index."""

    mask: int
    says: dict[int, Finding]


ALL: tuple[Kind, ...] = ("compiler", "nvrtc", "framework")
DEVICE_CODE: tuple[Kind, ...] = ("compiler", "nvrtc")
NVCC: tuple[Kind, ...] = ("compiler",)


def rule(axis: Axis, *reads: str, binds: tuple[Kind, ...] = ALL) -> Callable[[Judge], Rule]:
    """Make a Rule of a function; its id is the function's name."""

    def make(judge: Judge) -> Rule:
        return Rule(judge.__name__.replace("_", "-"), axis, reads, judge, binds)

    return make


def verdict(rule: Rule, table: Table, target: Target) -> Verdict:
    """The rule's verdict on every row, remembered per table and per what the rule reads."""
    key = (rule.id, *(getattr(target, field) for field in rule.reads))
    known = table.memo.get(key)
    if isinstance(known, Verdict):
        return known
    made = _judge(rule, table, target)
    remember(table, key, made)
    return made


def remember(table: Table, key: object, made: object) -> None:
    """Keep a result with its table."""
    if len(table.memo) >= _KEEP:
        table.memo.clear()
    table.memo[key] = made


def _judge(rule: Rule, table: Table, target: Target) -> Verdict:
    says: dict[int, Finding] = {}
    if rule.axis == "build":
        for i, build in enumerate(table.builds):
            if (finding := rule.judge(table, build, target)) is not None:
                says[i] = finding
        return Verdict(table.all_builds & ~_bits(says), says)
    rows: dict[str, Finding | None] = {}
    if rule.axis == "toolkit":
        rows = {cuda: rule.judge(table, row, target) for cuda, row in table.toolkits.items()}
    for i, place in enumerate(table.places):
        if place.kind not in rule.binds:
            continue
        finding = rows.get(place.cuda) if rows else rule.judge(table, place, target)
        if finding is not None:
            says[i] = finding
    return Verdict(table.all_places & ~_bits(says), says)


def _bits(rows: dict[int, Finding]) -> int:
    mask = 0
    for i in rows:
        mask |= 1 << i
    return mask


def lowest(mask: int) -> int:
    """Index of the lowest set bit: the most preferred row."""
    return (mask & -mask).bit_length() - 1


def bits(mask: int) -> list[int]:
    """Indexes of all set bits, preferred first."""
    found = []
    while mask:
        found.append(lowest(mask))
        mask &= mask - 1
    return found


def about(cuda: str, says: str) -> str:
    """A sentence about one toolkit; lists of toolkits leave its name out (`without_name`)."""
    return f"CUDA {cuda}: {says}"


def without_name(cuda: str, says: str) -> str:
    """The sentence of `about`, so that equal reasons of several toolkits are equal texts."""
    return says.removeprefix(f"CUDA {cuda}: ")


def some(names: list[str]) -> str:
    """The first three of a list, and how many more there are."""
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


def error(id: str, says: str, source: str, why: str = "") -> Finding:
    """A finding that takes a row away."""
    return Finding(id=id, severity="error", says=says, why=why, source=source)
