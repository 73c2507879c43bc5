"""The least share of a limit that a healthy device reaches, each with what it was taken from.

A floor is of one part (capability and memory bus) where that was measured, else of a capability,
else of a kind of memory, else of all. It lies below what was seen by about three times the spread.
"""

from typing import NamedTuple


class Floor(NamedTuple):
    """One floor.

    Attributes:
        figures: names of the figures that it is for.
        share: of the limit, 0.5 to 1.
        source: what was measured, where.
        cc: exact capability, or its major number with a dot ("3."); empty = any.
        bus_bits: width of the memory bus of that part; 0 = any.
        memory: ``hbm`` or ``gddr``; empty = any.
    """

    figures: tuple[str, ...]
    share: float
    source: str
    cc: str = ""
    bus_bits: int = 0
    memory: str = ""


_DRAM = ("dram.read", "dram.write", "dram.copy", "dram.triad")
_FMA = ("fma.f32", "fma.f64")
_TENSOR = tuple(f"tensor.{name}" for name in ("f16", "bf16", "tf32", "f8", "f64", "s8"))
_CUBLAS = tuple(f"cublas.{name}" for name in ("f16", "bf16", "tf32", "f32", "f64", "f8"))
_H200 = "28 runs on three H200s, 2026-12"

FLOORS = (
    Floor(("fma.f32",), 0.97, f"{_H200}: from 0.986", cc="9.0", bus_bits=6016),
    Floor(("fma.f64",), 0.98, f"{_H200}: from 0.994", cc="9.0", bus_bits=6016),
    Floor(("dram.read",), 0.94, f"{_H200}: from 0.979; 0.961 on a fourth", cc="9.0", bus_bits=6016),
    Floor(("dram.write",), 0.96, f"{_H200}: from 0.978", cc="9.0", bus_bits=6016),
    Floor(("dram.copy",), 0.87, f"{_H200}: from 0.882", cc="9.0", bus_bits=6016),
    Floor(
        ("dram.triad",), 0.90, f"{_H200}: from 0.914; 0.910 on a fourth", cc="9.0", bus_bits=6016
    ),
    # 192 lanes need two instructions a clock of each scheduler, which plain code rarely gives.
    Floor(("fma.f32",), 0.55, "Kepler: issue of pairs, not measured here", cc="3."),
    Floor(_FMA, 0.90, "cycle space, one H200: 0.981 and 1.0005"),
    Floor(("tensor.f64", "tensor.f8"), 0.80, f"{_H200}: from 0.921 (f8) by mma.sync", cc="9.0"),
    # All of the others is only reached by instructions of warp groups there.
    Floor(_TENSOR, 0.60, f"{_H200}: from 0.652 by mma.sync", cc="9.0"),
    Floor(_TENSOR, 0.80, "mma.sync is the only way to them; not measured here"),
    Floor(("cublas.f32",), 0.70, f"{_H200}: from 0.759"),
    Floor(_CUBLAS, 0.85, f"{_H200}: from 0.918", cc="9.0"),
    Floor(_CUBLAS, 0.70, "one H200 reaches 0.92; other devices not measured here"),
    # Both ways at once: one H200 copies and adds at 0.90 and 0.93 of what it reads.
    Floor(("dram.copy", "dram.triad"), 0.62, "a T4 and a cloud A100 40 GB: 0.75 and 0.74 reading"),
    Floor(_DRAM, 0.70, "a cloud A100 40 GB: 0.74", memory="hbm"),
    Floor(_DRAM, 0.70, "a T4: 0.75; inline ECC costs more", memory="gddr"),
)


def floor_of(figure: str, cc: str, bus_bits: int) -> Floor:
    """The first floor that fits the figure and the device."""
    memory = kind_of_memory(bus_bits)
    return next(
        row
        for row in FLOORS
        if figure in row.figures
        and (not row.cc or cc == row.cc or (row.cc.endswith(".") and cc.startswith(row.cc)))
        and row.bus_bits in {0, bus_bits}
        and row.memory in {"", memory}
    )


def kind_of_memory(bus_bits: int) -> str:
    """``hbm`` for a bus of stacks, which are 1024 bits wide each; ``gddr`` below."""
    return "hbm" if bus_bits >= 1024 else "gddr"
