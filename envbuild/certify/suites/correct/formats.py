"""The number formats of suite `correct`: how each is multiplied, and how wrong a result may be.

An element of the product of two matrices is a sum of 64 terms. Its error is bounded by
``g / (1 - g) * sum |a * b|`` with ``g = 2 * 2^rounding + 64 * 2^summing``, the standard bound of a
dot product (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). Tensor cores cut
where others round: a sum in f32 there loses at most 2^-23 of the largest term twice a term (Fasi
et al., Numerical behavior of NVIDIA tensor cores, 2021), the 8-bit ones of 8.9 and 9.0 keep about
14 bits of it (DeepSeek-V3 technical report, section 3.3.2).
"""

from typing import NamedTuple

from envbuild.certify.seen import Seen
from envbuild.certify.terms import covers

ROWS, COLUMNS, DEPTH = 256, 128, 64  # as kernels/runner/numbers.h has them


class Format(NamedTuple):
    """One number format on one kind of core.

    Attributes:
        name: of the kernel, without ``envbuild_``.
        says: as people call it.
        operands, sums: ``e5m10`` is 5 bits of exponent and 10 of mantissa; ``s8`` is whole.
        rounding: an operand is rounded by at most ``2^rounding`` of itself; 0 = taken as it is.
        summing: each term adds an error of at most ``2^summing`` of the sum; 0 = exact.
        since: number of the first target that has the instruction.
        file: the source it is in.
        until: number of the last target; 0 = open.
        cuda: the first CUDA release whose PTX has it; None = each that has the target.
    """

    name: str
    says: str
    operands: str
    sums: str
    rounding: int
    summing: int
    since: int
    file: str = "correct"
    until: int = 0
    cuda: str | None = None

    @property
    def tensor(self) -> bool:
        """It is of the tensor cores."""
        return self.name.startswith("tensor_")

    @property
    def bound(self) -> str:
        """``g`` of the bound, in words."""
        terms = [f"2 * 2^{self.rounding}"] if self.rounding else []
        terms += [f"{DEPTH} * 2^{self.summing}"] if self.summing else []
        return " + ".join(terms) or "0"


FORMATS = (
    Format("plain_f64", "f64", "e11m52", "e11m52", 0, -53, 30),
    Format("plain_f32", "f32", "e8m23", "e8m23", 0, -24, 30),
    Format("plain_f16", "f16", "e5m10", "e5m10", 0, -11, 53),
    Format("plain_s8", "s8", "s8", "s32", 0, 0, 61),
    Format("tensor_f64", "f64 on tensor cores", "e11m52", "e11m52", 0, -53, 80),
    Format("tensor_tf32", "tf32 on tensor cores", "e8m23", "e8m23", -11, -22, 80),
    Format("tensor_f16", "f16 on tensor cores", "e5m10", "e8m23", 0, -22, 70),
    Format("tensor_bf16", "bf16 on tensor cores", "e8m7", "e8m23", 0, -22, 80),
    Format("tensor_s8", "s8 on tensor cores", "s8", "s32", 0, 0, 72),
    Format("tensor_e4m3", "f8 (e4m3)", "e4m3", "e8m23", 0, -12, 89, "tensor8", cuda="12.4"),
    Format("tensor_e5m2", "f8 (e5m2)", "e5m2", "e8m23", 0, -12, 89, "tensor8", cuda="12.4"),
    Format("tensor_e2m3", "f6 (e2m3)", "e2m3", "e8m23", 0, -12, 120, "tensor4", 129, "12.8"),
    Format("tensor_e3m2", "f6 (e3m2)", "e3m2", "e8m23", 0, -12, 120, "tensor4", 129, "12.8"),
    Format("tensor_e2m1", "f4 (e2m1)", "e2m1", "e8m23", 0, -12, 120, "tensor4", 129, "12.8"),
)


def target(seen: Seen) -> str:
    """The promised target whose code runs on the chosen GPU; empty = there is none."""
    gpu = seen.choice.gpu
    return (covers(seen.terms.promise, gpu.cc) or "") if gpu and gpu.cc else ""


def lacking(seen: Seen, form: Format) -> str:
    """Why this GPU, or the code for it, is not asked for a format; empty = it is asked."""
    if form.tensor and seen.card.tensor_cores is False:
        return "this card has no tensor cores"
    name = target(seen)
    number = int(name.rstrip("af") or 0)
    if number < form.since:
        return f"sm_{name} has no instruction for it"
    if form.until and number > form.until:
        return f"sm_{name} has no plain instruction for it"
    return ""
