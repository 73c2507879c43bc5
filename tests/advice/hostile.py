"""Machines, logs and rows that nobody meant to write: mutations of real ones.

usage: python -m tests.advice.hostile [COUNT]     prints what raised, and the slowest
"""

import io
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from envbuild.advice.doctor import diagnose
from envbuild.advice.rows import advice_of
from envbuild.advice.scene import Scene
from envbuild.advice.signatures import Signatures
from envbuild.cli.doctor import lines
from envbuild.data import folder as packed
from envbuild.errors import EnvbuildError
from envbuild.matrix.load import load_errors
from envbuild.matrix.model.errors import ErrorText
from envbuild.matrix.rows import read
from envbuild.values.codec import load
from envbuild.values.diagnosis import Diagnosis
from envbuild.values.host import Host
from envbuild.values.plan import MatrixId

_MATRICES = packed("matrices")
_HOSTS = sorted((Path(__file__).parents[1] / "hosts").glob("*.json"))
_LINES = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text())
_LIKE = [line for given in _LINES.values() for line in (*given["like"], *given["unlike"])]
_ODD = (
    *("", " ", "0", "-1", "../../etc/passwd", "$(reboot)", "'; reboot #", "\x1b[2J", "é\u202e"),
    *("a" * 5000, "999999999999.9", "1.2.3.4.5.6", "12.x", "sm_", "{os}", "%s", "--privileged"),
    *("\x00", "nan", "13.0"),
)


def machines(rng: random.Random) -> Iterator[Host]:
    """Hosts with fields exchanged, removed or spoilt, as far as they still are hosts."""
    texts = [path.read_text() for path in _HOSTS]
    while True:
        record = json.loads(rng.choice(texts))
        other = json.loads(rng.choice(texts))
        for _ in range(rng.randrange(1, 6)):
            _spoil(record, other, rng)
        try:
            yield load(Host, json.dumps(record).encode(), "host.json")
        except EnvbuildError:
            continue


def _spoil(record: dict[str, Any], other: dict[str, Any], rng: random.Random) -> None:
    """One field of the record: another machine's, an odd text, or none."""
    place: Any = record
    for _ in range(rng.randrange(1, 5)):
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = rng.choice(keys)
        below = place[key]
        if isinstance(below, (dict, list)) and below and rng.random() < 0.8:
            place = below
            continue
        if isinstance(place, dict) and place is record and rng.random() < 0.5:
            place[key] = other.get(str(key), below)
        elif isinstance(below, str) or below is None:
            place[key] = rng.choice(_ODD)
        elif isinstance(below, bool):
            place[key] = not below
        elif isinstance(below, int):
            place[key] = rng.choice((0, -1, 1, 10**12))
        elif isinstance(below, list):
            place[key] = below * rng.choice((0, 2, 50))
        return


def logs(rng: random.Random) -> Iterator[bytes]:
    """Known lines cut, glued, repeated and spoilt, in several encodings."""
    while True:
        parts = []
        for _ in range(rng.randrange(1, 12)):
            line = rng.choice(_LIKE)
            at = rng.randrange(len(line) + 1)
            kind = rng.randrange(6)
            parts.append(
                (
                    line,
                    line[:at] + rng.choice(_ODD) + line[at:],
                    line[at:] + rng.choice(_LIKE)[:at],
                    line * rng.choice((1, 3, 200)),
                    line.replace(" ", rng.choice(("\t", "  ", "\r", "\x0b"))),
                    "".join(rng.sample(line, len(line))),
                )[kind]
            )
        text = rng.choice(("\n", "\r\n", "\r", " ", "")).join(parts)
        yield text.encode(rng.choice(("utf-8", "utf-16", "utf-16-be")), "surrogatepass")


def attack(count: int, seed: int = 0) -> tuple[list[str], float]:
    """What raised, and the seconds of the slowest."""
    rng = random.Random(seed)  # noqa: S311 - a test that can be repeated
    every = Signatures(load_errors().errors)
    raised: list[str] = []
    slowest = 0.0
    hosts, texts = machines(rng), logs(rng)
    for number in range(count):
        host, data = next(hosts), next(texts)
        start = time.perf_counter()
        try:
            seen = every.scan(io.BytesIO(data), "log")
            findings = diagnose(Scene(host=host, seen=seen, logs=("log",)))
            matrix = MatrixId(date="2026-12-01", digest="sha256:0")
            shown = "\n".join(lines(Diagnosis(findings=findings, seen=seen, matrix=matrix)))
            assert shown.replace("\n", "").isprintable(), "control characters are shown"
        except Exception as e:
            raised.append(f"{seed}/{number}: {type(e).__name__}: {e}")
        slowest = max(slowest, time.perf_counter() - start)
    return raised, slowest


def overlay(count: int, folder: Path, seed: int = 0) -> list[str]:
    """What raised, of rows of `errors.yaml` that were spoilt as text and then used."""
    rng = random.Random(seed)  # noqa: S311 - a test that can be repeated
    rows = (_MATRICES / "errors.yaml").read_text().partition("\nerrors:\n")[2].split("\n- ")[1:]
    path = folder / "spoilt.yaml"
    raised = []
    for number in range(count):
        text = "errors:\n" + "".join(f"- {row}\n" for row in rng.sample(rows, 3))
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text))
            put = rng.choice(("", *"'{}[]:\"&*\x00\x1b\n", "- ", "{x}", text[at : at + 30] * 3))
            text = text[:at] + put + text[at + rng.choice((0, 0, 1, 8)) :]
        path.write_text(text)
        try:
            _use([placed.row for placed in read(path)[1] if isinstance(placed.row, ErrorText)])
        except EnvbuildError:
            continue
        except Exception as e:
            raised.append(f"{seed}/{number}: {type(e).__name__}: {e}")
    return raised


def _use(rows: list[ErrorText]) -> None:
    """Search for the texts of the rows in themselves, and say what they mean."""
    log = "\n".join(re.sub(r"\{\w*\}", "word", text) for row in rows for text in row.texts)
    data = io.BytesIO(log.encode("utf-8", "replace"))
    seen = {one.id: one for one in Signatures(rows).scan(data, "log")}
    for row in rows:
        if row.id in seen:
            advice_of(row, Scene(seen=tuple(seen.values())), seen[row.id])


def main() -> None:
    """Throw ``COUNT`` of each at it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    faults, seconds = attack(count)
    with tempfile.TemporaryDirectory() as folder:
        faults += overlay(count, Path(folder))
    print(*faults[:20], f"{len(faults)} raised, slowest {seconds:.3f} s", sep="\n")


if __name__ == "__main__":
    main()
