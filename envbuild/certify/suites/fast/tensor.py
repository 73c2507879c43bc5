"""Tensor cores in cycle space: products by ``mma.sync`` that wait for nothing."""

from typing import NamedTuple

from envbuild.certify.seen import Seen
from envbuild.certify.suites.fast import cycles
from envbuild.certify.suites.fast.answer import part
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Check

# Products that no row names may be cut, as those of some brands are; nothing says how far.
_RUNGS = (1 / 2, 1 / 4)


class Type(NamedTuple):
    """A type of the tensor cores, and what its rate is listed under."""

    name: str
    accumulate: str
    unit: str = "FLOP/SM/clock"


TYPES = (
    Type("f16", "f32"),
    Type("bf16", "f32"),
    Type("tf32", "f32"),
    Type("f8", "f32"),
    Type("f64", ""),
    Type("s8", "", "OP/SM/clock"),
)


def checks(seen: Seen) -> tuple[Check, ...]:
    """One check a type; the machine's, never the image's: the code is prebuilt."""
    return tuple(_check(seen, one) for one in TYPES)


def rungs(seen: Seen) -> tuple[float, ...]:
    """Shares of the rate that this product may be cut to; none for one that a row names."""
    return () if seen.card.brand else _RUNGS


def shown_cut(seen: Seen, dtype: str) -> tuple[float, ...]:
    """The share to which our own kernel shows this product to be cut; none where it is whole."""
    check = next((c for c in checks(seen) if c.id == f"fast.tensor-{dtype}"), None)
    said = check.inputs.get("product") if check else None
    return tuple(rung for rung in rungs(seen) if said == cycles.cut_to(rung))


def _check(seen: Seen, one: Type) -> Check:
    figure = f"tensor.{one.name}"
    check = Check(
        id=f"fast.tensor-{one.name}",
        core=False,
        verdict="pass",
        says=f"mma.sync keeps the tensor cores as busy in {one.name} as it can",
        unit=one.unit,
        rule="the 95 % interval of the median lies above the floor, the median below the limit; "
        "a product that no row names may be cut to a half or a quarter of the rate; every sum "
        "counts every step",
    )
    if seen.card.tensor_cores is False:
        return ruled(check, "skip", "this card has no tensor cores", None)
    answer = part(seen, "tensor")
    ran = answer.stopped is None and not answer.one("failed")
    if ran and answer.samples(figure) is None:
        reason = f"this capability has no plain instruction for {one.name} in tensor cores"
        return ruled(check, "skip", reason, None)
    rating = seen.card.rate("tensor", one.name, one.accumulate)
    return cycles.judged(
        seen,
        check,
        where="tensor",
        figure=figure,
        dtype=one.name,
        rating=rating,
        rungs=rungs(seen),
    )
