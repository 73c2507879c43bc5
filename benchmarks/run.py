#!/usr/bin/env python3
"""Speed, as ratios against a yardstick measured in turn with it, in the same run.

usage: python benchmarks/run.py [--rounds N] [--sweep] [--build ARGUMENTS...]

--sweep also plans every product, toolkit, source and system: a minute or two.

--build also measures a no-op `envbuild build ARGUMENTS...` against docker's own: it needs docker,
and builds the image first. A ratio from a busy machine still says something; a time does not.
"""

import argparse
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
ENVBUILD = (sys.executable, "-m", "envbuild")


class Row(NamedTuple):
    """One line of the result: what was measured, in words, and whether it keeps its budget."""

    name: str
    measured: str
    budget: str
    kept: bool


def clock(argv: Sequence[str], env: dict[str, str], cwd: Path) -> float:
    """Wall seconds of one command that must succeed."""
    start = time.perf_counter()
    subprocess.run(
        argv, env=env, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - start


def in_turn(
    ours: Sequence[str], theirs: Sequence[str], rounds: int, env: dict[str, str], cwd: Path
) -> tuple[float, float]:
    """Median seconds of two commands run in turn, after one round that is not counted."""
    pairs = [(clock(ours, env, cwd), clock(theirs, env, cwd)) for _ in range(rounds + 1)][1:]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def ratio(name: str, ours: float, theirs: float, limit: float | None = None) -> Row:
    """The line of two times; without a limit it is shown and not judged."""
    measured = f"{ours * 1000:.0f} ms / {theirs * 1000:.0f} ms = {ours / theirs:.2f}"
    if limit is None:
        return Row(name, measured, "", True)
    return Row(name, measured, f"<= {limit:g}", ours / theirs <= limit)


def start_up(rounds: int, env: dict[str, str], cwd: Path) -> list[Row]:
    """Cold commands: a fresh interpreter each, byte code already written."""
    plan = (*ENVBUILD, "plan", "--cc", "6.1")
    rows = [
        ratio(
            "plan --cc 6.1, cold / import typer",
            *in_turn(plan, (sys.executable, "-c", "import typer"), rounds, env, cwd),
            1.5,
        )
    ]
    host = ROOT / "tests" / "hosts" / "h200.json"
    doctor = (*ENVBUILD, "doctor", "--host", str(host))
    typer = (sys.executable, "-c", "import typer")
    rows.append(
        ratio("doctor, cold / import typer", *in_turn(doctor, typer, rounds, env, cwd), 2.0)
    )
    hpccm = Path(sys.executable).with_name("hpccm")
    if not hpccm.exists():
        return [
            *rows,
            Row("--help / hpccm --help", "not run: hpccm is not installed", "", True),
        ]
    help_ = in_turn((*ENVBUILD, "--help"), (str(hpccm), "--help"), rounds, env, cwd)
    return [*rows, ratio("--help / hpccm --help", *help_)]


def log() -> list[Row]:
    """A build log of 100 MB, read for known texts from a file as `doctor` does."""
    from envbuild.advice.signatures import Signatures
    from envbuild.matrix.load import load_errors

    line = b"#12 %d nvcc -gencode arch=compute_86,code=sm_86 -c a%d.cu: warning: error cuda\n"
    with tempfile.TemporaryFile() as file:
        number = 0
        while file.tell() < 100_000_000:
            file.write(b"".join(line % (i, i) for i in range(number, number + 10_000)))
            number += 10_000
        file.seek(0)
        start = time.perf_counter()
        Signatures(load_errors().errors).scan(file, "log")
        took = time.perf_counter() - start
    return [Row("a build log of 100 MB", f"{took:.1f} s", "<= 10 s", took <= 10)]


def warm() -> list[Row]:
    """Plans inside one process: of targets that it has not seen, and of one that it has."""
    from envbuild.matrix.load import load
    from envbuild.planner.plan import plan
    from envbuild.planner.resolve import resolve
    from envbuild.values.request import Request

    matrices = load()
    requests = [
        Request(cc=(row.cc,), as_of=f"2026-{month:02}-01")
        for month in range(1, 13)
        for row in matrices.capabilities
    ]
    plan(resolve(Request(cc=("6.1",)), None, matrices), matrices)  # lays the table out
    times = []
    for request in requests:
        start = time.perf_counter()
        plan(resolve(request, None, matrices), matrices)
        times.append(time.perf_counter() - start)
    middle = statistics.median(times) * 1000
    start = time.perf_counter()
    for request in requests:
        plan(resolve(request, None, matrices), matrices)
    again = (time.perf_counter() - start) / len(requests) * 1000
    said = f"{middle:.2f} ms (median of {len(times)} different targets); seen before {again:.3f} ms"
    return [Row("plan, warm", said, "<= 1 ms", middle <= 1)]


def sweep() -> Row:
    """Every product that differs, toolkit, source and system, in one process."""
    from envbuild.matrix.load import load, load_names
    from envbuild.planner.plan import plan
    from envbuild.planner.resolve import resolve
    from envbuild.planner.table import SOURCES, table_of
    from envbuild.planner.target import Card
    from envbuild.values.codec import replace
    from envbuild.values.request import Request

    matrices = load()
    table = table_of(matrices)
    systems = [row.id for row in matrices.oses if row.image is not None]
    named = sorted({p.name for p in load_names().products if p.cc in table.capabilities})
    # Products that differ in their names alone have the same plans.
    differing: dict[tuple[Card, ...], str] = {}
    for name in named:
        cards = resolve(Request(gpus=(name,)), None, matrices).cards
        differing.setdefault(tuple(replace(card, name=None) for card in cards), name)
    count = refused = 0
    start = time.perf_counter()
    for name, cuda, source, base in product(differing.values(), table.toolkits, SOURCES, systems):
        asked = Request(gpus=(name,), cuda=cuda, toolkit_source=source, base_os=base)
        refused += plan(resolve(asked, None, matrices), matrices).outcome == "refuse"
        count += 1
    took = time.perf_counter() - start
    said = f"{count} plans ({len(differing)} of {len(named)} products differ; {refused} refusals)"
    return Row("plan, a sweep", f"{said}: {count / took:.0f} plans/s", "", True)


def fleets(env: dict[str, str], cwd: Path) -> list[Row]:
    """Nodes of 600 kinds; then each with one to three cards and any release of a driver."""
    few = [
        f"{gpu}, driver: 580.{65 + i // len(_GPUS) % 30}.06"
        for i, gpu in zip(range(_NODES), cycle(_GPUS), strict=False)
    ]
    draw = random.Random(1)  # noqa: S311
    many = []
    for _ in range(_NODES):
        # Neighbours in the list are of neighbouring generations: one driver drives them.
        cards, branches = draw.choice(
            [(_GPUS[:5], (535, 550, 570, 580)), (_GPUS[5:17], (550, 570, 580, 595)),
             (_GPUS[17:], (580, 595))]
        )  # fmt: skip
        some = sorted(draw.sample(cards, draw.choice((1, 1, 2, 3))))
        release = f"{draw.choice(branches)}.{draw.randrange(60, 300)}.{draw.randrange(1, 20):02}"
        many.append(f"[{', '.join(some)}], driver: {release}")
    return [big_fleet(env, cwd, nodes) for nodes in (few, many)]


_NODES = 10_000
_GPUS = [
    "GTX 1080 Ti", "Tesla P40", "Tesla P100", "Titan V", "Tesla V100", "T4", "RTX 2080 Ti",
    "GTX 1650", "A100", "A30", "A40", "RTX 3090", "L4", "L40S", "RTX 4090", "H100", "H200",
    "B200", "RTX 5090", "RTX PRO 6000 Blackwell",
]  # fmt: skip


def big_fleet(env: dict[str, str], cwd: Path, nodes: list[str]) -> Row:
    """A command of its own on a file of many nodes: read, planned, written."""
    hosts = cwd / "hosts.yaml"
    hosts.write_text(
        "".join(f"- {{name: node{i}, gpus: {node}}}\n" for i, node in enumerate(nodes))
    )
    argv = (*ENVBUILD, "plan", "--fleet", str(hosts), "--split", "--json")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = clock(argv, env, cwd)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = f"{seconds:.2f} s, {busy:.2f} s of CPU ({len(set(nodes))} different machines)"
    return Row(f"plan --fleet, {len(nodes)} nodes", said, "<= 5 s", seconds <= 5)


def no_op_build(arguments: Sequence[str], rounds: int, env: dict[str, str]) -> Row:
    """A build of which every step is cached, through envbuild and through docker alone."""
    name, budget = "build, no-op - docker's own", "<= 1 s"
    docker = os.environ.get("ENVBUILD_TEST_DOCKER") or shutil.which("docker")
    if docker is None:
        return Row(name, "not run: no docker", budget, True)
    with tempfile.TemporaryDirectory() as folder:
        cwd = Path(folder)
        ours = (*ENVBUILD, "build", "--engine", "docker", "--tag", "envbuild/benchmark", *arguments)
        subprocess.run(ours, env=env, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
        own = cwd / "Dockerfile.own"
        own.write_text(local_bases((cwd / ".envbuild/context/Dockerfile").read_text(), docker))
        context = str(cwd / ".envbuild/context")
        # A step on another network is another step to the cache.
        network = ("--network", env["ENVBUILD_NETWORK"]) if env.get("ENVBUILD_NETWORK") else ()
        named = ("-q", "-t", "envbuild/benchmark-own", "-f", str(own))
        theirs = (docker, "build", *network, *named, context)
        us, them = in_turn(ours, theirs, rounds, env | {"DOCKER_BUILDKIT": "1"}, cwd)
    measured = f"{us:.2f} s - {them:.2f} s = {us - them:+.2f} s"
    return Row(name, measured, budget, us - them <= 1)


def local_bases(dockerfile: str, docker: str) -> str:
    """Bases that came through a mirror are here under a local name: docker alone must find them."""

    def swap(match: "re.Match[str]") -> str:
        local = f"envbuild.local/base:{match[2]}"
        argv = (docker, "image", "inspect", local)
        known = subprocess.run(argv, capture_output=True, check=False).returncode == 0
        return local if known else match[0]

    return re.sub(r"(docker\.io/\S+)@sha256:([0-9a-f]{64})", swap, dockerfile)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--build", nargs=argparse.REMAINDER)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        env |= {"PYTHONPYCACHEPREFIX": cache, "PYTHONPATH": str(ROOT)}
        jobs: list[Callable[[], list[Row]]] = [
            lambda: start_up(wanted.rounds, env, Path(cache)),
            warm,
            log,
            lambda: fleets(env, Path(cache)),
        ]
        if wanted.sweep:
            jobs.append(lambda: [sweep()])
        if wanted.build is not None:
            jobs.append(lambda: [no_op_build(wanted.build, 5, env)])
        rows = [row for job in jobs for row in job()]
    for row in rows:
        verdict = ("ok" if row.kept else "OVER") if row.budget else ""
        print(f"{row.name:36}{row.measured:68}{row.budget:8}{verdict}")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
