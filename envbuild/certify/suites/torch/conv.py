"""cuDNN through torch: its numbers, and that it is there at all."""

from envbuild.certify.seen import Seen
from envbuild.certify.suites import bounds
from envbuild.certify.suites.frameworks import judged
from envbuild.certify.suites.torch.parts import heard
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import replace

STEP = "torch.conv"
# Winograd's transforms add and subtract before and after they multiply.
_TRANSFORMS = 4
_TERMS = 16 * 9  # channels and filter of the probe
_BOUND = bounds.of_sums(_TERMS, times=_TRANSFORMS)
CONV = Check(
    id="torch.conv",
    core=True,
    verdict="pass",
    says="torch's convolution is right in each dtype of the device, against float64 on the CPU",
    formula=f"{_TRANSFORMS} * ({bounds.FORMULA})",
    rule="the largest error of any element is within the bound of its dtype",
)
CUDNN = Check(
    id="torch.cudnn",
    core=False,
    verdict="pass",
    says="cuDNN loads, is the one that torch was built for, and takes this device's tensors",
    rule="torch finds a tensor acceptable to cuDNN, and not while cuDNN is switched off",
)


def judge(seen: Seen) -> tuple[Check, Check]:
    """The checks of the convolution and of cuDNN."""
    found, stopped = heard(seen, STEP)
    conv = judged(CONV, (found, stopped), ("f64", "f32", "f16"), _BOUND)
    line = found.one("cudnn")
    if line is None:
        return conv, ruled(CUDNN, *(stopped or ("inconclusive", "torch says nothing", "suite")))
    if not line.number:
        reason = "torch was built without cuDNN: its convolutions are its own, and slow"
        return conv, ruled(CUDNN, "skip", reason, "image")
    check = replace(CUDNN, value=f"cuDNN {version(line.number)}")
    says = "refused" if not line.off else "taken"
    control = Control(name="cuDNN switched off", red=not line.off, says=says)
    if not line.on:
        reason = f"cuDNN {version(line.number)} does not take a tensor of this device"
        check = ruled(check, "fail", reason, "image")
    return conv, settle(check, control)


def version(number: int) -> str:
    """``9.10.2`` of 91002, ``8.9.7`` of 8907: cuDNN changed its spelling with version 9."""
    size = 10000 if number >= 90000 else 1000
    return f"{number // size}.{number % size // 100}.{number % 100}"
