"""What is shown to be copied is what a shell reads back."""

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuild.cli import show
from envbuild.values.codec import dump


@given(st.lists(st.text(min_size=0, max_size=8), min_size=1, max_size=4))
def test_a_command_reads_back_as_the_same_arguments(argv: list[str]) -> None:
    assert shlex.split(show.command(argv)) == argv


def test_plain_words_stay_plain() -> None:
    assert show.command(["envbuild", "up", "--cc", "6.1"]) == "envbuild up --cc 6.1"


@given(st.text(max_size=40))
def test_no_control_character_is_shown(text: str) -> None:
    assert all(c in "\n\t" or c.isprintable() for c in show.clean(text))


@pytest.mark.parametrize(
    "text", ["a", "ä 東", "\x1b[2J", "\x9b31m", "\u202e", "\U000e0041", "\x7f\n\t"]
)
def test_json_moves_no_cursor_and_reads_back(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    show.json({"a": [text]})
    out = capfd.readouterr().out
    assert json.loads(out) == {"a": [text]}
    assert all(line.isprintable() for line in out.split("\n"))
    if text.isprintable():
        assert out.encode() == dump({"a": [text]})


@given(st.text(max_size=40))
def test_foreign_text_is_one_line(text: str) -> None:
    assert len(show.line(text).splitlines()) <= 1
