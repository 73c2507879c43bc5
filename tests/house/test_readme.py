"""The README's commands do what it says, and its picture is what the command prints."""

import html
import re
import shlex
from pathlib import Path

import pytest

from envbuild.cli.app import run
from envbuild.engines.find import NAMES
from envbuild.host.access import ACCESS
from envbuild.values.certificate import Certificate
from envbuild.values.codec import load

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


def test_the_table_of_engines_has_each_way_in_and_says_what_was_run() -> None:
    """Which cells were run is known to those who ran them; which ways there are, to the code."""
    lines = README.partition("## Engines and how the GPU comes in")[2].split("\n\n")[1].splitlines()
    rows = [[cell.strip(" *`") for cell in line.strip("|").split("|")] for line in lines]
    ways = rows[0][2:]
    known = {mode for modes in ACCESS.values() for mode in modes} - {"none"}
    assert (set(ways), len(ways)) == (known, len(known))
    seen = set()
    for engine, _, *cells in rows[2:]:
        name = engine.split()[0]
        has = set(ACCESS.get(name, ("native",)))
        seen.add(name)
        for way, cell in zip(ways, cells, strict=True):
            said = {"run on a GPU", "run with a stand-in device", "not run"}
            assert cell in (said if way in has else {"\N{EN DASH}"}), (engine, way, cell)
    assert seen == set(NAMES)


def test_the_cells_that_ran_on_a_gpu_are_recorded() -> None:
    """Each engine and way that the table says was on a GPU has a certificate that passed there."""
    kept = [
        load(Certificate, path.read_bytes(), path.name)
        for path in (ROOT / "docs" / "h200").glob("certificate-*.json")
    ]
    passed = {(one.engine, one.access) for one in kept if one.verdict == "pass"}
    containers = {("docker", "cdi"), ("podman", "cdi"), ("apptainer", "native")}
    assert passed == {*containers, ("local", "native")}
    table = README.partition("## Engines and how the GPU comes in")[2].split("\n\n")[1]
    assert table.count("run on a GPU") == len(passed)


def test_the_picture_is_what_the_command_prints(capfd: pytest.CaptureFixture[str]) -> None:
    run(["plan", "--cc", "6.1"])
    printed = capfd.readouterr().out.splitlines()
    picture = re.sub(r"<[^>]+>", "", (ROOT / "docs" / "plan.svg").read_text())
    shown = re.sub(r"\s+", "", html.unescape(picture))
    for line in printed:
        assert re.sub(r"\s+", "", line[:149]) in shown, f"script/make-picture: {line}"
