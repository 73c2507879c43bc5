"""Plots of a certificate as SVG for a page: text stays text, colours are the page's own.

Equal data give equal bytes with one release of matplotlib, whatever the user has configured.
"""

import io
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from envbuild.certify.report import roof
from envbuild.certify.report.figures import Named, rate, share, short, size
from envbuild.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that the page's style gives, each drawn as one that nothing else uses.
_COLOURS = {
    "ink": "#010101",
    "muted": "#020202",
    "line": "#030303",
    "surface": "#040404",
    "accent": "#050505",
    "second": "#060606",
    "third": "#070707",
    "pass": "#080808",
    "fail": "#090909",
    "open": "#0a0a0a",
}
_VERDICTS = {"pass": "pass", "fail": "fail", "void": "fail", "inconclusive": "open", "skip": "open"}
_SERIES = ("accent", "second", "third")
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "envbuild",
    "text.parse_math": False,
    "font.size": 9,
    "axes.edgecolor": _COLOURS["muted"],
    "axes.labelcolor": _COLOURS["ink"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": _COLOURS["ink"],
    "xtick.color": _COLOURS["muted"],
    "ytick.color": _COLOURS["muted"],
    "xtick.labelcolor": _COLOURS["ink"],
    "ytick.labelcolor": _COLOURS["ink"],
    "grid.color": _COLOURS["line"],
    "legend.frameon": False,
}
_WIDE = 5.6


def check_installed() -> None:
    """Refuse before anything runs.

    Raises:
        InputError: matplotlib is not there.
    """
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        what = "the page has plots, and matplotlib is not installed"
        fix = "in envbuild's own folder: pip install '.[report]'; or --markdown, which needs none"
        raise InputError(what, fix=fix)


def shares(figures: Sequence[Named]) -> str | None:
    """Each figure as a share of its limit, with its interval and its floor; None = no limits."""
    limited = [one for one in figures if share(one.measure) is not None]
    height = 0.8 + 0.27 * len(limited)
    return _drawn("shares", height, lambda axes: _shares(axes, limited)) if limited else None


def roofline(data: roof.Roofline) -> str:
    """Rates by intensity on logarithmic axes, under memory's slope and arithmetic's roofs."""
    return _drawn("roofline", 3.9, lambda axes: _roofline(axes, data))


def sweep(data: roof.Sweep) -> str:
    """Bandwidth by size, with the cache's size and memory's limit."""
    return _drawn("sweep", 3.4, lambda axes: _sweep(axes, data))


def _shares(axes: "Axes", limited: Sequence[Named]) -> None:
    for row, (check, measure) in enumerate(limited):
        at, low, high = (
            _clamped(share(measure, value)) for value in (measure.value, measure.low, measure.high)
        )
        colour = _COLOURS[_VERDICTS[check.verdict]]
        axes.barh(row, at, height=0.55, color=colour, alpha=0.25)
        axes.plot([low, high], [row, row], color=colour, linewidth=3)
        axes.plot([at], [row], marker="o", markersize=4, color=colour)
        if measure.floor is not None:
            floor = _clamped(measure.floor)
            axes.plot([floor, floor], [row - 0.4, row + 0.4], color=_COLOURS["ink"])
    axes.axvline(1, color=_COLOURS["muted"], linestyle="--", linewidth=1)
    axes.set_yticks(range(len(limited)), [_label(short(one.check)) for one in limited])
    axes.set_ylim(len(limited) - 0.4, -0.6)
    axes.set_xlim(0, 1.06)
    axes.set_xlabel("share of the limit; upright line: floor")
    axes.grid(axis="x", linewidth=0.6)


def _roofline(axes: "Axes", data: roof.Roofline) -> None:
    roofs = sorted({spot.roof for spot in data.spots if spot.roof})
    ridges = [top / data.memory for top in roofs] if data.memory else []
    known = [spot.intensity for spot in data.spots if spot.intensity]
    left, right = min([*known, *ridges, 1.0]) / 4, max([*known, *ridges, 100.0]) * 4
    if data.memory:
        highest = max([*roofs, *(spot.tera for spot in data.spots)])
        ends = [left, min(right, highest / data.memory)]
        axes.plot(ends, [x * data.memory for x in ends], color=_COLOURS["ink"], linewidth=1.2)
        text = f"DRAM, {data.memory:.3g} TB/s"
        middle = math.sqrt(ends[0] * ends[1])
        _note(axes, text, (middle, middle * data.memory), (-4, 10), align="right")
    for top in roofs:
        start = top / data.memory if data.memory else left
        axes.plot([start, right], [top, top], color=_COLOURS["muted"], linewidth=1)
    for spot in data.spots:
        x, marker = (spot.intensity, "o") if spot.intensity else (right / 2, "D")
        axes.plot([x, x], [spot.low, spot.high], color=_COLOURS["accent"])
        axes.plot([x], [spot.tera], marker=marker, markersize=4.5, color=_COLOURS["accent"])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    _names(axes, data, right)
    axes.set_xlabel("operations a byte (diamonds: in registers alone)")
    axes.set_ylabel("10^12 operations a second")
    axes.grid(linewidth=0.6)


