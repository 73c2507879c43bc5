"""Rows of `errors.yaml`: each knows the lines it is for, and leaves alone those that look alike."""

import io
import re
import shlex
from pathlib import Path

import pytest
import yaml

from envbuild.advice import when
from envbuild.advice.rows import advice_of
from envbuild.advice.scene import Scene
from envbuild.advice.signatures import Signatures
from envbuild.errors import InputError
from envbuild.matrix.load import load_errors
from envbuild.matrix.model.errors import Cause, ErrorText, Fix
from envbuild.values.codec import Pairs
from envbuild.values.diagnosis import Seen
from envbuild.values.host import Host

LINES = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text())
ROWS = {row.id: row for row in load_errors().errors}
EVERY = Signatures(load_errors().errors)
TOLD = [row for row in ROWS.values() if row.causes]


def ids(text: str) -> set[str]:
    return {seen.id for seen in EVERY.scan(io.BytesIO(text.encode()), "log")}


@pytest.mark.parametrize("row", TOLD, ids=lambda row: row.id)
def test_a_row_knows_its_lines_and_no_other(row: ErrorText) -> None:
    given = LINES[row.id]
    for line in given["like"]:
        assert row.id in ids(f"before\n{line}\nafter\n"), line
    for line in given["unlike"]:
        assert row.id not in ids(f"before\n{line}\nafter\n"), line


def test_every_row_has_lines_and_every_line_a_row() -> None:
    assert LINES.keys() == {row.id for row in TOLD}
    assert all(given["like"] and given["unlike"] for given in LINES.values())
    assert len(ROWS) >= 59


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.id)
def test_each_text_of_a_row_is_found_in_itself(row: ErrorText) -> None:
    for text in row.texts:
        line = re.sub(r"\{\w+\}", "word-1", text).replace("{}", " ... ")
        assert row.id in ids(f"#12 0.312 {line}"), text


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.id)
def test_a_row_can_be_searched_in_bounded_time_and_its_words_are_used(row: ErrorText) -> None:
    for text in row.texts:
        pieces = re.split(r"\{\w*\}", text)
        assert len(pieces) <= 3, f"{text}: more than two places"
        assert max(map(len, pieces)) >= 7, f"{text}: too short to be searched for"
    named = {name for text in row.texts for name in re.findall(r"\{(\w+)\}", text)}
    for cause in row.causes:
        places = re.findall(r"\{(\w+)\}", f"{cause.says} {cause.why} {cause.steps}")
        assert set(places) <= named | {"os", "driver", "cc"}, row.id


@pytest.mark.parametrize("row", TOLD, ids=lambda row: row.id)
def test_the_last_cause_holds_everywhere_and_conditions_exist(row: ErrorText) -> None:
    known = frozenset(ROWS)
    assert row.causes[-1].when == ()
    assert all(when.known(name, known) for cause in row.causes for name in cause.when)
    assert set(row.explains) <= known


@pytest.mark.parametrize("row", TOLD, ids=lambda row: row.id)
def test_each_fault_has_steps_that_can_be_checked(row: ErrorText) -> None:
    for cause in row.causes:
        if (cause.severity or row.severity) == "error":
            assert cause.steps, f"{row.id}: {cause.says}"
        for fix in cause.steps:
            assert bool(fix.run) != bool(fix.do), f"{row.id}: {fix}"
            assert fix.check, f"{row.id}: {fix}"
            assert fix.why, f"{row.id}: {fix}"
            assert shlex.split(fix.run) or fix.do


@pytest.mark.parametrize("platform", ["linux", "wsl2", "jetson", "windows"])
def test_a_row_says_something_of_each_of_its_lines_on_each_system(platform: str) -> None:
    for row in TOLD:
        for line in LINES[row.id]["like"]:
            seen = EVERY.scan(io.BytesIO(line.encode()), "log")
            scene = Scene(host=Host(kind="made", platform=platform), seen=seen)
            own = scene.saw(row.id)
            assert own is not None
            told = advice_of(row, scene, own)
            assert told is not None, f"{row.id}: {line}"
            assert "{" not in told.finding.says + "".join(s.text for s in told.finding.steps)


# What makes or installs a Linux driver, or concerns its kernel module.
_LINUX_DRIVER = re.compile(
    r"modprobe|initramfs|dracut|mokutil|install\s.*(?:cuda-drivers|nvidia-(?:driver|dkms|open))"
    r"|\breboot"
)


@pytest.mark.parametrize("row", TOLD, ids=lambda row: row.id)
def test_on_wsl_no_row_leads_to_a_linux_driver(row: ErrorText) -> None:
    for line in LINES[row.id]["like"]:
        seen = EVERY.scan(io.BytesIO(line.encode()), "log")
        scene = Scene(host=Host(kind="made", platform="wsl2"), seen=seen)
        own = scene.saw(row.id)
        told = advice_of(row, scene, own) if own is not None else None
        assert told is not None
        for step in told.finding.steps:
            assert not _LINUX_DRIVER.search(" ".join([*step.argv, step.text])), step


@pytest.mark.parametrize(
    ("word", "argv"),
    [
        ("nvidia/cuda:12.6", ("docker", "pull", "nvidia/cuda:12.6")),
        ("--privileged", None),
        ("x;reboot", None),
        ("$(reboot)", None),
    ],
)
def test_a_word_of_a_log_is_one_argument_or_none(word: str, argv: tuple[str, ...] | None) -> None:
    fix = Fix(why="fetch it", run="docker pull {image}", check="it is there")
    cause = Cause(says="gone: {image}", steps=(fix,))
    row = ErrorText(
        id="x", family="apt", texts=("{image} gone",), causes=(cause,), source=("a",),
        status="sourced",
    )  # fmt: skip
    seen = Seen(id="x", log="log", line=1, text="", words=Pairs({"image": word}))
    told = advice_of(row, Scene(), seen)
    assert told is not None
    assert [step.argv for step in told.finding.steps] == ([argv] if argv else [])


def test_a_cause_whose_places_have_no_value_gives_way_to_the_next() -> None:
    row = ROWS["unsupported-arch"]
    seen = Seen(id=row.id, log="log", line=1, text="is not a recognized processor for this target")
    told = advice_of(row, Scene(), seen)
    assert told is not None
    assert "the card's target" in told.finding.says


def made(text: str, *whens: str, run: str = "") -> ErrorText:
    """A row as an overlay may have it."""
    cause = Cause(when=whens, says="x", steps=(Fix(why="y", run=run, check="z"),))
    return ErrorText(
        id="x", family="apt", texts=(text,), causes=(cause,), source=("a",), status="sourced"
    )


def test_rows_of_an_overlay_that_cannot_be_used_are_named() -> None:
    seen = Seen(id="x", log="log", line=1, text="")
    for text in ("{a}", "a {b} c {d} e {f} g"):
        with pytest.raises(InputError, match="cannot be searched for"):
            Signatures([made(text)])
    with pytest.raises(InputError, match="no-such-condition"):
        advice_of(made("a text", "no-such-condition"), Scene(), seen)
    with pytest.raises(InputError, match="no shell reads"):
        advice_of(made("a text", run="echo 'x"), Scene(), seen)
