"""Rows for questions and guides; no plan with a declared GPU reads them.

They are compiled into a file of their own, and their classes are not made before it is read.
"""

from typing import Literal

from envbuild.matrix.model.base import Arch, Row, Source
from envbuild.values.codec import Value


class EngineFeature(Row):
    """What a container engine, or the toolkit that brings GPUs into it, can do, `engines.yaml`.

    Attributes:
        engine: docker, docker-desktop, docker-snap, podman, containerd, cri-o,
            nvidia-container-toolkit, or l4t for the system of a Jetson.
        feature: ``cdi``, ``cdi-default``, ``cdi-0.7.0`` ...
        since, until: first and last release with it, None = open or not sourced.
        says: what it means for a GPU in a container.
    """

    engine: str
    feature: str
    since: str | None = None
    until: str | None = None
    says: str


class ContainerPackages(Row):
    """How a family of systems gets the container toolkit, `engines.yaml`.

    Attributes:
        manager: the program that installs packages there.
        systems: names of systems without their release (``ubuntu``).
        platform: ``jetson`` for what JetPack brings, empty = elsewhere.
        l4t: the L4T line that it is for, empty = the others.
        url: the vendor's repository, or its definition; None = the system's own archive has it.
        key: fingerprint of the one OpenPGP key that may sign it, ``key_url`` where the key is.
        packages: all of them, in one version.
    """

    manager: Literal["apt", "dnf", "zypper", "pacman"]
    systems: tuple[str, ...]
    platform: Literal["", "jetson"] = ""
    l4t: str = ""
    url: str | None = None
    key: str = ""
    key_url: str = ""
    packages: tuple[str, ...]


class Tool(Row):
    """Which cards a profiler or debugger serves, `tools.yaml`.

    Attributes:
        tool: ncu, nsys, nvprof, cuda-gdb, compute-sanitizer, cuda-memcheck.
        since, until: first and last release of the tool that the row is about, None = open.
        cc_min, cc_max: compute capabilities it serves.
        cuda_min, cuda_max: toolkits that carry these releases.
        driver: least Linux driver, ``535``; ``platform`` is ``wsl2`` where it is for WSL only.
        needs: what else must hold, in words.
    """

    tool: str
    since: str | None = None
    until: str | None = None
    cc_min: str | None = None
    cc_max: str | None = None
    cuda_min: str | None = None
    cuda_max: str | None = None
    driver: str | None = None
    platform: Literal["", "wsl2"] = ""
    needs: str = ""


class Limit(Row):
    """Sizes of one compute capability, `limits.yaml`; KiB, and numbers an SM.

    Attributes:
        smem_sm, smem_block: shared memory of an SM, and the most a block can opt in to, KiB.
        threads_sm, blocks_sm: the most that are resident on an SM.
        fp64: double to single precision rate, ``1:32``, where sourced.
    """

    cc: str
    smem_sm: int | None = None
    smem_block: int | None = None
    threads_sm: int | None = None
    blocks_sm: int | None = None
    fp64: str | None = None


class Rate(Row):
    """How much of one kind of arithmetic an SM can do, `rates.yaml`: a physical limit.

    Attributes:
        cc: the exact capability; a neighbour's rate may be another.
        unit: ``fma`` is the plain multiply-add, ``tensor`` the dense matrix one.
        accumulate: type of the sum, where a tensor rate depends on it.
        per_sm_clock: operations an SM and clock; a multiply-add counts as two.
        half_on: brands whose products run it at half that rate.
    """

    cc: str
    unit: Literal["fma", "tensor"]
    dtype: Literal["f64", "f32", "tf32", "f16", "bf16", "f8", "f6", "f4", "s8"]
    accumulate: Literal["", "f16", "f32"] = ""
    per_sm_clock: int
    half_on: tuple[str, ...] = ()


class ImageDigest(Row):
    """What a tag was seen to be, `digests.yaml`; a tag can be pushed again, a digest cannot.

    Attributes:
        tag: with registry and repository, ``docker.io/nvidia/cuda:13.4.1-devel-ubuntu24.04``.
        arch: the platform whose manifest it is, None = the index over all of them.
        digest: ``sha256:...``.
        cuda: ``13.4.1``.
    """

    tag: str
    arch: Arch | None = None
    digest: str
    cuda: str