def _names(axes: "Axes", data: roof.Roofline, right: float) -> None:
    """The dtypes of each roof at its right end, pushed apart where they would touch."""
    low, high = axes.get_ylim()
    gap = math.log10(high / low) / 20
    last = -math.inf
    for level in roof.levels(data.spots):
        last = max(math.log10(level.tera), last + gap)
        names = _label(" ".join(level.names))
        _note(axes, f"{names}: {rate(level.tera)}", (right, 10**last), (4, 0))
    for spot in data.spots:
        if spot.roof is None and spot.intensity:
            _note(axes, _label(spot.name), (spot.intensity, spot.tera), (6, -8))


def _sweep(axes: "Axes", data: roof.Sweep) -> None:
    for at, (name, points) in enumerate(data.series):
        colour = _COLOURS[_SERIES[at % len(_SERIES)]]
        sizes = [point.size for point in points]
        low, high = [point.low for point in points], [point.high for point in points]
        axes.fill_between(sizes, low, high, color=colour, alpha=0.25, linewidth=0)
        values = [point.value for point in points]
        axes.plot(sizes, values, marker="o", markersize=3, color=colour, label=_label(name))
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    if data.memory:
        axes.axhline(data.memory, color=_COLOURS["muted"], linestyle="--", linewidth=1)
        text = f"DRAM's limit, {data.memory:.0f} GB/s"
        _note(axes, text, (0, data.memory), (4, 7), ("axes fraction", "data"))
    if data.cache:
        axes.axvline(data.cache, color=_COLOURS["muted"], linestyle=":", linewidth=1)
        text = f"L2, {size(data.cache)}"
        _note(axes, text, (data.cache, 0), (-3, 8), ("data", "axes fraction"), align="right")
    ticks = sorted({point.size for _, points in data.series for point in points})
    every = math.ceil(len(ticks) / 6)
    axes.set_xticks(ticks[::every], [size(tick) for tick in ticks[::every]])
    axes.minorticks_off()
    axes.set_xlabel("footprint")
    axes.set_ylabel("GB/s")
    axes.grid(linewidth=0.6)
    if len(data.series) > 1:
        axes.legend()


def _note(
    axes: "Axes",
    text: str,
    at: tuple[float, float],
    offset: tuple[float, float],
    coordinates: str | tuple[str, str] = "data",
    *,
    align: str = "left",
) -> None:
    """A text ``offset`` points away from a place, outside of the axes too."""
    axes.annotate(
        text,
        at,
        xytext=offset,
        xycoords=coordinates,
        textcoords="offset points",
        ha=align,
        va="center",
        annotation_clip=False,
    )


def _drawn(name: str, height: float, draw: "Callable[[Axes], None]") -> str:
    """The plot as an SVG element of that id, ``height`` inches high."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = io.StringIO()
    with mpl.rc_context():
        # What a matplotlibrc of the user says must not show in a certificate's page.
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        figure = Figure(figsize=(_WIDE, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    return _inline(name, out.getvalue())


def _inline(name: str, document: str) -> str:
    """An SVG document as an element of a page: no prologue, ids of its own, the page's colours."""
    svg = document[document.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    view = re.search(r'viewBox="[^"]*"', svg)
    head = f'<svg {view[0] if view else ""} aria-hidden="true" focusable="false">'
    svg = re.sub(r"^<svg[^>]*>", head, svg)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for word, colour in _COLOURS.items():
        svg = svg.replace(colour, f"var(--{word})")
    return svg


def _clamped(of: float | None) -> float:
    return min(max(of or 0.0, 0.0), 1.06)


def _label(text: str) -> str:
    """A name that every font has."""
    kept = "".join(c if " " <= c <= "~" else "?" for c in text)
    return kept if len(kept) <= 24 else f"{kept[:21]}..."
