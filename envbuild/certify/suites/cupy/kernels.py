"""What cupy compiles at run time, and its cuBLAS."""

from envbuild.certify.seen import Seen
from envbuild.certify.suites import bounds
from envbuild.certify.suites.cupy import build
from envbuild.certify.suites.frameworks import Heard, gated, judged, refusal
from envbuild.values.certificate import Check

_TERMS = 128  # K of the probe
JIT_STEP, MATMUL_STEP = "cupy.jit", "cupy.matmul"
JIT = Check(
    id="cupy.jit",
    core=True,
    verdict="pass",
    says="kernels that cupy compiles in the image are right in every element: a raw one that "
    "includes cuda_fp16.h, and an elementwise one",
    unit="wrong elements",
    limit="0",
    rule="all elements are compared with the CPU, none differs",
)
MATMUL = Check(
    id="cupy.matmul",
    core=True,
    verdict="pass",
    says="cupy's products are right, against float64 on the CPU",
    formula=bounds.FORMULA,
    rule="the largest error of any element is within the bound of its dtype",
)


def judge(seen: Seen) -> tuple[Check, Check]:
    """The checks of what runs; nothing is run of a cupy that does not fit."""
    found, stopped = _heard(seen, JIT_STEP)
    refused = found.one("refused")
    if stopped is None and refused is None:
        stopped = "inconclusive", "the broken kernel was not tried", "suite"
    names, controls = ("raw kernel", "elementwise"), refusal(refused, "no_such_name")
    jit = judged(JIT, (found, stopped), names, lambda _: 0.0, *controls)
    return jit, judged(MATMUL, _heard(seen, MATMUL_STEP), ("f64", "f32"), bounds.of_sums(_TERMS))


def _heard(seen: Seen, step: str) -> Heard:
    return gated(build.judge(seen), seen, step, build.name(seen))
