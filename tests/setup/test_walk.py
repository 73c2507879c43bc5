"""Every guide for every machine, and what each promises."""

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
import tree_sitter
import tree_sitter_powershell

from envbuild.advice.guide import guide
from envbuild.advice.guide.case import about, case
from envbuild.advice.guide.written import text
from envbuild.matrix.load import load, load_reference
from envbuild.values.codec import dump_line
from envbuild.values.guide import Guide, Kind
from envbuild.values.request import Request
from tests.setup.machines import machines
from tests.setup.made import KINDS, asked, ids, of_machine, section, told

MACHINES = sorted(machines())
DECLARED: list[tuple[Kind, str]] = [
    (kind, cc)
    for kind in KINDS
    for cc in ("3.7", "5.2", "6.1", "7.0", "7.5", "8.6", "9.0", "12.0")
    if kind != "jetson"
] + [("jetson", cc) for cc in ("5.3", "7.2", "8.7", "11.0")]
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))


def every() -> Iterator[tuple[str, Guide]]:
    for name in MACHINES:
        yield name, of_machine(name)
    for kind, cc in DECLARED:
        made = case(kind, Request(cc=(cc,)), None)
        if made.plan.outcome != "refuse":  # Kepler has no driver for WSL
            yield f"{kind} {cc}", guide(made, about(made))


GUIDES = dict(every())
ALL = pytest.mark.parametrize("name", sorted(GUIDES))


def old(made: Guide) -> bool:
    """A card of before Turing, which has a last driver branch."""
    rows = {row.cc: row for row in load().capabilities}
    ccs = re.findall(r"\bcc (\d+\.\d)", " ".join(made.about))
    return any(rows[cc].last_branch is not None for cc in ccs if cc in rows)


INSTALLS = re.compile(r"(?:apt-get|dnf|zypper|pip|pacman) [^|&;]*?install ([^|&;>]*)")
SYSTEM = {"ca-certificates", "curl", "gpg", "dnf-command(config-manager)", "python3-venv"}
"""What every system calls the same, and no row is about."""


def installed(made: Guide) -> set[str]:
    """Every package that some step installs, by any package manager."""
    found: set[str] = set()
    for one in made.sections:
        for step in one.steps:
            words = " ".join(step.argv)
            for match in INSTALLS.finditer(words):
                found |= {word for word in match[1].split() if not word.startswith("-")}
    return found


def test_there_are_machines_of_every_kind() -> None:
    assert len(MACHINES) >= 25
    assert {made.kind for made in GUIDES.values()} == set(KINDS)


@ALL
def test_each_section_says_why_how_to_check_and_what_failure_means(name: str) -> None:
    made = GUIDES[name]
    assert made.sections
    assert len(set(ids(made))) == len(made.sections)
    for one in made.sections:
        assert one.title, one.id
        assert one.why, one.id
        assert one.test, one.id
        assert one.fails, one.id
        assert one.source, one.id
        assert one.steps, one.id
        assert "\n" not in one.test
        for step in one.steps:
            assert step.why, one.id
            assert step.check, one.id
            assert bool(step.argv) != bool(step.text), (one.id, step)


@ALL
def test_an_engine_is_there_before_it_lends_a_gpu(name: str) -> None:
    made = GUIDES[name]
    if "container-toolkit" in ids(made) and made.kind != "jetson":
        first = ids(made)[: ids(made).index("container-toolkit")]
        assert {"docker", "podman"} & set(first)


@ALL
def test_no_placeholder_is_left_open(name: str) -> None:
    left = re.compile(
        r"\{(?:branch|release|arch|major|minor|version|cc|os|driver)\}|\bNone\b|<[a-z]+>|XXX|TODO"
    )
    for one in GUIDES[name].sections:
        for part in (one.title, one.why, one.test, one.fails, one.seen):
            assert not left.search(part), (one.id, part)
        for step in one.steps:
            for part in (*step.argv, step.text, step.why, step.check):
                assert not left.search(part), (one.id, part)


@ALL
def test_on_wsl_nothing_of_a_linux_driver_is_installed(name: str) -> None:
    made = GUIDES[name]
    if made.kind not in {"wsl2", "windows"}:
        return
    row = next(r for r in load_reference().wsl if r.what == "linux-driver-packages")
    let = next(r for r in load_reference().wsl if r.what == "not-driver-packages")
    for package in installed(made):
        driver = re.search(row.value, package) and not re.search(let.value, package)
        assert not driver, package
        assert package not in {"cuda", "cuda-drivers"}
        assert not re.fullmatch(r"cuda-\d+-\d+", package)
    assert "modprobe" not in told(made)


