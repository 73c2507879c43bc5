"""Measured figures on a terminal: a bar from nothing to the limit, with the floor marked; pure."""

from collections.abc import Iterator, Sequence

from envbuild.certify.report.figures import Named, interval, one_line, people, share, short, state
from envbuild.values.certificate import Check, Measure

_FULL, _PARTS, _EMPTY, _FLOOR = "█", "▏▎▍▌▋▊▉", "·", "┃"
#: What stands for our own characters where the terminal has only ASCII.
PLAIN = str.maketrans(
    {_FULL: "#", _EMPTY: ".", _FLOOR: "|", "…": "...", "→": "->", "°": "", "≥": ">="}
    | dict.fromkeys(_PARTS, "#")
)
_LEAST_BAR, _MOST_BAR = 8, 32


def bar(value: float, floor: float | None, cells: int) -> str:
    """A share of a limit in ``cells`` characters; the floor's cell holds its mark."""
    eighths = round(min(max(value, 0.0), 1.0) * cells * 8)
    whole, part = divmod(eighths, 8)
    text = _FULL * whole + (_PARTS[part - 1] if part else "")
    text += _EMPTY * (cells - len(text))
    if floor is None or not 0 < floor <= 1:
        return text
    at = min(int(floor * cells), cells - 1)
    return text[:at] + _FLOOR + text[at + 1 :]


def bars(figures: Sequence[Named], width: int) -> Iterator[str]:
    """A line a figure, each at most ``width`` wide.

    Where that is narrow the bars shrink, then the device's state goes, the interval, the bars.
    """
    if not figures:
        return
    names = _column([_name(one.check) for one in figures])
    told = _column([people(one.check) for one in figures])
    percents = _column([_percent(one.measure) for one in figures], right=True)
    least = sum(len(column[0]) + 2 for column in (names, percents, told) if column[0])
    bars_least = _LEAST_BAR + 2 if percents[0] and least + _LEAST_BAR + 2 <= width else 0
    further: list[list[str]] = []
    for say in (_sure, state):
        column = _column([say(one.measure) for one in figures])
        if least + bars_least + len(column[0]) + 2 > width:
            break
        least += len(column[0]) + 2 if column[0] else 0
        further.append(column)
    cells = min(_MOST_BAR, width - least - 2) if bars_least else 0
    drawn = [_drawn(one.measure, cells) for one in figures]
    for row in zip(names, drawn, percents, told, *further, strict=True):
        line = "".join(f"  {part}" for part in row if part).rstrip()
        yield line if len(line) <= width else line[: max(width - 1, 0)] + "…"


def _column(texts: list[str], *, right: bool = False) -> list[str]:
    longest = max(map(len, texts))
    return [text.rjust(longest) if right else text.ljust(longest) for text in texts]


def _name(check: Check) -> str:
    name = one_line(short(check))
    return name if check.verdict == "pass" else f"{name} ({check.verdict})"


def _percent(measure: Measure) -> str:
    of = share(measure)
    return "" if of is None else f"{of * 100:.1f} %"


def _sure(measure: Measure) -> str:
    """The interval, and what it is held against."""
    least = measure.floor is not None and share(measure) is not None
    floor = f", ≥ {(measure.floor or 0) * 100:.0f}" if least else ""
    return f"({interval(measure)}{floor})"


def _drawn(measure: Measure, cells: int) -> str:
    of = share(measure)
    return " " * cells if of is None else bar(of, measure.floor, cells)
