"""A certificate as one page that needs nothing else, no network and no script."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from envbuild import data
from envbuild.certify.report import compare, figures, plots, roof
from envbuild.certify.report.essence import essence
from envbuild.certify.report.words import headline
from envbuild.values.certificate import Certificate, Check, SuiteResult

_TEMPLATE = "report.html.j2"
# Characters of a reason in the table of suites; all of it stands with its check.
_LONG = 140


class Plot(NamedTuple):
    """A plot with its heading, what it says in words, and how to read it."""

    title: str
    svg: Markup
    alt: str
    caption: str


def page(certificate: Certificate, found: compare.Comparison | None = None) -> bytes:
    """The page; equal certificates give equal bytes with one release of matplotlib.

    Args:
        certificate: all that is shown comes from here.
        found: how it compares with an older one.

    Raises:
        InputError: matplotlib is not installed.
    """
    plots.check_installed()
    text = (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            c=certificate,
            headline=headline(certificate),
            facts=tuple(_facts(certificate)),
            plots=tuple(_plots(certificate)),
            compared=found,
            counts=functools.partial(_counts, certificate),
        )
    )
    return text.encode()


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data.folder("templates")),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "short": figures.short,
        "people": figures.people,
        "interval": figures.interval,
        "state": figures.state,
        "share": figures.share,
        "size": figures.size,
        "number": figures.number,
        "percent": _percent,
    }
    environment.filters.update(filters)
    return environment


def _printable(value: object) -> object:
    """Foreign text without what no page should hold; markup of ours as it is."""
    if isinstance(value, Markup) or not isinstance(value, str) or value.isprintable():
        return value
    return "".join(c if c == "\n" or c.isprintable() else "?" for c in value)


def _percent(of: float) -> str:
    """A share for a style or for people, within what can be drawn."""
    return f"{min(max(of, 0.0), 1.0) * 100:.1f}"


def _counts(certificate: Certificate, suite: SuiteResult) -> tuple[str, str]:
    counted = [check for check in suite.checks if check.core or check.verdict != "skip"]
    passed = sum(check.verdict == "pass" for check in counted)
    return f"{passed} of {len(counted)}", essence(certificate, suite) or _worst(suite)


def _worst(suite: SuiteResult) -> str:
    """Why a suite did not pass: the first of its checks that decided so."""
    order = ("void", "fail", "inconclusive", "skip")
    points = [c for c in suite.checks if c.verdict != "pass" and (c.core or c.verdict != "skip")]
    points.sort(key=lambda check: order.index(check.verdict))
    return f"{figures.short(points[0])}: {_because(points[0])}" if points else ""


def _because(check: Check) -> str:
    text = figures.one_line(check.reason or check.says)
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def _facts(c: Certificate) -> Iterator[tuple[str, str]]:
    """What was certified, on what, when and by what; only what is known."""
    device, runtimes = c.device, c.runtimes
    gpu = [f"{device.name}, cc {device.cc}"] if device else ["none was used"]
    if device and device.sms:
        gpu.append(f"{device.sms} SMs")
    if device and device.memory_mib:
        gpu.append(f"{device.memory_mib} MiB")
    known = {
        "subject": c.subject.name,
        c.subject.kind: c.subject.digest or "without a digest",
        "promises cc": ", ".join(c.cc),
        "GPU": ", ".join(gpu),
        "uuid": device.uuid if device else "",
        "driver": runtimes.driver,
        "CUDA of the driver": runtimes.driver_cuda,
        "toolkit": runtimes.toolkit,
        "framework": runtimes.framework,
        "engine": " ".join(part for part in (c.engine, c.engine_version) if part),
        "GPU access": c.access,
        "started": c.started,
        "finished": c.finished,
        "made by": c.tool,
        "matrices of": c.matrix.date,
        "lock": c.subject.lock,
    }
    yield from ((name, text) for name, text in known.items() if text)


def _plots(c: Certificate) -> Iterator[Plot]:
    measured = tuple(figures.measured(c))
    if drawn := plots.shares(measured):
        limited = [(one, figures.share(one.measure)) for one in measured]
        alt = "; ".join(
            f"{figures.short(check)} {of * 100:.1f} % of its limit"
            for (check, _), of in limited
            if of is not None
        )
        yield Plot(
            "Against the limit of this device",
            Markup(drawn),  # noqa: S704  # drawn by us; its texts are escaped by matplotlib
            alt,
            "Point: median; thick line: its 95 % interval; upright line: the floor that a healthy "
            "device reaches; dashed: the limit, or what a ratio is held against.",
        )
    if data := roof.roofline(c):
        alt = "; ".join(f"{spot.name} {figures.rate(spot.tera)}" for spot in data.spots)
        yield Plot(
            "Roofline",
            Markup(plots.roofline(data)),  # noqa: S704
            f"measured, in 10^12 operations a second: {alt}",
            "Memory allows what lies right of the slope, arithmetic what lies below its level at "
            f"{data.mhz:.0f} MHz, the highest clock of the run; each point ran at its own.",
        )
    if swept := roof.sweep(c):
        least, most = swept.series[0][1][0], swept.series[0][1][-1]
        yield Plot(
            "Bandwidth by size",
            Markup(plots.sweep(swept)),  # noqa: S704
            f"{swept.series[0][0]}: {least.value:.0f} GB/s at {figures.size(least.size)}, "
            f"{most.value:.0f} GB/s at {figures.size(most.size)}",
            "The same bytes read again: what fits into the cache comes faster than memory gives "
            f"it. Band: 95 % interval of the median; figures of {swept.name}.",
        )
