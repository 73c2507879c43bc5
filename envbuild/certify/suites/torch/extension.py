"""A C++/CUDA extension, built in the image."""

from envbuild.certify.seen import Seen
from envbuild.certify.suites.frameworks import device_cc, judged, refusal
from envbuild.certify.suites.torch.parts import heard
from envbuild.values.certificate import Check
from envbuild.values.codec import Pairs, replace

STEP = "torch.extension"
CHECK = Check(
    id="torch.extension",
    core=False,
    verdict="pass",
    says="a C++/CUDA extension is built in the image, loads, and adds as torch does",
    unit="differing elements",
    limit="0",
    rule="torch's own BuildExtension makes it; all elements are compared, none differs",
)


def judge(seen: Seen) -> Check:
    """The check of the extension."""
    found, stopped = heard(seen, STEP)
    toolkit, refused = found.one("toolkit"), found.one("refused")
    if stopped and toolkit and toolkit.target and "no code for the device" in stopped[1]:
        reason = f"{stopped[1]}: TORCH_CUDA_ARCH_LIST={toolkit.target} leaves it out"
        stopped = (stopped[0], reason.replace(" holds", "'s extension holds"), stopped[2])
    inputs = Pairs(
        {
            "toolkit": toolkit.path if toolkit else "none",
            "TORCH_CUDA_ARCH_LIST": (toolkit.target if toolkit else "") or "not set",
            "device": device_cc(seen),
        }
    )
    controls = refusal(refused, "on the GPU")
    check = replace(CHECK, inputs=inputs)
    return judged(check, (found, stopped), ("extension and torch",), lambda _: 0.0, *controls)
