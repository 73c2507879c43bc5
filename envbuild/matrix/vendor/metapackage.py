"""Toolkits as wheels: what the ``cuda-toolkit`` metapackage of each release pins."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from envbuild.matrix.model import Matrices, Row, WheelToolkit
from envbuild.matrix.vendor.compiler import ARCH, COMPILER, CompilerFacts, projects
from envbuild.matrix.vendor.index import Index, Listed
from envbuild.matrix.vendor.model import Measurer, Part
from envbuild.matrix.vendor.wheel import WHEEL, WheelFacts, glibc_of
from envbuild.values.codec import Value

_PROJECT = "cuda-toolkit"
_ARCHES = ("x86_64", "aarch64")
# What makes a compiler prefix, as far as a release has it as an extra.
_EXTRAS = ("nvcc", "cudart", "cccl", "nvrtc", "crt", "nvvm")
_OWN_FOLDER = "cuda_nvcc"  # before 13, each wheel had a folder of its own


def _parts(row: WheelToolkit, index: Index) -> list[Part]:
    """The metapackage, and the compiler that the row says it pins."""
    found = [Part(index.one(_PROJECT, row.release), WHEEL)]
    if row.nvcc_version:
        nvcc = projects(Version(row.release).major)[0]
        found.append(Part(index.one(nvcc, row.nvcc_version, ARCH), COMPILER))
    return found


def _measured(row: WheelToolkit, facts: Sequence[Value]) -> Mapping[str, object]:
    release = Version(row.release)
    about = facts[0]
    assert isinstance(about, WheelFacts)  # noqa: S101 - the reader of the first part
    pins = _pins(about, "x86_64")
    nvcc = pins.get(projects(release.major)[0])
    values: dict[str, object] = {
        "cuda": f"{release.major}.{release.minor}",
        "nvcc_version": str(nvcc.specifier).removeprefix("==").removesuffix(".*") if nvcc else None,
        "extras": tuple(extra for extra in _EXTRAS if _of_extra(about, extra, "x86_64")),
    }
    for compiler in facts[1:]:
        assert isinstance(compiler, CompilerFacts)  # noqa: S101 - the reader of the second
        root = PurePosixPath(compiler.root)
        values["nvcc"] = bool(compiler.nvcc)
        values["prefix"] = str(root.parent if root.name == _OWN_FOLDER else root)
    return values


def _listed(row: WheelToolkit, facts: Sequence[Value], index: Index) -> Mapping[str, object]:  # noqa: ARG001
    """The machines that every pinned part has a wheel for, and the newest glibc one needs."""
    about = facts[0]
    assert isinstance(about, WheelFacts)  # noqa: S101 - the reader of the first part
    arches = []
    needs = []
    for arch in _ARCHES:
        wheels = [_wheels(index, pin, arch) for pin in _pins(about, arch).values()]
        if wheels and all(wheels):
            arches.append(arch)
            needs += [min(glibcs) for files in wheels if (glibcs := _glibcs(files))]
    return {"arches": tuple(arches), "glibc": str(max(needs)) if needs else None}


def _wheels(index: Index, pin: Requirement, arch: str) -> list[Listed]:
    name = canonicalize_name(pin.name)
    return [w for w in index.releases(name, arch) if pin.specifier.contains(w.version)]


def _glibcs(wheels: Iterable[Listed]) -> list[Version]:
    return [Version(said) for wheel in wheels if (said := glibc_of(wheel.file.file))]


def _pins(facts: WheelFacts, arch: str) -> dict[str, Requirement]:
    """What the extras of a compiler prefix ask for on Linux, by project."""
    return {
        canonicalize_name(one.name): one
        for extra in _EXTRAS
        for one in _of_extra(facts, extra, arch)
    }


def _of_extra(facts: WheelFacts, extra: str, arch: str) -> list[Requirement]:
    where = {"sys_platform": "linux", "platform_machine": arch, "extra": extra}
    asked = map(Requirement, facts.requires)
    return [one for one in asked if one.marker is not None and one.marker.evaluate(where)]


def _new(matrices: Matrices, index: Index) -> Iterable[Row]:
    known = {Version(row.release) for row in matrices.wheels}
    for wheel in index.releases(_PROJECT):
        if wheel.version.major and wheel.version not in known:
            yield WheelToolkit(
                cuda="", release=wheel.file.version, nvcc=False, extras=(), prefix="",
                source=(), status="measured",
            )  # fmt: skip


WHEELS = Measurer(
    table="wheels",
    group="toolkits",
    fields=("cuda", "nvcc", "nvcc_version", "extras", "prefix", "arches", "glibc"),
    parts=_parts,
    measured=_measured,
    listed=_listed,
    unknown=_new,
)
