#!/usr/bin/env python3
"""What each stage of the corridor costs on a real engine, as ratios within one run.

usage: python benchmarks/corridor.py [--rounds N] [--reproduce] [--cc 8.6 --cc 9.0] ARGUMENTS...

ARGUMENTS are those of ``envbuild build`` but for the card; mirrors and the engine are taken from
the environment, as by `envbuild` itself. The image is built first, which is not counted.
--reproduce measures that alone: it builds three times without a cache.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from run import ENVBUILD, ROOT, Row, clock, in_turn, no_op_build, ratio

# No name of the hub's: a mirror could serve another image under that.
TAG = "localhost/envbuild-benchmark:1"


def changed_request(cards: Sequence[str], argv: Sequence[str], rounds: int, cwd: Path) -> Row:
    """A build for another card than the one before it, in turn with the same build again."""
    first, again = [], []
    for cc, _ in zip(cycle(cards), range(2 * rounds + 2), strict=False):
        build = (*ENVBUILD, "build", "--cc", cc, "--tag", TAG, *argv)
        first.append(clock(build, environment(), cwd))
        again.append(clock(build, environment(), cwd))
    # The first two fill the cache.
    other, same = statistics.median(first[2:]), statistics.median(again[2:])
    return ratio(f"build, --cc {' and '.join(cards)} in turn / no-op", other, same)


def reproduced(cc: str, argv: Sequence[str], cwd: Path) -> Row:
    """Two builds without a cache, against one."""
    build = (*ENVBUILD, "build", "--cc", cc, "--tag", TAG, *argv)
    kept = ("-o", "kept.tar")
    clock((*build, *kept), environment(), cwd)
    once = clock((*build, "--against", "kept.tar"), environment(), cwd)
    return ratio(
        "build --reproduce / --against", clock((*build, "--reproduce"), environment(), cwd), once
    )


def certified(cwd: Path, rounds: int) -> list[Row]:
    """`certify` against the time that its commands inside the image took; then `verify`."""
    files = ("-o", "c.json", "--record", "seen.json")
    argv = (*ENVBUILD, "certify", TAG, "--require", "toolchain", *files)
    walls, inside = [], []
    for _ in range(rounds):
        walls.append(clock(argv, environment(), cwd))
        seen = json.loads((cwd / "seen.json").read_bytes())
        inside.append(sum(one["seconds"] for one in seen["sessions"]))
    name = json.loads((cwd / "c.json").read_bytes())["subject"]["digest"]
    policy = ("--unsigned", "--require", "toolchain")
    verify = (*ENVBUILD, "verify", name, "c.json", *policy)
    typer = (sys.executable, "-c", "import typer")
    return [
        ratio(
            "certify toolchain / its containers",
            statistics.median(walls),
            statistics.median(inside),
        ),
        ratio(
            "verify FILE, cold / import typer", *in_turn(verify, typer, rounds, environment(), cwd)
        ),
    ]


def environment() -> dict[str, str]:
    """This one, with our code."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reproduce", action="store_true")
    parser.add_argument("--cc", action="append", help="two cards [8.6 and 9.0]")
    wanted, argv = parser.parse_known_args()
    cards = wanted.cc or ["8.6", "9.0"]
    with tempfile.TemporaryDirectory() as folder:
        cwd = Path(folder, "project")
        cwd.mkdir()
        # An installed program has byte code; told not to write any, it would compile each time.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "bytecode"))
        if wanted.reproduce:
            rows = [reproduced(cards[-1], argv, cwd)]
        else:
            rows = [changed_request(cards, argv, wanted.rounds, cwd)]
            rows += certified(cwd, wanted.rounds)
            rows.append(no_op_build(("--cc", cards[-1], *argv), wanted.rounds, environment()))
    for row in rows:
        verdict = ("ok" if row.kept else "OVER") if row.budget else ""
        print(f"{row.name:44}{row.measured:44}{row.budget:8}{verdict}")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
