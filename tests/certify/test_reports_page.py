"""The page: whole in itself, nothing of an image is read as markup, and each fact is on it."""

import re
from html.parser import HTMLParser

import pytest

from envbuild.certify.report import plots, roof
from envbuild.certify.report.compare import compare
from envbuild.certify.report.html import page
from envbuild.errors import InputError
from envbuild.values.certificate import Certificate, Control
from envbuild.values.codec import Pairs, replace
from tests.certify.measured import CERTIFICATE, CHECKS, FMA, READ, check, having

_VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Elements, texts and attributes of a page; what is left open or closed twice is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def read(certificate: Certificate) -> Page:
    return Page(page(certificate).decode())


def test_nothing_is_fetched_and_nothing_runs() -> None:
    text = page(CERTIFICATE).decode()
    found = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "embed", "form"} & {
        t for t, _ in found.tags
    }
    for tag, attributes in found.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name.split(":")[-1] in {"href", "src"}:
                assert (value or "").startswith("#"), (tag, name)
    assert not re.search(r"url\((?!#)|@import|https?:", text)
    policy = next(a["content"] for t, a in found.tags if t == "meta" and "http-equiv" in a)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_ids_are_unique_and_each_reference_has_one() -> None:
    text = page(CERTIFICATE).decode()
    ids = [a["id"] for _, a in Page(text).tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', text)) <= set(ids)


def test_equal_certificates_give_equal_pages() -> None:
    assert page(CERTIFICATE) == page(replace(CERTIFICATE))


def test_a_user_s_style_of_plots_does_not_show() -> None:
    import matplotlib as mpl

    before = page(CERTIFICATE)
    with mpl.rc_context({"font.size": 30, "axes.grid": True}):
        assert page(CERTIFICATE) == before
        assert mpl.rcParams["font.size"] == 30


def test_each_fact_is_on_the_page() -> None:
    found = read(CERTIFICATE)
    for said in (
        "CERTIFIED fast",
        "made/image:1",
        "sha256:" + "a" * 64,
        "NVIDIA H200, cc 9.0, 132 SMs, 143771 MiB",
        "580.159.04",
        "fma-f32 reaches what this device can",
        "the 95 % interval of the median lies above the floor",
        "rate / limit",
        "65.2 TFLOP/s f32",
        "97.9 to 98.3 %",
        "1965 MHz, 41 °C",
        "turned red , half of the SMs: reads 0.50 of it",
        "to the device, page-locked",
        "Not run: tools, multi.",
        "1" * 64,
    ):
        assert said in found.text, said


def test_plots_have_a_heading_and_words() -> None:
    found = read(CERTIFICATE)
    labels = [
        a.get("aria-label") or "" for t, a in found.tags if t == "div" and a.get("role") == "img"
    ]
    assert any(
        label.startswith("Roofline: measured") and "fma-f32 65.1" in label for label in labels
    )
    assert any(
        label.startswith("Bandwidth by size: read: 8200 GB/s at 256 KiB") for label in labels
    )
    assert any("dram-triad 91.4 % of its limit" in label for label in labels)
    assert [t for t, _ in found.tags if t == "h1"] == ["h1"]


def test_without_figures_there_are_no_plots() -> None:
    text = page(having(replace(CHECKS[0], measure=None))).decode()
    assert "<figure>" not in text
    assert Page(text)


def test_a_figure_without_a_limit_or_a_device_is_drawn_as_far_as_it_is_known() -> None:
    unknown = replace(FMA, limit=None, floor=None)
    assert "<figure>" in page(having(check("fma-f32", unknown))).decode()
    assert "Roofline" not in page(replace(having(check("x", FMA)), device=None)).decode()
    alone = replace(READ, intensity=0.17)
    assert "Roofline" in page(having(check("dram-read", alone))).decode()


def test_roofs_that_a_plot_cannot_tell_apart_are_one_level() -> None:
    spot = roof.Spot("a", "f16", 210.0, 209.0, 211.0, None, 233.0)
    spots = (
        spot,
        spot._replace(dtype="bf16", roof=240.0),
        spot._replace(dtype="f32", roof=117.0),
        spot._replace(dtype="f16", roof=241.0),
        spot._replace(dtype="s8", roof=None),
    )
    assert roof.levels(spots) == (
        roof.Level(("f32",), 117.0),
        roof.Level(("f16", "bf16"), 241.0),
    )


def test_roofs_are_of_the_highest_clock_and_points_of_their_own() -> None:
    capped = replace(FMA, mhz=1000.0)
    found = roof.roofline(having(check("a", capped), check("b", replace(FMA, mhz=2000.0))))
    assert found is not None
    assert found.mhz == 2000.0
    assert [round(spot.tera, 2) for spot in found.spots] == [33.15, 66.29]
    assert {round(spot.roof or 0, 2) for spot in found.spots} == {67.58}


def test_a_bandwidth_is_drawn_from_three_sizes_on() -> None:
    measure = CHECKS[4].measure
    assert measure is not None
    two = replace(measure, points=measure.points[:2])
    assert roof.sweep(having(check("l2-read", two))) is None
    found = roof.sweep(CERTIFICATE)
    assert found is not None
    assert (found.memory, found.cache, len(found.series[0][1])) == (4814.0, 60 << 20, 15)


HOSTILE = (
    "</style><script>alert(1)</script><svg onload=x> $\\frac{ {{ 7*7 }} {% x %} "
    "\x00\x1b[31m\u202e\ud800 \n\nCERTIFIED all"
)


def hostile() -> Certificate:
    """Everything that is a text says something else."""
    bad = replace(
        CHECKS[0],
        id=f"fast.{HOSTILE}",
        verdict="fail",
        says=HOSTILE,
        value=HOSTILE,
        unit=HOSTILE,
        limit=HOSTILE,
        formula=HOSTILE,
        rule=HOSTILE,
        reason=HOSTILE,
        inputs=Pairs({HOSTILE: HOSTILE, "L2 bytes": HOSTILE}),
        controls=(Control(name=HOSTILE, red=True, says=HOSTILE),),
        measure=replace(FMA, shown=HOSTILE, dtype=HOSTILE, throttle=(HOSTILE,)),
    )
    swept = CHECKS[4].measure
    assert swept is not None
    points = tuple(replace(point, name=HOSTILE) for point in swept.points)
    sweep = replace(CHECKS[4], measure=replace(swept, points=points))
    whole = having(bad, sweep, verdict="fail", code=6)
    assert whole.device is not None
    return replace(
        whole,
        subject=replace(whole.subject, name=HOSTILE, digest=HOSTILE),
        device=replace(whole.device, name=HOSTILE, uuid=HOSTILE, cc=HOSTILE),
        runtimes=replace(whole.runtimes, driver=HOSTILE, framework=HOSTILE),
        suites=(replace(whole.suites[0], name=HOSTILE),),
        not_run=(HOSTILE,),
        engine=HOSTILE,
        tool=HOSTILE,
        started=HOSTILE,
        probes=Pairs({HOSTILE: HOSTILE}),
    )


def test_no_text_becomes_markup() -> None:
    plain, bad = read(having(CHECKS[0], CHECKS[4])), read(hostile())
    assert {tag for tag, _ in bad.tags} <= {tag for tag, _ in plain.tags} | {"p", "strong", "use"}
    assert not any(name.startswith("on") for _, a in bad.tags for name in a)
    assert "<script>alert(1)</script>" in bad.text
    assert "{{ 7*7 }}" in bad.text
    assert not any(c in bad.text for c in "\x00\x1b\u202e\ud800")


def test_what_failed_is_open_and_says_whose_it_is() -> None:
    bad = replace(CHECKS[0], verdict="fail", reason="0.40 of the limit", blame="machine")
    found = read(having(bad, verdict="fail", code=4))
    assert "0.40 of the limit (blame: machine)" in found.text
    assert next(a for t, a in found.tags if t == "details") == {"open": None}
    green = replace(bad, controls=(Control(name="half", red=False, says="reads 1.00 of it"),))
    assert "STAYED GREEN , half" in read(having(green)).text


def test_the_comparison_is_on_the_page() -> None:
    slow = replace(READ, value=4000.0, low=3990.0, high=4010.0)
    then, now = having(check("dram-read", READ)), having(check("dram-read", slow))
    found = Page(page(now, compare(then, now)).decode())
    assert "slower" in found.text
    assert "0.852 to 0.859 of it" in found.text


def test_without_matplotlib_the_page_is_refused_with_the_fix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(InputError, match="matplotlib") as e:
        plots.check_installed()
    assert "pip install '.[report]'" in e.value.fix
