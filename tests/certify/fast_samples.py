"""Answers of the suite `fast` that are made: lines as the runner prints them, of a made device.

A `Device` says what it is and which share of its limits it reaches; nothing here is a measurement
but the defaults, which are rounded from one H200 (driver 580.159.04, 2026-12-01).
"""

import json
from typing import NamedTuple

from envbuild.certify.card import Card, Rating
from envbuild.certify.seen import Ran, Seen, Session
from envbuild.values.codec import replace
from envbuild.values.host import Gpu
from tests.certify import samples


class Device(NamedTuple):
    """A made device; rates in FLOP an SM and clock, clocks in kHz, shares of the limits."""

    cc: str = "9.0"
    name: str = "NVIDIA H200"
    sms: int = 132
    f32: int = 256
    f64: int = 128
    clock_khz: int = 1980000
    memory_khz: int = 3201000
    bus_bits: int = 6016
    l2_bytes: int = 62914560
    room: int = 4 << 30
    integrated: int = 0
    ecc: int = 1
    mhz: float = 1980.0
    max_mhz: int | None = 1980
    reasons: int = 0
    busy: int = 0
    fma: float = 0.985
    dram: float = 0.97
    l2: float = 1.9
    noise: float = 0.001
    code: float = 1.0
    tensor: float = 0.62
    blas: float = 0.9
    blas_f32: float = 0.88
    gpu: Gpu | None = None


def _series(value: float, noise: float, n: int) -> list[float]:
    """Samples that lie evenly around a value."""
    return [value * (1 + noise * (2 * i / (n - 1) - 1)) for i in range(n)]


def _samples(d: Device, name: str, work: float, us: float, n: int = 21) -> dict[str, object]:
    times = _series(us, d.noise, n)
    return {
        "event": "samples",
        "name": name,
        "work": work,
        "rounds": 1,
        "blocks": d.sms,
        "sms": d.sms,
        "us": times,
        "ns": [t * 1e3 for t in times],
        "cycles": [t * d.mhz for t in times],
    }


def _data(name: str, wrong: int = 0, compared: int = 1 << 20) -> dict[str, object]:
    return {"event": "data", "name": name, "compared": compared, "wrong": wrong}


def _health(d: Device, when: str) -> dict[str, object]:
    line: dict[str, object] = {"event": "health", "when": when, "celsius": 40}
    if d.max_mhz is not None:
        line |= {"sm_mhz": int(d.mhz), "sm_max_mhz": d.max_mhz}
        line["reasons"] = d.reasons
    return line


def compute(d: Device) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = [{"event": "quiet", "busy": d.busy}]
    for dtype, rate in (("f32", d.f32), ("f64", d.f64)):
        work = 5000 * d.mhz * d.sms * rate * d.fma
        lines += [
            _health(d, f"fma.{dtype}"),
            _samples(d, f"fma.{dtype}", work, 5000),
            _data(f"fma.{dtype}"),
            _data(f"fma.{dtype}.more", 1 << 20),
            _samples(d, f"fma.{dtype}.half", work, 10000, 7),
        ]
    spun = {"event": "spins", "spun_cycles": 10**7, "spun_ns": 5 * 10**6}
    return [*lines, spun | {"both_cycles": 2 * 10**7, "both_ns": 25 * 10**6}]


