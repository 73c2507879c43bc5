"""Files that people write, spoilt at random: an answer or an error of ours, never a bug.

``ENVBUILD_FUZZ_ROUNDS=10000`` throws ten thousand of each.
"""

import contextlib
import os
import random
import time
from pathlib import Path

import pytest

from envbuild.cli.app import run
from envbuild.errors import EnvbuildError
from envbuild.matrix.rows import read
from tests.setup.machines import FOLDER

ROUNDS = int(os.environ.get("ENVBUILD_FUZZ_ROUNDS", "40"))
MATRICES = Path(__file__).parents[2] / "matrices"
PROJECT = """\
cc: ['6.1', 8.6]
cuda: '>=12.4,<13'
torch: 2.10
with: [numba, cudnn==9.10]
feature: [extension]
base-os: ubuntu24.04
driver: 580.95.05
platform: linux
where: image
as-of: 2026-12-01
"""
FLEET = """\
- {name: desk, gpus: GTX 1080 Ti, driver: 580.95.05}
- {name: lab, cc: '8.6', count: 4}
- {name: cloud, gpus: [L4, A100]}
"""
NASTY = (
    *("'", '"', "{", "}", "[", "]", ":", "- ", "&a ", "*a", "!!python/object:os.system ", "\n"),
    *(
        "\t",
        "\x00",
        "\x1b[2J",
        "é\u202e",
        "9" * 400,
        "$(id)",
        "'; rm -rf / #",
        "null",
        "~",
        "1e999",
    ),
    *("? ", "|\n", "<<: ", "---\n", "%YAML 9.9\n", "{a: " * 60, "[" * 900, "\ufeff", "\u2028"),
)


def spoilt(text: str, dice: random.Random) -> str:
    """The text with pieces put in, taken out and repeated."""
    for _ in range(dice.randint(0, 3)):
        at = dice.randrange(len(text) + 1)
        put = dice.choice((*NASTY, text[at : at + 40] * 3, ""))
        text = text[:at] + put + text[at + dice.choice((0, 0, 1, 5, 30)) :]
    return text


def answered(argv: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> int:
    """The exit code; neither a bug nor a code of the terminal nor a hang may come of it."""
    start = time.thread_time()
    code = run(argv)
    seconds = time.thread_time() - start
    out, err = capsys.readouterr()
    assert code in {0, 2, 3, 4}, (argv, text, err)
    assert "Traceback" not in err, (text, err)
    assert "\x1b" not in out + err, (text, out, err)
    assert seconds < 1.0, (seconds, text)
    return code


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["project", "fleet", "host"])
def test_spoilt_files(
    kind: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dice = random.Random(f"{kind}/{seed}")  # noqa: S311 - a test that can be repeated
    hosts = [path.read_text() for path in sorted(FOLDER.glob("*.json"))]
    file = tmp_path / ("host.json" if kind == "host" else "envbuild.yaml")
    argv = {
        "project": ["plan", str(file)],
        "fleet": ["plan", "--fleet", str(file)],
        "host": ["doctor", "--host", str(file)],
    }[kind]
    answered(["plan", "--cc", "8.6"], "", capsys)  # the tables are read once
    codes = set()
    for _ in range(ROUNDS // 2):
        text = {"project": PROJECT, "fleet": FLEET}.get(kind) or dice.choice(hosts)
        text = spoilt(text, dice)
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        codes.add(answered(argv, text, capsys))
    assert {0, 2} <= codes or {2, 4} <= codes


@pytest.mark.parametrize("seed", range(2))
def test_spoilt_matrices(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some lines of a table, spoilt and laid over the tables; a row that is whole may be used."""
    dice = random.Random(f"matrix/{seed}")  # noqa: S311 - a test that can be repeated
    tables = [path.read_text() for path in sorted(MATRICES.glob("*.yaml"))]
    for number in range(ROUNDS // 2):
        table = dice.choice(tables)
        head, name, rows = table.rpartition(dice.choice(("\n- {", "\n- id", "\n- ")))
        text = spoilt(table[:60] + name + rows[:1500] if head else table[:1500], dice)
        file = tmp_path / f"over-{number}.yaml"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        with contextlib.suppress(EnvbuildError):
            read(file)
        if number % 20:
            continue
        # The whole tables are checked again beside a row that can be read: that takes a second.
        monkeypatch.setenv("ENVBUILD_MATRICES", str(file))
        code = run(["plan", "--cc", "8.6"])
        out, err = capsys.readouterr()
        assert code in {0, 2, 3}, (text, err)
        assert "Traceback" not in err, (text, err)
        assert "\x1b" not in out + err, (text, err)
