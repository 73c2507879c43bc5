"""Terminal, Markdown and JUnit: each kind of outcome in each form, whatever an image says."""

import html
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envbuild.certify.report.bars import PLAIN, bar
from envbuild.certify.report.compare import compare, lines
from envbuild.certify.report.html import page
from envbuild.certify.report.junit import junit
from envbuild.certify.report.markdown import escaped, markdown
from envbuild.certify.report.table import coloured, table
from envbuild.cli.app import run as command
from envbuild.errors import InputError
from envbuild.values.certificate import (
    Certificate,
    Check,
    Control,
    Device,
    Measure,
    Point,
    SuiteResult,
)
from envbuild.values.codec import Pairs, dump, replace
from tests.certify.measured import CERTIFICATE, CHECKS, READ, check, having
from tests.certify.samples import seen

OUTCOMES = {
    "fail": ("image", 6, "0.40 of the limit, at least 0.96 is expected"),
    "inconclusive": ("machine", 8, "0.955 to 0.965 of the limit: the floor lies within"),
    "void": ("suite", 9, "1.21 of the limit cannot be: the measurement is invalid"),
    "skip": ("machine", 4, "the device has no such thing"),
}


def outcome(verdict: str) -> Certificate:
    blame, code, reason = OUTCOMES[verdict]
    one = replace(CHECKS[2], verdict=verdict, reason=reason, blame=blame)
    word = {"skip": "fail"}.get(verdict, verdict)
    return having(one, *CHECKS[3:], verdict=word, code=code)


@pytest.mark.parametrize("verdict", OUTCOMES)
def test_each_outcome_in_each_form(verdict: str) -> None:
    blame, code, reason = OUTCOMES[verdict]
    now = outcome(verdict)
    text = table(now)
    assert f"  {verdict:<12} dram-read: {reason} [{blame}]" in text
    assert f"(exit {code}): fast" in text
    assert f"dram-read ({verdict})  " in text
    summary = html.unescape(markdown(now).decode())
    assert f"**fast.dram-read** {verdict} ({blame}): {reason}" in summary
    assert f"(exit {code}): fast" in summary
    case = ET.fromstring(junit(now)).find(".//testcase")  # noqa: S314
    assert case is not None
    tag = case.find({"fail": "failure", "skip": "failure"}.get(verdict, "error"))
    assert tag is not None
    assert tag.get("message") == f"{verdict}: {reason}"
    assert tag.text == f"blame: {blame}; rule: {CHECKS[2].rule}"
    assert f"{reason} (blame: {blame})" in page(now).decode()


def test_a_bar_is_as_long_as_its_share() -> None:
    assert bar(0.5, None, 8) == "████····"
    assert bar(0.52, None, 8) == "████▏···"
    assert bar(0.97, 0.5, 8) == "████┃██▊"
    assert bar(7.0, 1.0, 4) == "███┃"
    assert bar(-1.0, 0.0, 4) == "····"
    assert bar(0.97, 0.5, 8).translate(PLAIN) == "####|###"


@pytest.mark.parametrize("width", [200, 120, 100, 80, 60, 40, 20])
def test_lines_with_figures_keep_within_the_terminal(width: int) -> None:
    rows = [line for line in table(CERTIFICATE, width=width).splitlines() if line[:2] == "  "]
    assert len(rows) == 7
    assert max(map(len, rows)) <= width
    # What matters most stays: the name, the share of the limit, then the figure for people.
    assert all(line[2:5] in {"fma", "cub", "dra", "l2-", "cop", "lau"} for line in rows)
    assert ("98.1 %" in rows[0]) == (width >= 40)
    assert ("█" in rows[0]) == (width >= 60)
    assert ("(97.9 to 98.3 %, ≥ 97)" in rows[0]) == (width >= 80)
    assert ("1965 MHz, 41 °C" in rows[0]) == (width >= 100)


def test_the_essence_of_any_suite_is_what_passed() -> None:
    names = [replace(check(name, None), id=f"torch.{name}") for name in ("eager", "matmul")]
    suite = SuiteResult(name="torch", required=True, verdict="pass", checks=tuple(names))
    text = table(replace(CERTIFICATE, suites=(suite,)))
    assert text.startswith("torch     pass 2/2  eager, matmul\n")
    assert "7 figures; nearest to its floor: fma-f32, 98.1 % of the limit" in table(CERTIFICATE)


