"""The image's own cuBLAS by type: as fast as these tensor cores allow, and right.

It is the image's, so that a slow or wrong product is the image's fault, where kernels of ours show
on the same GPU, in the same minutes, that the machine is not to blame.
"""

from typing import NamedTuple

from envbuild.certify.card import Rating
from envbuild.certify.limits import against, cycle_limit
from envbuild.certify.seen import Seen
from envbuild.certify.suites.fast import cycles, fma, tensor
from envbuild.certify.suites.fast.answer import Line, Part, part, unjudged
from envbuild.certify.verdicts import ruled
from envbuild.values.certificate import Blame, Check, Control
from envbuild.values.codec import Pairs, replace


class Type(NamedTuple):
    """A type of product.

    Attributes:
        units: the units that may do it with the type of their sums; the fastest counts.
        bytes: of an element of A, B and C together.
        controls: how many must have run.
    """

    name: str
    units: tuple[tuple[str, str], ...]
    bytes: int
    controls: int = 2


TYPES = (
    Type("bf16", (("tensor", "f32"),), 6, controls=3),
    Type("f16", (("tensor", "f32"),), 6, controls=3),
    Type("tf32", (("tensor", "f32"),), 12, controls=3),
    Type("f32", (("fma", ""),), 12),
    Type("f64", (("tensor", ""), ("fma", "")), 24),
    Type("f8", (("tensor", "f32"),), 4),
)
# Comparisons that must find something; tf32 alone is held to the rounding of f32.
_CHANGED = {"perturbed": "one element is changed", "narrow": "held to the rounding of f32"}


def checks(seen: Seen) -> tuple[Check, ...]:
    """One check a type."""
    return tuple(_check(seen, one) for one in TYPES)


def _check(seen: Seen, one: Type) -> Check:
    figure = f"cublas.{one.name}"
    check = Check(
        id=f"fast.cublas-{one.name}",
        core=False,
        verdict="pass",
        says=f"the image's cuBLAS multiplies {one.name} matrices as fast as the device can, right",
        unit="FLOP/SM/clock",
        rule="the 95 % interval of the median lies above the floor, the median below the limit; "
        "C * x is A' * (B * x) in f64 for three random x, within 8 standard deviations of what "
        "rounding explains",
    )
    answer = part(seen, "cublas")
    if early := unjudged(check, answer):
        return early
    library = answer.one("library")
    if library is not None and not library.path:
        return ruled(check, "skip", "the image has no cuBLAS (11, 12 or 13) to be found", "image")
    line = answer.samples(figure)
    if line is not None and line.cycles:
        return _judged(seen, one, check, answer, line)
    known, refused = _rating(seen, one) is not None, answer.one("refused", figure)
    if not known and (refused or not answer.one("failed")):
        return ruled(check, "skip", f"this capability has no {one.name}", None)
    if refused:
        reason = f"cuBLAS does not do {one.name} here: it answers {refused.code}"
        return ruled(check, "fail", reason, "image")
    verdict, reason, blame = answer.missing(figure)
    return ruled(check, verdict, reason, _owner(seen, one) if verdict == "fail" else blame)


def _judged(seen: Seen, one: Type, check: Check, answer: Part, line: Line) -> Check:
    limit, owner = cycle_limit(_rating(seen, one)), _owner(seen, one)
    check, found = cycles.measured_in_cycles(
        seen, check, answer, line, dtype=one.name, limit=limit, owner="image"
    )
    # 2 n^3 operations on n^2 elements of each matrix.
    found = replace(found, intensity=2.0 * line.blocks / one.bytes)
    check = replace(check, inputs=Pairs((*check.inputs, *_inputs(answer, line))))
    if wrong := answer.right(line.name):
        return ruled(replace(check, measure=found), "fail", wrong, owner)
    rungs = tensor.shown_cut(seen, one.name)
    check = cycles.cut(against(check, found, limit, owner), found, limit, rungs)
    if limit.value is None:
        # It may do the type by other means: right, and nothing to hold its speed to.
        return ruled(check, "skip", limit.why, None)
    return cycles.settled(check, one.controls, *_controls(answer, line, check))


def _inputs(answer: Part, line: Line) -> tuple[tuple[str, str], ...]:
    library, version = answer.one("library"), answer.one("version")
    data = answer.one("data", line.name)
    return (
        ("size", f"{line.blocks} x {line.blocks} x {line.blocks}"),
        ("library", library.path if library else ""),
        ("cuBLAS", _version(version.version) if version else ""),
        ("error", f"{data.residual:.1e} of the size of an element" if data else ""),
    )


def _version(number: int) -> str:
    """``13.1.0`` of 130100: cublasGetVersion gives major x 10000 + minor x 100 + patch."""
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _controls(answer: Part, line: Line, check: Check) -> tuple[Control, ...]:
    found = []
    twice = answer.samples(f"{line.name}.twice")
    if twice and twice.cycles:
        share = cycles.rate_of(twice) / cycles.rate_of(line)
        red = cycles.HALF[0] < share < cycles.HALF[1]
        found.append(Control(name="made twice", red=red, says=f"reads {share:.2f} of it"))
    pedantic, measure = answer.samples(f"{line.name}.pedantic"), check.measure
    if pedantic and pedantic.cycles and measure and measure.limit and measure.floor:
        share = measure.value / measure.limit * cycles.rate_of(pedantic) / cycles.rate_of(line)
        says = f"{share:.2f} of the limit"
        found.append(Control(name="no tensor cores", red=share < measure.floor, says=says))
    for which, name in _CHANGED.items():
        if answer.one("data", f"{line.name}.{which}"):
            says = answer.noticed(f"{line.name}.{which}")
            found.append(Control(name=name, red=bool(says), says=says or "it was not noticed"))
    return tuple(found)


def _rating(seen: Seen, one: Type) -> Rating | None:
    """The rate of the fastest unit that does this type here."""
    units = [unit for unit in one.units if unit[0] == "fma" or seen.card.tensor_cores is not False]
    ratings = [seen.card.rate(unit, one.name, accumulate) for unit, accumulate in units]
    known = [rating for rating in ratings if rating]
    return max(known, key=lambda rating: rating.per_sm_clock) if known else None


def _owner(seen: Seen, one: Type) -> Blame:
    """The image, where a kernel of ours reached what it should here; else the machine."""
    reference = {check.id: check for check in (*tensor.checks(seen), *_multiply_adds(seen))}
    names = (f"fast.tensor-{one.name}", f"fast.fma-{one.name}", "fast.fma-f32")
    first = next((reference[name] for name in names if _judged_one(reference.get(name))), None)
    return "image" if first is not None and first.verdict == "pass" else "machine"


def _multiply_adds(seen: Seen) -> tuple[Check, ...]:
    return tuple(fma.check(seen, dtype) for dtype in ("f32", "f64"))


def _judged_one(check: Check | None) -> bool:
    return check is not None and check.verdict != "skip"
