"""Rows about toolkits: what each compiles, with which compilers, and where it can be had."""

from typing import Literal

from envbuild.matrix.model.base import Arch, Row


class Toolkit(Row):
    """One CUDA minor release, `toolkits.yaml`.

    Attributes:
        cuda: ``12.9``.
        targets: real targets that its ptxas assembles, 'a' and 'f' ones too.
        gcc_max, clang_max: newest host compiler its headers accept.
        ptx: PTX ISA version it emits, where measured.
        driver: Linux driver that shipped with it: at or above, its PTX can be JIT compiled.
        driver_windows: the same for the Windows driver (WSL).
        released: YYYY-MM-DD of its first release, where known.
        ends: YYYY-MM after which it gets no patches, where sourced.
    """

    cuda: str
    targets: tuple[str, ...]
    gcc_max: int
    clang_max: int | None = None
    ptx: str | None = None
    driver: str | None = None
    driver_windows: str | None = None
    released: str | None = None
    ends: str | None = None


class GlibcClash(Row):
    """Headers of these toolkits do not compile against this C library or a newer one.

    `toolkits.yaml`, key ``glibc_clashes``. ``cuda_below`` = first toolkit without the clash.
    """

    glibc_from: str
    cuda_below: str
    symbol: str


class CompilerFloor(Row):
    """The oldest gcc that these toolkits take, from this one on until the next row.

    `toolkits.yaml`, key ``compiler_floors``. Toolkits before the first row: not known.
    """

    cuda_from: str
    gcc: int
    says: str


class DistroToolkit(Row):
    """A toolkit in a distribution's own archive, `distro.yaml`.

    Attributes:
        release: vendor release it corresponds to (``12.4.1``), ``version`` the package's own.
        packages: what to install; ``gcc`` the compiler major that fits.
        components: archive components that must be on.
        dummies: ``Provides`` entries of the placeholder package that keeps driver libraries out.
        patched_glibc: it compiles in spite of the clash with its C library.
    """

    os: str
    cuda: str
    release: str
    version: str
    packages: tuple[str, ...]
    gcc: int
    components: tuple[str, ...]
    dummies: tuple[str, ...] = ()
    patched_glibc: bool = False
    arches: tuple[Arch, ...] = ("x86_64",)
    disk_mib: int | None = None


class WheelToolkit(Row):
    """A toolkit as Python wheels, `wheels.yaml`.

    Attributes:
        release: version of the ``cuda-toolkit`` metapackage, ``13.0.2``.
        nvcc: the wheels hold the compiler driver (13.x) and not only ptxas.
        nvcc_version: version of the nvcc wheel, ``13.0.88``.
        extras: extras that make a compiler prefix.
        prefix: folder below site-packages, ``nvidia/cu13``.
        glibc: oldest C library that its wheels run on, ``2.17``.
    """

    cuda: str
    release: str
    nvcc: bool
    nvcc_version: str | None = None
    extras: tuple[str, ...]
    prefix: str
    glibc: str | None = None
    arches: tuple[Arch, ...] = ("x86_64", "aarch64")
    disk_mib: int | None = None


class Repository(Row):
    """A vendor's archive as toolkit source, `repositories.yaml`.

    Attributes:
        kind: the toolkit source that it serves.
        name: the repository's own name (``ubuntu2404``, ``wsl-ubuntu``).
        oses: operating systems it is for; empty = any.
        platform: ``wsl2`` for the one that holds no driver, empty = all others.
        cuda_min, cuda_max: first and last toolkit minor in it, None = open.
        releases: releases that were seen in it (``12.9.1``); empty = not listed.
        parts: what of a release makes a compiler prefix, by the archive's own names.
        package: what is installed; ``{major}``, ``{minor}``, ``{release}`` are the toolkit's.
        url: its address.
        key: fingerprint of the one OpenPGP key that may sign it, ``key_file`` its file there.
        tools: packages of the base that fetch and unpack what comes from it.
        never: package patterns, in the spelling of apt preferences, that must not be installed.
    """

    kind: Literal["apt", "redist", "conda"]
    name: str
    oses: tuple[str, ...] = ()
    platform: str = ""
    cuda_min: str | None = None
    cuda_max: str | None = None
    arches: tuple[Arch, ...] = ("x86_64",)
    package: str = ""
    releases: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    url: str | None = None
    key: str = ""
    key_file: str = ""
    tools: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