class NgcImage(Row):
    """One framework image of the vendor's own registry, `ngc.yaml`.

    Attributes:
        tag: ``nvcr.io/nvidia/pytorch:25.12-py3``.
        cuda: its toolkit, as exactly as it is published: ``13.1.0``, ``12``.
        framework: version of what it is named after, where published.
        cc_min: lowest capability that it supports, where published.
    """

    tag: str
    cuda: str | None = None
    framework: str | None = None
    python: str | None = None
    cc_min: str | None = None


class DriverPackage(Row):
    """How a driver is installed and held at its branch, `driver_packages.yaml`.

    ``{branch}`` stands for the branch, ``{arch}`` for the vendor's name of the architecture,
    ``{release}`` for the number in the system's id, ``{version}`` for the newest release.

    Attributes:
        os: what the row is called; ``origin`` whose packages.
        systems: how the ids of the systems it serves begin (``rockylinux9``, ``sles15``).
        manager: what installs it; ``aur`` is built by the user, ``run`` the vendor's own installer,
            ``own`` what the system has in place of packages, in words.
        says: those words; ``{module}`` stands for ``true`` where the modules are the open ones.
        url: the repository where it lies, None = the system's own, or a row of `repositories`.
        branch_min, branch_max: driver branches it covers, None = open.
        open, proprietary: packages for a kernel-module flavour.
        stream_open, stream_proprietary: module streams of dnf, which hold the branch.
        needs: packages that the modules are built with, as a shell reads them.
        beside: repositories that must be on, in words.
        pin: the package, or the pattern for dnf's versionlock, that holds the branch.
        versions: driver versions in that archive, where it carries few.
    """

    os: str
    origin: Literal["vendor", "archive"]
    systems: tuple[str, ...] = ()
    manager: Literal["apt", "dnf", "dnf5", "zypper", "pacman", "aur", "run", "own"] = "apt"
    says: str = ""
    url: str | None = None
    branch_min: int | None = None
    branch_max: int | None = None
    open: str | None = None
    proprietary: str | None = None
    stream_open: str | None = None
    stream_proprietary: str | None = None
    needs: str = ""
    beside: str = ""
    pin: str | None = None
    versions: tuple[str, ...] = ()
    arches: tuple[Arch, ...] = ("x86_64",)


class EnginePackages(Row):
    """How a container engine is installed on a system, `engines.yaml` ``engine_packages``.

    Attributes:
        engine: docker; ``name`` tells its rows apart, ``oses`` are the systems it is for.
        url: the repository's address; for rpm systems that of its ``.repo`` file.
        key: fingerprint of the one OpenPGP key that may sign it, ``key_url`` where the key is.
        packages: what is installed; ``rootless`` what a daemon without root needs beside them.
        conflicts: packages of the system's own archive that cannot stand beside them.
    """

    engine: str
    name: str
    oses: tuple[str, ...]
    url: str
    key: str
    key_url: str
    packages: tuple[str, ...]
    rootless: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


class RpmRepository(Row):
    """A vendor's repository of rpm packages, `repositories.yaml`, key ``rpm_repositories``.

    Attributes:
        name: the repository's own name, ``rhel9``.
        systems: how the ids of the systems begin that it is for.
        url: of its ``.repo`` file, for zypper its own; ``{arch}`` is the vendor's folder.
        cuda_min, cuda_max: first and last toolkit that was seen in it.
        key: fingerprint of the key that signs it, or only its id.
    """

    name: str
    systems: tuple[str, ...]
    manager: Literal["dnf", "dnf5", "zypper"]
    url: str
    cuda_min: str
    cuda_max: str
    key: str
    arches: tuple[Arch, ...]


class WslNeed(Row):
    """What WSL 2 needs, and what it does not do, `wsl.yaml`.

    Attributes:
        what: one word, ``kernel``, ``windows-driver``, ``cuda-gdb``.
        least: lowest version, where the fact has one.
        value: what a command or a person needs of it: an address, a name, a key, a pattern.
    """

    what: str
    least: str | None = None
    value: str = ""
    says: str


class Reference(Value):
    """The rows that are loaded for questions alone."""

    sources: tuple[Source, ...]
    engines: tuple[EngineFeature, ...]
    container_packages: tuple[ContainerPackages, ...]
    tools: tuple[Tool, ...]
    limits: tuple[Limit, ...]
    rates: tuple[Rate, ...]
    digests: tuple[ImageDigest, ...]
    ngc: tuple[NgcImage, ...]
    driver_packages: tuple[DriverPackage, ...]
    wsl: tuple[WslNeed, ...]
    engine_packages: tuple[EnginePackages, ...]
    rpm_repositories: tuple[RpmRepository, ...]