@ALL
def test_an_old_card_gets_no_cuda_13_and_its_guide_ends_with_a_pin(name: str) -> None:
    made = GUIDES[name]
    ended = [one for one in made.sections if one.id.startswith("hold-")]
    assert bool(ended) == (ended == list(made.sections[-1:]))
    if made.kind == "jetson":
        assert not ended
        return
    pascal = any(word in " ".join(made.about) for word in ("GTX 10", "Pascal", "cc 6.1", "V100"))
    if pascal or re.search(r"cc (3|5|6|7\.0)\b", made.about[0]):
        assert "for any card" not in made.about[0]
        cuda = re.search(r"CUDA (\d+)", made.about[0])
        assert cuda is not None
        if "5090" not in made.about[0]:
            assert int(cuda[1]) < 13
            assert not re.search(r"cuda-toolkit-13|nvidia/cuda:13", told(made))
            assert ended
            branch = re.search(r"R(\d+)", ended[0].title)
            assert branch is not None
            assert int(branch[1]) <= 580
            # The check compares with the first branch that no longer drives the card.
            beyond = min(b.branch for b in load().branches if b.branch > int(branch[1]))
            assert str(beyond) in ended[0].test


@ALL
def test_addresses_and_packages_are_rows(name: str) -> None:
    made = GUIDES[name]
    rows = (dump_line(load()) + dump_line(load_reference())).decode()
    for address in re.findall(r"https?://[^\s'\"`)]+", told(made)):
        stem = re.match(r"https?://[^/]+(?:/[^/$]+)?", address)
        assert stem is not None
        assert stem[0].rstrip("/") in rows, address
    for package in installed(made):
        stem_ = re.sub(r"[\d.]+.*$", "", package)
        known = package in rows or stem_.rstrip("-") in rows
        assert known or package in SYSTEM or package.startswith(("torch==", "linux-headers")), (
            package
        )


SYSTEM = {
    "ca-certificates",
    "curl",
    "gpg",
    "dnf-command(config-manager)",
    "dnf-command(versionlock)",
}
"""What every system calls the same, and no row is about."""


@ALL
def test_bash_is_clean(name: str) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not here")
    script = text(GUIDES[name], "bash")
    done = subprocess.run(
        ["shellcheck", "-"], input=script, capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def faults(node: tree_sitter.Node) -> Iterator[str]:
    if node.is_error or node.is_missing:
        yield f"line {node.start_point[0] + 1}: {(node.text or b'').decode()[:80]}"
    for child in node.children:
        yield from faults(child)


@ALL
def test_powershell_parses(name: str) -> None:
    script = text(GUIDES[name], "powershell")
    assert list(faults(PARSER.parse(script.encode()).root_node)) == []


def test_the_parser_finds_what_is_wrong() -> None:
    assert list(faults(PARSER.parse(b"if (1 -eq 1) { Write-Host 'x'").root_node))
    assert list(faults(PARSER.parse(b"Write-Host 'it's'\n").root_node))


@ALL
def test_markdown_and_terminal_hold_every_section(name: str) -> None:
    made = GUIDES[name]
    page, shown = text(made, "markdown"), text(made, "terminal")
    for number, one in enumerate(made.sections, 1):
        assert re.search(rf"^## \\\[[x ?]\\\] {number}\. ", page, re.MULTILINE), one.id
        assert f" {number}. " in shown
        assert one.test in page
    assert page.count("```") % 2 == 0
    assert all(c.isprintable() or c == "\n" for c in shown)


def test_a_guide_is_the_same_twice() -> None:
    assert asked("wsl2", cc=("6.1",)) == asked("wsl2", cc=("6.1",))


def test_wsl_begins_on_windows_and_names_the_three_things() -> None:
    made = asked("wsl2", cc=("8.9",))
    assert made.sections[0].runs_in == "powershell"
    first_linux = next(i for i, one in enumerate(made.sections) if one.runs_in == "sh")
    assert {"windows", "windows-driver", "wsl", "distribution", "wslconfig"} <= set(
        ids(made)[:first_linux]
    )
    assert {"counters", "debugger", "docker-desktop"} <= set(ids(made)[:first_linux])
    toolkit = section(made, "toolkit")
    assert "torch.cuda.is_available() needs no nvcc" in toolkit.why
    assert all(word in toolkit.why for word in ("driver", "toolkit", "runtime"))
    assert "cuda-toolkit-13" in told(made)
    assert "repos/wsl-ubuntu/" in told(made)
    assert "/usr/lib/wsl/lib/nvidia-smi" in section(made, "gpu").test
    assert "nvidia.com/gpu=all" in section(made, "container-toolkit").test
    assert "sudo /usr/local/cuda-13" in told(made)
