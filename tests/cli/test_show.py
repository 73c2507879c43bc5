"""What is shown to be copied is what a shell reads back."""

import shlex

from hypothesis import given
from hypothesis import strategies as st

from envbuild.cli import show


@given(st.lists(st.text(min_size=0, max_size=8), min_size=1, max_size=4))
def test_a_command_reads_back_as_the_same_arguments(argv: list[str]) -> None:
    assert shlex.split(show.command(argv)) == argv


def test_plain_words_stay_plain() -> None:
    assert show.command(["envbuild", "up", "--cc", "6.1"]) == "envbuild up --cc 6.1"


@given(st.text(max_size=40))
def test_no_control_character_is_shown(text: str) -> None:
    assert all(c in "\n\t" or c.isprintable() for c in show.clean(text))
