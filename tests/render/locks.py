"""Locks of the plans beside this: two recorded, the others made.

`recorded/*.lock` were written by `envbuild lock` on 2026-12-01 against a local registry with
minimal Debian images, Debian's archive and the public index. The made ones show a second base,
an index beside the default one, and toolkits from archives of their own; their digests are of
nothing, but for the hashes of ``redistrib_12.9.2.json`` (NixOS/nixpkgs at 59dd8112).
"""

from pathlib import Path

from envbuild.values.codec import digest, load, replace
from envbuild.values.lock import AptPackage, Key, Lock, LockedBase, Part, Wheel
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


def _packages(*entries: str) -> tuple[AptPackage, ...]:
    """Packages from ``name version archive``; nothing for the distribution's own archive."""
    found = []
    for i, entry in enumerate(entries):
        name, version, *archive = entry.split()
        sha256 = f"{i:x}" * 64
        found.append(
            AptPackage(
                name=name,
                version=version,
                arch="amd64",
                sha256=sha256,
                archive=archive[0] if archive else "",
            )
        )
    return tuple(found)


assert plans.APT.layout.archive is not None
FINGERPRINT = plans.APT.layout.archive.key
APT = _made(
    plans.APT,
    base=_base(plans.APT.image.ref, "c"),
    apt_index=("bookworm main",),
    apt=_packages(
        "ca-certificates 20230311+deb12u1",
        "cuda-cudart-12-9 12.9.79-1 debian12",
        "cuda-nvcc-12-9 12.9.86-1 debian12",
        "cuda-toolkit-12-9 12.9.2-1 debian12",
        "g++ 4:12.2.0-3",
    ),
    key=Key(fingerprint=FINGERPRINT, file="3bf863cc.pub", sha256="9" * 64),
)
REDIST = _made(
    plans.REDIST,
    base=_base(plans.REDIST.image.ref, "c"),
    apt_index=("bookworm main",),
    apt=_packages("ca-certificates 20230311+deb12u1", "g++ 4:12.2.0-3", "python3 3.11.2-1+b1"),
    parts=(
        Part(
            name="cuda_nvcc",
            version="12.9.86",
            path="cuda_nvcc/linux-x86_64/cuda_nvcc-linux-x86_64-12.9.86-archive.tar.xz",
            sha256="7a1a5b652e5ef85c82b721d10672fc9a2dbaab44e9bd3c65a69517bf53998c35",
            size=81100244,
        ),
        Part(
            name="cuda_cudart",
            version="12.9.79",
            path="cuda_cudart/linux-x86_64/cuda_cudart-linux-x86_64-12.9.79-archive.tar.xz",
            sha256="1f6ad42d4f530b24bfa35894ccf6b7209d2354f59101fd62ec4a6192a184ce99",
            size=1514676,
        ),
    ),
)
CONDA = _made(
    plans.CONDA,
    base=_base(plans.CONDA.image.ref, "c"),
    apt_index=("bookworm main",),
    apt=_packages("ca-certificates 20230311+deb12u1", "g++ 4:12.2.0-3", "zstd 1.5.4+dfsg2-5"),
    parts=(
        Part(
            name="cuda-nvcc-impl",
            version="12.9.86",
            path="linux-64/cuda-nvcc-impl-12.9.86-h85509e4_2.conda",
            sha256="e" * 64,
            size=27000,
        ),
    ),
)