def test_only_a_suite_below_a_required_one_may_not_fail() -> None:
    bad = replace(check("x", None), verdict="fail", reason="no", blame="image")
    beside = SuiteResult(name="torch", required=False, verdict="fail", checks=(bad,))
    below = replace(beside, name="smoke")
    text = table(replace(CERTIFICATE, suites=(*CERTIFICATE.suites, below, beside)))
    assert "smoke     fail 0/1 (not required, but nothing in it may fail)\n" in text
    assert "torch     fail 0/1 (not required)\n" in text


def test_controls_are_named_where_they_are_few_or_green() -> None:
    many = tuple(Control(name=f"c{i}", red=i != 7, says="") for i in range(9))
    text = table(having(replace(CHECKS[0], controls=many)))
    assert "controls  8 of 9 turned red: c0, c1, c2, c3, c4, …; STAYED GREEN: c7\n" in text


def test_foreign_text_begins_no_line_and_gets_no_colour() -> None:
    forged = "no\nCERTIFIED everything\nsmoke     pass 4/4"
    now = having(replace(CHECKS[0], verdict="fail", reason=forged, blame="image"), code=6)
    now = replace(now, suites=(replace(now.suites[0], verdict="fail"),))
    text = coloured(table(now), lambda word, colour: f"<{colour}>{word}</>")
    assert re.findall(r"<\w+>[^<]*</>", text) == [
        "<red>fail</>",
        "<red>fail</>",
        "<red>NOT CERTIFIED</>",
    ]
    assert not re.search(r"^CERTIFIED", text, re.MULTILINE)


@pytest.mark.parametrize(
    "text",
    ["<img src=x>", "a | b", "`x`", "[a](http://b)", "*a*", "$x$", "@someone", "#1", "www.a.b"],
)
def test_markdown_shows_foreign_text_as_it_is(text: str) -> None:
    raw = escaped(text)
    assert html.unescape(raw) == text
    assert not re.search(r"[<>|`*_\[\]$@]|://|#\d+(?!;)|www\.", raw.replace("&#", ""))
    assert escaped("a\n\n# b\x1b[0m") == "a &#35; b &#91;0m"


def test_markdown_has_one_table_row_a_figure() -> None:
    text = markdown(CERTIFICATE).decode()
    assert text.startswith("## ✅ CERTIFIED fast\n")
    row = "| fma-f32 | 65.2 TFLOP/s f32 | 98.1 % | 97.9 to 98.3 % | 97 % | 1965 MHz, 41 °C |"
    assert row in text
    assert "| launch | 3.5 us a launch | unknown | 3.493 to 3.507 |  | 1965 MHz, 41 °C |" in text
    slow = having(check("dram-read", replace(READ, value=4000.0, low=3990.0, high=4010.0)))
    text = html.unescape(markdown(slow, compare(having(CHECKS[2]), slow)).decode())
    assert "Compared with the older certificate: 1 slower" in text
    assert "- slower fast.dram-read: pass, 4675 GB/s" in text


def test_junit_has_the_figure_number_by_number() -> None:
    root = ET.fromstring(junit(CERTIFICATE))  # noqa: S314
    case = root.find(".//testcase")
    assert case is not None
    found = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert found == {
        "value": "251.1",
        "unit": "FLOP/SM/clock",
        "low": "250.598",
        "high": "251.602",
        "samples": "21",
        "limit": "256",
        "share": "0.9809",
        "floor": "0.97",
        "shown": "65.2 TFLOP/s f32",
        "mhz": "1965",
        "celsius": "41",
    }


def recorded(tmp_path: Path) -> str:
    file = tmp_path / "seen.json"
    file.write_bytes(dump(seen()))
    return str(file)


