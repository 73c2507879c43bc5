"""The pages under docs/ are what the command writes, and say what was not run."""

import os
import re
from pathlib import Path

import pytest

from envbuild.cli.app import run
from tests.setup.made import KINDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/wsl2.md"
HOST = "tests/hosts/windows-no-wsl.json"
ARGV = ["setup", "wsl2", "--host", HOST, "--with", "torch", "--format", "markdown"]


def test_the_wsl_guide_is_what_the_command_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert run(ARGV) == 0
    page = capsys.readouterr().out
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page, (
        "UPDATE_GOLDEN=1 pytest tests/setup/test_docs.py"
    )


def test_the_guides_page_names_every_kind_and_links_to_the_guide() -> None:
    text = (ROOT / "docs/setup.md").read_text(encoding="utf-8")
    assert all(f"`{kind}`" in text for kind in KINDS)
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / "docs" / target).exists(), target
    assert "not linted and not run" in text


def test_the_commands_of_the_guides_page_are_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs/setup.md").read_text(encoding="utf-8")
    assert run(["setup", "--help"]) == 0
    known = capsys.readouterr().out
    for line in re.findall(r"envbuild setup([^\n`#]*)", text):
        for flag in re.findall(r"--[a-z][a-z-]*", line):
            assert flag in known, flag
