"""The ``setup`` expectations of the public cases, and siblings of the same kinds."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from envbuild.cli.app import run
from envbuild.values.codec import dump, replace
from envbuild.values.host import Host
from tests.cases import grade
from tests.cases.machines import host_of

SIBLINGS = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text())
PUBLIC = [(case.id, case.given, case.want) for case in grade.cases("setup")]
EVERY = PUBLIC + [(one["kind"], one["given"], one["want"]) for one in SIBLINGS]


def machine(given: dict[str, Any]) -> Host:
    """The machine of a case; one without docker has no engine at all."""
    host = host_of(given)
    return replace(host, engines=()) if given.get("docker", "") is None else host


def told(guide: dict[str, Any]) -> list[str]:
    """What people are told to do or use, a line each."""
    lines = []
    for section in guide["sections"]:
        lines += [section["test"], *(f["text"] for f in section["files"])]
        for step in section["steps"]:
            lines.append(" ".join([*step["argv"], step["text"], step["check"]]))
    return lines


def faults(guide: dict[str, Any], scripts: list[str], want: dict[str, Any]) -> list[str]:
    """What of ``want`` is not met."""
    lines = told(guide)
    commands = "\n".join([*lines, *scripts])
    states = {s["id"]: s["state"] for s in guide["sections"]}
    bare = [line for line in lines if not grade.WARNS.search(line)]
    found = []
    for key, value in want.items():
        if key == "contains":
            met = all(item in commands for item in value)
        elif key == "contains_any":
            met = any(item in commands for item in value)
        elif key == "says_any":
            met = any(grade.says(json.dumps(guide), item) for item in value)
        elif key == "must_not":
            met = not any(item in line for item in value for line in bare)
        elif key == "must_not_match":
            met = not any(re.search(item, line) for item in value for line in bare)
        elif key in {"done", "open"}:
            met = all(states[id] == key for id in value)
        else:
            assert key == "last"
            met = guide["sections"][-1]["id"] == value
        found += [] if met else [f"{key}: {value} ({states})"]
    return found


@pytest.mark.parametrize(("name", "given", "want"), EVERY, ids=[e[0] for e in EVERY])
def test_case(
    name: str,
    given: dict[str, Any],
    want: dict[str, Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "host.json"
    file.write_bytes(dump(machine(given["host"])))
    assert run(["setup", "--host", str(file), "--json"]) == 0
    guide = json.loads(capfd.readouterr().out)
    scripts = []
    for form in ("bash", "powershell"):
        assert run(["setup", "auto", "--host", str(file), "--format", form]) == 0
        scripts.append(capfd.readouterr().out)
    assert faults(guide, scripts, want) == []


def test_the_public_expectations_are_here() -> None:
    assert PUBLIC


def test_what_is_not_met_is_found() -> None:
    guide = {
        "sections": [
            {
                "id": "x",
                "state": "open",
                "test": "true",
                "files": [],
                "steps": [{"argv": ["apt-key", "add"], "text": "", "check": ""}],
            }
        ]
    }
    want = {
        "contains": ["stable/deb"],
        "must_not": ["apt-key"],
        "must_not_match": ["apt-k.y"],
        "done": ["x"],
        "last": "y",
        "says_any": ["harmless"],
        "contains_any": ["WDDM"],
    }
    assert len(faults(guide, [], want)) == len(want)
