"""cuBLAS through torch."""

from envbuild.certify.seen import Seen
from envbuild.certify.suites import bounds
from envbuild.certify.suites.frameworks import judged
from envbuild.certify.suites.torch.parts import heard
from envbuild.values.certificate import Check

STEP = "torch.matmul"
_TERMS = 128  # K of the probe
CHECK = Check(
    id="torch.matmul",
    core=True,
    verdict="pass",
    says="torch.matmul is right in each dtype of the device, against float64 on the CPU",
    formula=bounds.FORMULA,
    rule="the largest error of any element is within the bound of its dtype",
)


def judge(seen: Seen) -> Check:
    """The check of products."""
    return judged(CHECK, heard(seen, STEP), ("f64", "f32", "f16"), bounds.of_sums(_TERMS))
