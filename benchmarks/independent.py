#!/usr/bin/env python3
"""Figures of the suite `fast` against nvbench and torch: the same GPU, in turn, in cycles.

usage: python benchmarks/independent.py [--turns N] [--json FILE]

nvbench (the package cuda-bench, with cupy) runs the very kernels with the same arguments; it has
its own timers, its own way to read the clock and its own stopping rule. torch, where it is there,
adds and copies arrays of the same size with kernels of its own, and multiplies matrices of the same
size by the cuBLAS that it has loaded, which then is ours, too. Needs a GPU. Ends with 1 where a
median ratio differs from 1 by more than 2 %.
"""

import argparse
import ctypes
import importlib
import importlib.util
import json
import os
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
# Samples, and runs before them: a clock that is capped by power settles.
SAMPLES, WARM = 21, 40
STAMPS = 1024  # numbers that the kernel of clock.cu has room for


class Shape(NamedTuple):
    """How our runner laid out its kernels and products, so that the others do the same."""

    rounds: int
    quads: int
    sms: int
    side: int
    products: int


class Figure(NamedTuple):
    """Microseconds and SM clock in MHz; 0 = the clock was not read."""

    us: float
    mhz: float = 0.0


Figures = dict[str, Figure]
# What is compared with what: cycles where both read a clock and it matters, else microseconds.
ROWS: dict[str, tuple[str, str, Callable[[Figure], float]]] = {
    "fma f32, cycles": ("fma", "nvbench fma", lambda f: f.us * f.mhz),
    "fma f32, SM clock": ("fma", "nvbench fma", lambda f: f.mhz),
    "triad, us": ("triad", "nvbench triad", lambda f: f.us),
    "copy, us": ("copy", "nvbench copy", lambda f: f.us),
    "triad against torch's add, us": ("triad", "torch add", lambda f: f.us),
    "copy against torch's, us": ("copy", "torch copy", lambda f: f.us),
    "cuBLAS bf16 against torch.matmul, cycles": ("cublas", "torch matmul", lambda f: f.us * f.mhz),
}


def ours(library: str) -> tuple[Figures, Shape]:
    """One run of our runner, with the cuBLAS of this folder; empty = the loader's."""
    compute, memory, cublas = _part("compute"), _part("memory"), _part("cublas", library)
    fma, product = compute["samples", "fma.f32"], cublas.get(("samples", "cublas.bf16"))
    found = {
        "fma": _median(fma),
        "triad": _median(memory["samples", "dram.triad"]),
        "copy": _median(memory["samples", "dram.copy"]),
    }
    if product:
        found["cublas"] = _median(product)
    side, products = (product["blocks"], product["rounds"]) if product else (0, 0)
    quads = memory["room", ""]["bytes"] // 16
    return found, Shape(fma["rounds"], quads, fma["sms"], side, products)


def _median(line: dict[str, Any]) -> Figure:
    us = statistics.median(line["us"])
    return Figure(us, statistics.median(line["cycles"]) / us)


def _part(name: str, library: str = "") -> dict[tuple[str, str], Any]:
    probe = PREBUILT / platform.machine() / "probe"
    argv = [str(probe), "fast", name, "--nonce", "0", "--code", str(PREBUILT)]
    path = ":".join(filter(None, (library, os.environ.get("LD_LIBRARY_PATH"))))
    env = {**os.environ, "LD_LIBRARY_PATH": path}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=env)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {(e["event"], e.get("name", "")): e for e in lines}


