"""The README's commands do what it says, and its picture is what the command prints."""

import html
import re
import shlex
from pathlib import Path

import pytest

from envbuild.cli.app import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PLANS = [
    (shlex.split(command), 3 if "exit 3" in remark else 0)
    for command, _, remark in (
        line.removeprefix("script/envbuild ").partition("#")
        for line in README.splitlines()
        if line.startswith("script/envbuild plan")
    )
]


@pytest.mark.parametrize(("argv", "code"), PLANS, ids=str)
def test_plan_commands(argv: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(argv) == code
    assert capsys.readouterr().out


def test_there_are_commands_to_try() -> None:
    assert len(PLANS) >= 5
    assert {code for _, code in PLANS} == {0, 3}


def test_every_command_and_flag_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    for name, flags in re.findall(r"envbuild ((?:matrix )?\w+)([^`|\n]*)", README):
        if name in {"COMMAND", "project"}:
            continue
        assert run([*name.split(), "--help"]) == 0, name
        known = capsys.readouterr().out
        own = flags.split(" -- ")[0]
        for flag in re.findall(r"(?<!\S)--[a-z][a-z0-9-]*", own):
            assert flag in known, f"envbuild {name} {flag}"


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_the_picture_is_what_the_command_prints(capfd: pytest.CaptureFixture[str]) -> None:
    run(["plan", "--cc", "6.1"])
    printed = capfd.readouterr().out.splitlines()
    picture = re.sub(r"<[^>]+>", "", (ROOT / "docs" / "plan.svg").read_text())
    shown = re.sub(r"\s+", "", html.unescape(picture))
    for line in printed:
        assert re.sub(r"\s+", "", line[:149]) in shown, f"script/make-picture: {line}"
