"""Locks of the plans beside this: two recorded, two made.

`recorded/*.lock` were written by `envbuild lock` on 2026-12-01 against a local registry with
minimal Debian images, Debian's archive and the public index. The made ones show a second base
and an index beside the default one; their digests are of nothing.
"""

from pathlib import Path

from envbuild.values.codec import digest, load, replace
from envbuild.values.lock import Lock, LockedBase, Wheel
from envbuild.values.plan import Plan
from tests.render import plans

_RECORDED = Path(__file__).with_name("recorded")


def recorded(name: str) -> Lock:
    """A recorded lock."""
    return load(Lock, (_RECORDED / f"{name}.lock").read_bytes(), name)


def _base(ref: str | None, digit: str) -> LockedBase:
    assert ref is not None
    return LockedBase(ref=ref, digest=f"sha256:{digit * 64}", platform="linux/amd64")


def _made(plan: Plan, **fields: object) -> Lock:
    bare = Lock(tool="0.1.0", plan=digest(plan), matrix=plan.matrix, platform="linux/amd64")
    return replace(bare, **fields)


WHEELS = recorded("wheels")
DISTRO = recorded("distro")
IMAGE = _made(
    plans.IMAGE,
    base=_base(plans.IMAGE.image.ref, "a"),
    runtime=_base(plans.IMAGE.image.runtime_ref, "b"),
)
TORCH = _made(
    plans.TORCH,
    base=_base(plans.TORCH.image.ref, "c"),
    python="3.11",
    wheels=(
        Wheel(
            name="nvidia-cuda-runtime-cu12",
            version="12.6.77",
            file="nvidia_cuda_runtime_cu12-12.6.77-py3-none-manylinux2014_x86_64.whl",
            sha256="d" * 64,
            index="pypi",
        ),
        Wheel(
            name="torch",
            version="2.14.1+cu126",
            file="torch-2.14.1+cu126-cp311-cp311-manylinux_2_28_x86_64.whl",
            sha256="e" * 64,
            index="cu126",
        ),
    ),
)
