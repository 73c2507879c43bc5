"""Builds of torch: CUDA, device code, pins, C library and interpreters, out of their wheels."""

from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from envbuild.matrix.load import load
from envbuild.matrix.model import Arch, Matrices, Row, TorchBuild
from envbuild.matrix.vendor import metadata, reach
from envbuild.matrix.vendor.fatbin import Library
from envbuild.matrix.vendor.index import Index, Listed
from envbuild.matrix.vendor.model import Measurer, Part, Unreachable, Unreadable
from envbuild.matrix.vendor.wheel import WHEEL, WheelFacts

# Where torch's own kernels are; up to 1.13 they had a library apart from those it links in.
_KERNELS = ("torch/lib/libtorch_cuda_cu.so", "torch/lib/libtorch_cuda.so")
_PYPI = "pypi"
_ARCHES: tuple[Arch, ...] = ("x86_64", "aarch64")


def asked(index: Index) -> str:
    """The name of the framework index that is asked: ``cu126`` by its address, else ``pypi``."""
    own = {one.url.rstrip("/"): one.index for one in load().torch_indexes if one.url}
    return own.get(index.url.rstrip("/"), _PYPI)


def _parts(row: TorchBuild, index: Index) -> list[Part]:
    if row.index != asked(index):
        address = next((one.url for one in load().torch_indexes if one.index == row.index), None)
        where = f"{address}, given as --index-url" if address else "the default package index"
        what = f"this build lies on another index: {where}"
        raise Unreachable(what)
    return [Part(index.one("torch", row.torch, row.arch), WHEEL)]


def _kernels(facts: WheelFacts) -> Library | None:
    by_name = {library.name: library for library in facts.libraries}
    return next((by_name[name] for name in _KERNELS if name in by_name), None)


def _measured(row: TorchBuild, facts: Sequence[WheelFacts]) -> Mapping[str, object]:
    wheel = facts[0]
    kernels = _kernels(wheel)
    if wheel.cuda and not (kernels and kernels.sass):
        what = f"it says CUDA {wheel.cuda}, and {_KERNELS[-1]} holds no device code"
        raise Unreadable(what)
    return {
        "cuda": wheel.cuda,
        "targets": reach.general(kernels.sass, kernels.fatbins) if kernels else (),
        "ptx": reach.general(kernels.ptx, kernels.fatbins) if kernels else (),
        "triton": metadata.pin(wheel, "triton", row.arch),
        "cudnn": metadata.pin(wheel, r"nvidia-cudnn-cu\d+", row.arch) if wheel.cuda else None,
        "python": wheel.python,
        "glibc": reach.glibc(facts),
    }


def _remark(_row: TorchBuild, facts: Sequence[WheelFacts]) -> str:
    kernels = _kernels(facts[0])
    few = reach.special(kernels.sass, kernels.fatbins) if kernels else ()
    return f"a few kernels also for {' '.join(few)}" if few else ""


def _listed(row: TorchBuild, facts: Sequence[WheelFacts], index: Index) -> Mapping[str, object]:
    wheels = _wheels(row, index)
    uploaded = min((wheel.uploaded for wheel in wheels if wheel.uploaded), default=None)
    found = {"pythons": metadata.pythons(wheels, facts[0].python, known_pythons())}
    return found | ({"released": uploaded} if uploaded else {})


def _wheels(row: TorchBuild, index: Index) -> list[Listed]:
    return [
        wheel
        for wheel in index.wheels("torch")
        if wheel.version.public == row.torch and wheel.fits(row.arch)
    ]


def known_pythons() -> tuple[str, ...]:
    """Every CPython that a row of the matrices or an operating system of theirs has, in order."""
    matrices = load()
    found = {python for row in matrices.torch for python in row.pythons}
    found |= {row.python for row in matrices.oses if row.python}
    return tuple(sorted(found, key=Version))


def _unknown(matrices: Matrices, index: Index) -> Iterable[Row]:
    """Releases after the oldest known one."""
    name = asked(index)
    known = {(row.torch, row.arch) for row in matrices.torch if row.index == name}
    oldest = min((Version(torch) for torch, _ in known), default=Version("0"))
    for arch in _ARCHES:
        for release in dict.fromkeys(
            wheel.version.public for wheel in index.releases("torch", arch)
        ):
            if (release, arch) not in known and Version(release) > oldest:
                yield TorchBuild(
                    torch=release, index=name, cuda=None, arch=arch, source=(), status="measured"
                )


TORCH = Measurer(
    table="torch",
    group="frameworks",
    fields=(
        *("cuda", "targets", "ptx", "triton", "cudnn", "python", "glibc"),
        *("pythons", "released"),
    ),
    parts=_parts,
    measured=_measured,
    remark=_remark,
    listed=_listed,
    unknown=_unknown,
)