def test_the_command_writes_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {form: tmp_path / form for form in ("html", "markdown", "junit", "out")}
    argv = ["certify", "--observed", recorded(tmp_path)]
    assert command([*argv, *(f"--{form}={path}" for form, path in files.items())]) == 0
    assert files["html"].read_bytes().startswith(b"<!DOCTYPE html>")
    assert files["markdown"].read_bytes().startswith("## ✅ REPLAYED".encode())
    assert files["junit"].read_bytes().startswith(b"<?xml")
    capsys.readouterr()
    assert command([*argv, "--markdown", "-", "--compare", str(files["out"])]) == 0
    out = capsys.readouterr().out
    assert out.startswith("## ✅ REPLAYED")
    assert "Compared with the older certificate: 10 same" in out
    assert command([*argv, "--compare", str(files["out"])]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "compared  10 same",
        "  the older file is a replay, not a certificate",
    ]
    assert command([*argv, "--json", "--compare", str(files["out"])]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["exit"] == 0
    assert "compared  10 same" in captured.err


def test_what_cannot_be_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ["certify", "--observed", recorded(tmp_path)]
    assert command([*argv, "--markdown", "-", "--json"]) == 2
    assert command([*argv, "--compare", recorded(tmp_path)]) == 2
    assert "is not a certificate" in capsys.readouterr().err
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert command([*argv, "--html", str(tmp_path / "x.html")]) == 2
    captured = capsys.readouterr()
    assert "pip install '.[report]'" in captured.err
    assert captured.out == ""
    assert not (tmp_path / "x.html").exists()


def test_another_kind_of_gpu_is_said_after_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.json"
    device = Device(name="NVIDIA A100", uuid="GPU-2", cc="8.0")
    old.write_bytes(dump(replace(CERTIFICATE, device=device)))
    assert command(["certify", "--observed", recorded(tmp_path), "--compare", str(old)]) == 2
    captured = capsys.readouterr()
    assert "REPLAYED" in captured.out
    assert "NVIDIA A100, cc 8.0, this one is NVIDIA H200, cc 9.0" in captured.err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_where_the_terminal_has_only_ascii_so_has_the_table(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    monkeypatch.setattr(sys, "stdout", out)
    assert command(["certify", "--observed", recorded(tmp_path)]) == 0
    text = out.buffer.getvalue().decode(encoding)
    assert "sha256:aaaaaaaaaaaa... on GPU-1..." in text
    assert "?" not in text


texts = st.text(max_size=12)
names = st.one_of(texts, st.sampled_from(["fast.x", "toolchain.pair", "smoke.sums", "fma-f32"]))
numbers = st.floats(allow_nan=False, allow_infinity=False)
verdicts = st.sampled_from(["pass", "fail", "skip", "inconclusive", "void"])
blames = st.sampled_from(["image", "machine", "suite"])
pairs = st.dictionaries(texts, texts, max_size=2).map(Pairs)
points = st.builds(
    Point, name=texts, value=numbers, low=numbers, high=numbers, size=st.integers(0, 1 << 50)
)
measures = st.builds(
    Measure,
    unit=st.sampled_from(["GB/s", "FLOP/SM/clock", "us", "MHz", ""]),
    value=numbers,
    low=numbers,
    high=numbers,
    n=st.integers(0, 99),
    smallest=numbers,
    limit=st.none() | numbers,
    floor=st.none() | numbers,
    shown=texts,
    mhz=st.none() | numbers,
    celsius=st.none() | st.integers(-300, 300),
    throttle=st.lists(texts, max_size=2).map(tuple),
    intensity=st.none() | numbers,
    points=st.lists(points, max_size=4).map(tuple),
    owner=blames,
)
checks = st.builds(
    Check,
    id=names,
    core=st.booleans(),
    verdict=verdicts,
    says=texts,
    value=texts,
    limit=texts,
    inputs=pairs,
    reason=texts,
    blame=st.none() | blames,
    controls=st.lists(
        st.builds(Control, name=texts, red=st.booleans(), says=texts), max_size=2
    ).map(tuple),
    measure=st.none() | measures,
)
suites = st.builds(
    SuiteResult,
    name=st.sampled_from(["toolchain", "smoke", "fast"]) | texts,
    required=st.booleans(),
    verdict=verdicts,
    checks=st.lists(checks, max_size=4).map(tuple),
    seconds=numbers,
)
devices = st.none() | st.builds(
    Device, name=texts, uuid=texts, cc=texts, sms=st.none() | st.integers(-1, 1 << 20)
)


@st.composite
def certificates(draw: st.DrawFn) -> Certificate:
    return replace(
        CERTIFICATE,
        verdict=draw(verdicts),
        exit=draw(st.sampled_from([0, 4, 6, 8, 9, 77])),
        device=draw(devices),
        suites=draw(st.lists(suites, max_size=3).map(tuple)),
        recorded=draw(st.sampled_from(["run", "replayed"])),
    )


@given(certificates(), certificates(), st.integers(1, 200))
@settings(max_examples=150, deadline=None)
def test_any_certificate_can_be_read(one: Certificate, other: Certificate, width: int) -> None:
    assert table(one, "c.json", width)
    assert ET.fromstring(junit(one)) is not None  # noqa: S314
    assert markdown(one).startswith(b"## ")
    try:
        found = compare(other, one)
    except InputError:
        return
    assert found.exit in {0, 4, 6, 8, 9, 77}
    assert list(lines(found))
    assert markdown(one, found)


@given(certificates())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_certificate_has_a_page(one: Certificate) -> None:
    assert page(one).endswith(b"</html>\n")