def memory(d: Device) -> list[dict[str, object]]:
    limit = d.memory_khz * 2000 * d.bus_bits / 8 / 1e9 or 100.0
    port = 70 * d.sms * d.mhz / 1e3
    lines: list[dict[str, object]] = [{"event": "room", "bytes": d.room, "available": 12 * d.room}]
    for kind, arrays, share in (
        ("write", 1, 0.995),
        ("triad", 3, 0.945),
        ("copy", 2, 0.94),
        ("read", 1, 1.0),
    ):
        work = arrays * d.room
        us = work / (limit * d.dram * share) / 1e3
        lines += [_samples(d, f"dram.{kind}", work, us), _data(f"dram.{kind}")]
    lines += [
        _data("dram.write.other", 1 << 20),
        _data("dram.triad.halved", 1 << 19),
        _data("dram.copy.halved", 1 << 19),
        _data("dram.read.changed", 1),
        _samples(d, "dram.chase", 0.03 * limit * d.dram * 5000 * 1e3, 5000, 7),
        _data("dram.chase"),
        _samples(d, "l2.read", min(d.l2 * limit * d.dram, port) * 5000 * 1e3, 5000),
        _data("l2.read"),
        {"event": "cache", "near_bytes": 8 << 20, "far_bytes": 1 << 31},
        _samples(d, "l2.read.far", 0.9 * limit * d.dram * 5000 * 1e3, 5000, 7),
        _samples(d, "l2.sweep.262144", 0.9 * d.l2 * limit * 5000 * 1e3, 5000, 7),
        _samples(d, "l2.sweep.2147483648", 0.9 * limit * 5000 * 1e3, 5000, 7),
    ]
    return lines


def copies(d: Device) -> list[dict[str, object]]:
    pinned = {"event": "pinned", "bytes": 1 << 30, "tried": 1 << 30, "refused": 0, "after": 0}
    lines: list[dict[str, object]] = [pinned]
    for name, speed in (("pinned", 55.0), ("plain", 9.0)):
        lines += [
            _samples(d, f"copy.to.{name}", speed * 5e6, 5000),
            _samples(d, f"copy.from.{name}", speed * 5e6, 5000),
            _data(f"copy.to.{name}"),
        ]
    return [*lines, _samples(d, "copy.to.small", 2e5, 5000, 7), _data("copy.changed", 1)]


def latency(d: Device) -> list[dict[str, object]]:
    figures = (
        ("launch.waited", 6.0, 1),
        ("launch.row", 3.5, 100),
        ("launch.spun", 13.6, 100),
        ("graph.node", 0.75, 100),
        ("graph.apart", 3.5, 100),
    )
    lines: list[dict[str, object]] = [
        {"event": "samples", "name": n, "work": w, "us": _series(us, 0.01, 31)}
        for n, us, w in figures
    ]
    return [*lines, {"event": "graph", "nodes": 100}]


# Rates of the tensor cores of cc 9.0: type, type of the sums, operations an SM and clock.
TENSOR = (
    ("f16", "f32", 4096),
    ("bf16", "f32", 4096),
    ("tf32", "f32", 2048),
    ("f8", "f32", 8192),
    ("f64", "", 256),
    ("s8", "", 8192),
)
# Types that mma.sync drives to the full there, whatever it does with the others.
_TENSOR_SHARE = {"f64": 0.98, "f8": 0.92}


def tensor(d: Device) -> list[dict[str, object]]:
    lines = []
    for dtype, _, rate in TENSOR:
        work = 5000 * d.mhz * d.sms * rate * _TENSOR_SHARE.get(dtype, d.tensor)
        lines += [
            _samples(d, f"tensor.{dtype}", work, 5000),
            _data(f"tensor.{dtype}"),
            _data(f"tensor.{dtype}.more", 1 << 20),
            _samples(d, f"tensor.{dtype}.half", work / 2, 5000, 7),
        ]
    return lines


def cublas(d: Device) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = [
        {"event": "library", "path": "/usr/local/cuda/lib64/libcublas.so.13.1.0"},
        {"event": "version", "version": 130100},
    ]
    rates = {dtype: rate for dtype, _, rate in TENSOR if dtype != "s8"} | {"f32": d.f32}
    for dtype, rate in rates.items():
        name, n = f"cublas.{dtype}", 8192
        share = d.blas_f32 if dtype == "f32" else d.blas
        us = 2.0 * n**3 / (rate * share * d.sms * d.mhz)
        lines += [
            _samples(d, name, 2.0 * n**3, us) | {"blocks": n},
            _data(name, 0, 3 * n) | {"residual": 1e-4},
            _data(f"{name}.perturbed", 3, 3 * n),
            _samples(d, f"{name}.twice", 2.0 * n**3, 2 * us, 7),
        ]
        if dtype in {"bf16", "f16"}:
            lines.append(_samples(d, f"{name}.pedantic", 2.0 * n**3, 20 * us, 7))
        if dtype == "tf32":
            lines.append(_data(f"{name}.narrow", 2 * n, 3 * n))
    return lines


