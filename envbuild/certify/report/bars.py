"""Measured figures on a terminal: a bar from nothing to the limit, with the floor marked; pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envbuild.certify.report.figures import Named, interval, one_line, people, share, short, state

_FULL, _PARTS, _EMPTY, _FLOOR = "█", "▏▎▍▌▋▊▉", "·", "┃"
#: What stands for our own characters where the terminal has only ASCII.
PLAIN = str.maketrans(
    {_FULL: "#", _EMPTY: ".", _FLOOR: "|", "…": "...", "→": "->", "°": "", "≥": ">="}
    | dict.fromkeys(_PARTS, "#")
)
_LEAST_BAR, _MOST_BAR = 8, 32


class _Row(NamedTuple):
    name: str
    share: str
    told: str
    rest: tuple[str, ...]


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
    """A line a figure, each at most ``width`` wide: what matters least is left out first."""
    rows = [_row(one) for one in figures]
    if not rows:
        return
    name = max(len(row.name) for row in rows)
    told = max(len(row.told) for row in rows)
    least = name + told + 2 + 9
    cells = min(_MOST_BAR, width - least - 2)
    shown = max(max((len("  ".join(row.rest)) for row in rows), default=0), 0)
    if shown and cells >= _LEAST_BAR:
        # Half of what the bar does not need at least goes to what stands behind it.
        cells = max(_LEAST_BAR, min(cells, width - least - 4 - shown))
    limited = any(share(one.measure) is not None for one in figures)
    for row, (_, measure) in zip(rows, figures, strict=True):
        line = f"  {row.name:<{name}}"
        if limited and cells >= _LEAST_BAR:
            of = share(measure)
            line += "  " + (" " * cells if of is None else bar(of, measure.floor, cells))
        line += f"  {row.share:>7}  {row.told:<{told}}" if limited else f"  {row.told:<{told}}"
        for part in row.rest:
            if len(line.rstrip()) + 2 + len(part) <= width:
                line += f"  {part}"
        yield _cut(line.rstrip(), width)


def _row(one: Named) -> _Row:
    check, measure = one
    of = share(measure)
    least = f"≥ {measure.floor * 100:.0f}" if measure.floor is not None and of is not None else ""
    rest = (f"({interval(measure)}{', ' if least else ''}{least})", state(measure))
    text = "" if of is None else f"{of * 100:.1f} %"
    name = one_line(short(check))
    if check.verdict != "pass":
        name += f" ({check.verdict})"
    return _Row(name, text, people(check), tuple(part for part in rest if part))


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"
