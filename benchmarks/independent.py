#!/usr/bin/env python3
"""Figures of the suite `fast` against NVIDIA's nvbench, on the same GPU, in turn, in cycles.

usage: python benchmarks/independent.py [--turns N] [--json FILE]

The same prebuilt kernels run with the same arguments; only the measuring differs: nvbench has its
own timers, its own way to read the clock and its own stopping rule. Needs a GPU, and the packages
cuda-bench and cupy. Ends with 1 where a figure differs by more than 2 %.
"""

import argparse
import importlib
import json
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PREBUILT = ROOT / "kernels" / "prebuilt"
APART = 0.02
# As in the runner: threads a block, and what keeps a second block from an SM.
THREADS, BLOCK, ROOM = 1024, 256, 1024


class Shape(NamedTuple):
    """How our runner laid out its kernels, so that the other does the same."""

    rounds: int
    quads: int
    sms: int


class Figures(NamedTuple):
    """Microseconds and SM clock in MHz of each kernel."""

    fma_us: float
    fma_mhz: float
    triad_us: float
    triad_mhz: float


VALUES: dict[str, Callable[[Figures], float]] = {
    "fma.f32 cycles": lambda f: f.fma_us * f.fma_mhz,
    "triad us": lambda f: f.triad_us,
    "SM clock MHz": lambda f: f.fma_mhz,
}


def ours() -> tuple[Figures, Shape]:
    """One run of our runner."""
    compute, memory = _part("compute"), _part("memory")
    fma, triad = compute["samples", "fma.f32"], memory["samples", "dram.triad"]
    shape = Shape(
        rounds=fma["rounds"],
        quads=memory["room", ""]["bytes"] // 16,
        sms=compute["device", "NVIDIA"]["sms"],
    )
    return Figures(*_median(fma), *_median(triad)), shape


def _median(line: dict[str, Any]) -> tuple[float, float]:
    us = statistics.median(line["us"])
    return us, statistics.median(line["cycles"]) / us


def _part(name: str) -> dict[tuple[str, str], Any]:
    probe = PREBUILT / platform.machine() / "probe"
    with tempfile.TemporaryDirectory() as folder:
        for path in PREBUILT.glob("*.fatbin"):
            (Path(folder) / path.name).symlink_to(path)
        argv = [str(probe), "fast", name, "--nonce", "0", "--code", folder]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    # The device's line carries its product name, which starts with the vendor's.
    return {(e["event"], e.get("name", "").split(" ")[0]): e for e in lines}


def theirs(shape: Shape) -> Figures:
    """One run of nvbench, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "nvbench.json"
        argv = [sys.executable, __file__, "--child", str(out), json.dumps(shape)]
        subprocess.run(argv, check=True, stdout=sys.stderr)
        found = json.loads(out.read_text())
    values = {bench["name"]: _summaries(bench) for bench in found["benchmarks"]}
    return Figures(*values["fma"], *values["triad"])


def _summaries(bench: dict[str, Any]) -> tuple[float, float]:
    """Microseconds and MHz; nvbench names means, and they are of hundreds of even samples."""
    tags = {one["tag"]: one["data"][0]["value"] for one in bench["states"][0]["summaries"]}
    seconds, hertz = tags["nv/cold/time/gpu/mean"], tags["nv/cold/sm_clock_rate/mean"]
    return float(seconds) * 1e6, float(hertz) / 1e6


def child(out: str, shape: Shape) -> None:
    """Register both kernels with nvbench and let it measure them."""
    nvbench: Any = importlib.import_module("cuda.bench")
    cupy: Any = importlib.import_module("cupy")

    def kernel(file: str, name: str) -> Any:  # noqa: ANN401
        return cupy.RawModule(path=str(PREBUILT / f"{file}.fatbin")).get_function(name)

    multiply, add = kernel("fma", "envbuild_fma_f32"), kernel("memory", "envbuild_triad")
    shared = cupy.cuda.Device().attributes["MaxSharedMemoryPerMultiprocessor"] // 2 + ROOM
    multiply.max_dynamic_shared_size_bytes = shared
    sums = cupy.zeros(shape.sms * THREADS, cupy.float32)
    words = cupy.arange(3 * shape.quads * 4, dtype=cupy.uint32)
    a, b, c = (words[i * shape.quads * 4 :] for i in range(3))
    rounds, one = cupy.uint32(shape.rounds), cupy.float32(1)

    def on(launch: Any, work: Callable[[], None]) -> None:  # noqa: ANN401
        with cupy.cuda.ExternalStream(launch.get_stream().addressof()):
            work()

    def fma(state: Any) -> None:  # noqa: ANN401
        def work() -> None:
            multiply((shape.sms,), (THREADS,), (sums, rounds, one, one), shared_mem=shared)

        state.exec(lambda launch: on(launch, work), batched=False)

    def triad(state: Any) -> None:  # noqa: ANN401
        def work() -> None:
            add((shape.quads // BLOCK,), (BLOCK,), (c, a, b))

        state.exec(lambda launch: on(launch, work), batched=False)

    for run in (fma, triad):
        nvbench.register(run)
    nvbench.run_all_benchmarks(["nvbench", "--json", out, "--timeout", "5"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=3, help="how often each measures, in turn")
    parser.add_argument("--json", type=Path, help="also write every figure")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Shape(*json.loads(options.child[1])))
        return 0
    turns = []
    for _ in range(options.turns):
        mine, shape = ours()
        turns.append((mine, theirs(shape)))
    far = False
    for name, value in VALUES.items():
        ratio = statistics.median(value(mine) / value(other) for mine, other in turns)
        far = far or abs(ratio - 1) > APART
        first = [value(figures) for figures in turns[0]]
        print(f"{name:<16} ours {first[0]:.6g}  nvbench {first[1]:.6g}  ratio {ratio:.4f}")
    if options.json:
        options.json.write_text(json.dumps([[m._asdict(), t._asdict()] for m, t in turns]) + "\n")
    return int(far)


if __name__ == "__main__":
    sys.exit(main())