def _pairs(d: Device, name: str, share: float, n: int) -> dict[str, object]:
    ours = _series(10000, d.noise, n)
    image = [t / share for t in ours]
    line: dict[str, object] = {"event": "pairs", "name": name, "ours_us": ours, "image_us": image}
    cycles = {"ours_cycles": [t * d.mhz for t in ours], "image_cycles": [t * d.mhz for t in image]}
    return line | cycles


def own(d: Device, kind: str) -> list[dict[str, object]]:
    """The image's code of a kind beside ours."""
    name = f"codegen.{kind}"
    half = _pairs(d, f"{name}.half", 0.5 * d.code, 7)
    return [_pairs(d, name, d.code, 21), _data(name), half]


def text(d: Device, lines: list[dict[str, object]]) -> str:
    """A part's whole answer."""
    major, minor = d.cc.split(".")
    uuid = d.gpu.uuid if d.gpu and d.gpu.uuid and d.gpu.uuid.startswith("GPU-") else "GPU-1"
    head: list[dict[str, object]] = [
        {"event": "start", "nonce": samples.NONCE},
        {"event": "device", "uuid": uuid, "major": major, "minor": minor, "sms": d.sms},
        {
            "event": "attributes",
            **{name: getattr(d, name) for name in ("clock_khz", "memory_khz", "bus_bits")},
            **{name: getattr(d, name) for name in ("l2_bytes", "integrated", "ecc")},
        },
        _health(d, "before"),
    ]
    tail: list[dict[str, object]] = [
        _health(d, "after"),
        {"event": "end", "nonce": samples.NONCE, "calls": 100, "bad": 0},
    ]
    return "\n".join(json.dumps(line) for line in (*head, *lines, *tail))


def steps(d: Device) -> tuple[Ran, ...]:
    """Every part of a healthy run; the image's own code where ``samples`` has a compiler."""
    parts = {
        "compute": compute(d),
        "memory": memory(d),
        "copies": copies(d),
        "latency": latency(d),
        "tensor": tensor(d),
        "cublas": cublas(d),
        "codegen": [*own(d, "fma"), *own(d, "triad")],
    }
    return tuple(
        Ran(step=f"fast.{name}", rc=0, out=text(d, lines)) for name, lines in parts.items()
    )


def seen(d: Device | None = None) -> Seen:
    """A devel image that came through `smoke`, and this device at work."""
    d = d or Device()
    rates = tuple(
        Rating(unit="fma", dtype=dtype, per_sm_clock=rate, source=f"rates/{d.cc} made")
        for dtype, rate in (("f32", d.f32), ("f64", d.f64))
        if rate
    ) + tuple(
        Rating(
            unit="tensor",
            dtype=dtype,
            accumulate=accumulate,
            per_sm_clock=rate,
            source=f"rates/{d.cc} made",
        )
        for dtype, accumulate, rate in TENSOR
    )
    now = samples.seen("toolchain", "smoke", "fast")
    gpu = d.gpu or Gpu(name=d.name, uuid="GPU-1", cc=d.cc)
    return replace(
        now,
        choice=replace(now.choice, gpu=gpu),
        card=Card(rates=rates),
        sessions=(
            *now.sessions,
            Session(name="fast.compile", rc=0, steps=(Ran(step="fast.compile", rc=0),)),
            Session(name="fast", rc=0, seconds=9.0, steps=steps(d)),
        ),
    )
