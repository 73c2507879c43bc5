"""The plan: what to build and why, and under which matrices that was decided."""

from typing import Literal

from envbuild.values.codec import Pairs, Value
from envbuild.values.finding import Finding, Outcome
from envbuild.values.request import Request


class ImageChoice(Value):
    """Base image. ``ref`` is canonical (no mirror); None for ``where: host`` and for no plan.

    Attributes:
        glibc: C library of that OS, ``2.36``; it decides which wheels fit.
        runtime_ref: image of the ``runtime`` stage, None = ``ref`` is a plain OS itself.
    """

    ref: str | None = None
    flavour: str | None = None
    os: str | None = None
    glibc: str | None = None
    runtime_ref: str | None = None


class Archive(Value):
    """The archive of a toolkit that no registry, index or distribution serves.

    Attributes:
        kind: ``apt`` (a repository of packages), ``redist`` or ``conda``.
        name: ``ubuntu2404``, ``redist``, ``conda-forge``: what a lock calls it.
        url: its canonical address for this architecture; a mirror is never in a plan.
        key: fingerprint of the one OpenPGP key that may sign it, ``key_file`` the key's file in it.
        parts: what of a release makes a compiler prefix, by the archive's own names.
        never: package patterns, as apt preferences spell them, that must not be installed.
    """

    kind: Literal["apt", "redist", "conda"]
    name: str
    url: str
    key: str = ""
    key_file: str = ""
    parts: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


class Layout(Value):
    """What a rendering must know of the toolkit's source.

    Attributes:
        prefix: folder of the toolkit below site-packages (``nvidia/cu13``), wheels only.
        components: archive components that must be on (``main contrib non-free``).
        dummies: ``Provides`` entries of the package that keeps driver libraries out.
        purge_compat: take the vendor's forward-compatibility libcuda out of the image.
        archive: where the toolkit is fetched from, None = registry, index or distribution.
    """

    prefix: str | None = None
    components: tuple[str, ...] = ()
    dummies: tuple[str, ...] = ()
    purge_compat: bool = False
    archive: Archive | None = None


class HostCompiler(Value):
    """Host compiler: ``max`` is the newest major version that the toolkit takes."""

    name: str
    version: str | None = None
    max: int | None = None


class Flags(Value):
    """Compiler flags for the planned targets, in the three spellings people need."""

    nvcc: str = ""
    cmake: str = ""
    torch: str = ""


class TorchChoice(Value):
    """A framework build: version, index name (``cu126``, ``pypi``), address if not PyPI."""

    version: str
    index: str
    index_url: str | None = None


class DriverNeed(Value):
    """What one cc needs of the driver; ``last_branch`` None = none announced."""

    cc: str | None = None
    min: str | None = None
    recommended: str | None = None
    last_branch: int | None = None
    module: str | None = None


class RunFlags(Value):
    """GPU flags of each engine for this plan's access mode, one entry an argument."""

    docker: tuple[str, ...] = ()
    podman: tuple[str, ...] = ()
    apptainer: tuple[str, ...] = ()


class Size(Value):
    """Disk that the image needs, MiB; None = not known. ``basis`` says where the figure is from."""

    disk_mib: int | None = None
    basis: str = ""


class Lifetime(Value):
    """Until when (YYYY-MM) the plan stays supported, None = no end announced; and what ends it."""

    until: str | None = None
    why: str = ""


class Alternative(Value):
    """Another toolkit and the one finding that decided about it.

    ``way`` names the toolkit source of an entry that shows another way to nearly the same plan;
    empty in the entries that judge a toolkit, one each.
    """

    cuda: str
    outcome: Outcome
    why: str
    source: str = ""
    way: str = ""


class MatrixId(Value):
    """Date and digest of the matrices a plan was made from."""

    date: str
    digest: str


class Provenance(Value):
    """Where one fact of the target came from: flag, file, recorded, detected or default."""

    fact: str
    value: str
    origin: str


class Plan(Value):
    """One image (or one host set-up) for one set of compute capabilities.

    Attributes:
        cuda: toolkit release, as exact as its source is known (``12.9.1``).
        gencode: ``arch=compute_61,code=[sm_61,compute_61]``, one entry a target.
        packages: Python requirements (``cuda-toolkit[nvcc,cudart]==13.0.2``), pinned.
        apt: operating-system packages that the rendering installs.
        driver: one entry a cc; without a cc, one entry.
        access: GPU access mode planned for: cdi, gpus, nvidia-runtime or none.
        platform: linux, sbsa, wsl2, jetson-l4t or jetson-sbsa.
        declared: nothing on this machine was looked at.
        promise: real targets whose SASS the image's own compiler must produce.
    """

    schema: Literal["envbuild/plan/1"] = "envbuild/plan/1"
    outcome: Outcome
    cc: tuple[str, ...] = ()
    where: str = "image"
    cuda: str | None = None
    toolkit_source: str | None = None
    image: ImageChoice = ImageChoice()
    layout: Layout = Layout()
    host_compiler: HostCompiler | None = None
    gencode: tuple[str, ...] = ()
    flags: Flags = Flags()
    env: Pairs = Pairs()
    torch: TorchChoice | None = None
    packages: tuple[str, ...] = ()
    apt: tuple[str, ...] = ()
    driver: tuple[DriverNeed, ...] = ()
    access: str = "none"
    platform: str = "linux"
    arch: str = "x86_64"
    python: str | None = None
    run: RunFlags = RunFlags()
    size: Size = Size()
    lasts_until: Lifetime = Lifetime()
    findings: tuple[Finding, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    request: Request = Request()
    declared: bool = True
    provenance: tuple[Provenance, ...] = ()
    promise: tuple[str, ...] = ()
    matrix: MatrixId


class FleetEntry(Value):
    """One plan of a fleet and the nodes (or GPUs or cc, where none is named) that take it."""

    nodes: tuple[str, ...]
    plan: Plan


class FleetNode(Value):
    """A node, or several that are alike: which plan it takes, and what its driver must be.

    Attributes:
        name: as the fleet names it; the GPU or the cc where it does not.
        count: how many machines stand behind the name.
        gpus: names of the products, where they are known.
        entry: which entry it takes, from 1; None = none: ``says`` tells why.
        given: the driver in hand, None = not known.
        driver: what the plan needs of the machine: from ``min`` to ``last_branch``, ``module``.
        access: how its engine gives a container the GPU, ``none`` = it does not yet; None = nobody
            looked.
    """

    name: str
    count: int = 1
    cc: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    entry: int | None = None
    given: str | None = None
    driver: DriverNeed = DriverNeed()
    says: str = ""
    access: str | None = None


class Fleet(Value):
    """The fewest plans that cover every node; ``findings`` are about nodes, not about a plan."""

    schema: Literal["envbuild/fleet/1"] = "envbuild/fleet/1"
    outcome: Outcome
    entries: tuple[FleetEntry, ...] = ()
    findings: tuple[Finding, ...] = ()
    nodes: tuple[FleetNode, ...] = ()
    matrix: MatrixId
