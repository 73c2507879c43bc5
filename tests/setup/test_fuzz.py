"""Recorded hosts with values changed at random: an answer or an error of ours, never a bug."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from envbuild.cli.app import run
from tests.setup.machines import FOLDER

ROUNDS = int(os.environ.get("ENVBUILD_FUZZ_ROUNDS", "150"))
NASTY: list[Any] = [
    *(None, True, 0, -1, 10**12, [], {}, ["a"], {"a": "b"}),
    *("", "x", "\n", "9" * 60, "580", "580.x", "1.2.3.4.5.6", "C:\\Program Files\\x"),
    *("'; rm -rf /; '", "$(id)", "`id`", "\u2019; x \u2018", "é\u202e", "\x1b[2J"),
]
KINDS = ("auto", "wsl2", "ubuntu", "rhel", "linux", "jetson", "rented", "windows")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401
    """The paths of all values in a JSON document."""
    found = [path] if path else []
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in inside:
            found += leaves(child, (*path, key))
    return found


def mutated(document: Any, dice: random.Random) -> Any:  # noqa: ANN401
    copy = json.loads(json.dumps(document))
    for _ in range(dice.randint(0, 3)):
        *way, last = dice.choice(leaves(copy))
        place = copy
        for key in way:
            place = place[key]
        place[last] = json.loads(json.dumps(dice.choice(NASTY)))
    return copy


@pytest.mark.parametrize("seed", range(4))
def test_mutated_hosts(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dice = random.Random(seed)  # noqa: S311
    hosts = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
    file = tmp_path / "host.json"
    codes = set()
    for _ in range(ROUNDS // 4):
        file.write_text(json.dumps(mutated(dice.choice(hosts), dice)))
        written = dice.choice(("terminal", "bash", "powershell", "markdown"))
        argv = ["setup", dice.choice(KINDS), "--host", str(file), "--format", written]
        code = run(argv)
        out, err = capsys.readouterr()
        assert code in {0, 2, 3}, (argv, err, file.read_text())
        assert "\x1b" not in out
        codes.add(code)
    assert 0 in codes