def other(name: str, shape: Shape) -> Figures:
    """One run of another tool, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        argv = [sys.executable, __file__, "--child", name, str(out), json.dumps(shape)]
        subprocess.run(argv, check=True, stdout=sys.stderr)
        found = json.loads(out.read_text())
    if name == "torch":
        return {f"torch {what}": Figure(*pair) for what, pair in found.items()}
    return {f"nvbench {bench['name']}": _summaries(bench) for bench in found["benchmarks"]}


def _summaries(bench: dict[str, Any]) -> Figure:
    """Means, which are what nvbench names; they are of hundreds of even samples."""
    tags = {one["tag"]: one["data"][0]["value"] for one in bench["states"][0]["summaries"]}
    seconds, hertz = tags["nv/cold/time/gpu/mean"], tags["nv/cold/sm_clock_rate/mean"]
    return Figure(float(seconds) * 1e6, float(hertz) / 1e6)


def nvbench(out: str, shape: Shape) -> None:
    """Let nvbench measure our kernels."""
    bench: Any = importlib.import_module("cuda.bench")
    cupy: Any = importlib.import_module("cupy")

    def kernel(file: str, name: str) -> Any:  # noqa: ANN401
        return cupy.RawModule(path=str(PREBUILT / f"{file}.fatbin")).get_function(name)

    multiply = kernel("fma", "envbuild_fma_f32")
    shared = cupy.cuda.Device().attributes["MaxSharedMemoryPerMultiprocessor"] // 2 + ROOM
    multiply.max_dynamic_shared_size_bytes = shared
    sums = cupy.zeros(shape.sms * THREADS, cupy.float32)
    words = cupy.zeros(3 * shape.quads * 4, cupy.uint32)
    a, b, c = (words[i * shape.quads * 4 :] for i in range(3))
    rounds, one = cupy.uint32(shape.rounds), cupy.float32(1)
    add, move = kernel("memory", "envbuild_triad"), kernel("memory", "envbuild_copy")
    grid = (shape.quads // BLOCK,)

    def measured(name: str, work: Callable[[], None]) -> None:
        def launch(at: Any) -> None:  # noqa: ANN401
            with cupy.cuda.ExternalStream(at.get_stream().addressof()):
                work()

        def run(state: Any) -> None:  # noqa: ANN401
            state.exec(launch, batched=False)

        run.__name__ = name
        bench.register(run)

    measured("fma", lambda: multiply((shape.sms,), (THREADS,), (sums, rounds, one, one),
                                     shared_mem=shared))  # fmt: skip
    measured("triad", lambda: add(grid, (BLOCK,), (c, a, b)))
    measured("copy", lambda: move(grid, (BLOCK,), (c, b)))
    bench.run_all_benchmarks(["nvbench", "--json", out, "--timeout", "5"])


def torch(out: str, shape: Shape) -> None:
    """Kernels of torch itself on arrays, and its products of matrices, of the same size."""
    lib: Any = importlib.import_module("torch")
    a, b, c = (lib.zeros(shape.quads * 4, dtype=lib.float32, device="cuda") for _ in range(3))
    x, y = lib.rand(2, shape.side, shape.side, device="cuda").mul(2).sub(1).bfloat16()
    z = lib.empty_like(x)

    def multiply() -> None:
        for _ in range(shape.products):
            lib.matmul(x, y.t(), out=z)

    works = {"add": lambda: lib.add(a, b, out=c), "copy": lambda: c.copy_(b), "matmul": multiply}
    stamp, found = _stamp(lib, 2 * shape.sms), {}
    for name, work in works.items():
        times, clocks = [], []
        for _ in range(SAMPLES + WARM):
            start, end = (lib.cuda.Event(enable_timing=True) for _ in range(2))
            before, after = (lib.zeros(STAMPS, 2, dtype=lib.int64, device="cuda") for _ in range(2))
            stamp(before)
            start.record()
            work()
            end.record()
            stamp(after)
            lib.cuda.synchronize()
            times.append(start.elapsed_time(end) * 1e3)
            read = (before[:, 0] != 0) & (after[:, 0] != 0)
            clocks.append(float((after - before)[read, 0].double().median()) / times[-1])
        found[name] = statistics.median(times[WARM:]), statistics.median(clocks[WARM:])
    Path(out).write_text(json.dumps(found))


def _stamp(lib: Any, blocks: int) -> Callable[[Any], None]:  # noqa: ANN401
    """What queues our kernel that reads the cycle counter of every SM."""
    driver, module, function = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
    code = (PREBUILT / "clock.fatbin").read_bytes()
    if driver.cuModuleLoadData(ctypes.byref(module), code) or driver.cuModuleGetFunction(
        ctypes.byref(function), module, b"envbuild_stamp"
    ):
        sys.exit("the driver does not take clock.fatbin")

    def launch(stamps: Any) -> None:  # noqa: ANN401
        place = ctypes.c_void_p(stamps.data_ptr())
        argument = (ctypes.c_void_p * 1)(ctypes.addressof(place))
        stream = ctypes.c_void_p(lib.cuda.current_stream().cuda_stream)
        driver.cuLaunchKernel(function, blocks, 1, 1, 32, 1, 1, 0, stream, argument, None)

    return launch


def library_of_torch() -> str:
    """Folder of the cuBLAS that torch loads."""
    loaded = (
        "import torch; torch.rand(2, 2, device='cuda') @ torch.rand(2, 2, device='cuda');"
        "print(next(n for n in open('/proc/self/maps').read().split() if '/libcublas.so' in n))"
    )
    argv = [sys.executable, "-c", loaded]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return str(Path(done.stdout.strip()).parent)


OTHERS: dict[str, tuple[str, Callable[[str, Shape], None]]] = {
    "nvbench": ("cuda.bench", nvbench),
    "torch": ("torch", torch),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=3, help="how often each measures, in turn")
    parser.add_argument("--json", type=Path, help="also write every figure")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, out, shape = options.child
        OTHERS[name][1](out, Shape(*json.loads(shape)))
        return 0
    there = [name for name, (module, _) in OTHERS.items() if _importable(module)]
    if not there:
        sys.exit("neither cuda-bench nor torch is installed")
    library = library_of_torch() if "torch" in there else ""
    turns = []
    for _ in range(options.turns):
        figures, shape = ours(library)
        for name in there:
            figures |= other(name, shape)
        turns.append(figures)
    far = False
    for name, (mine, theirs, value) in ROWS.items():
        pairs = [(value(f[mine]), value(f[theirs])) for f in turns if {mine, theirs} <= f.keys()]
        if not pairs:
            continue
        ratio = statistics.median(a / b for a, b in pairs)
        far = far or abs(ratio - 1) > APART
        first = f"{pairs[0][0]:.6g} and {pairs[0][1]:.6g}"
        print(f"{name:<41} {first:<24} ratio {ratio:.4f}")
    if options.json:
        options.json.write_text(json.dumps(turns) + "\n")
    return int(far)


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


if __name__ == "__main__":
    sys.exit(main())
