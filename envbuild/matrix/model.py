"""The rows of the matrices. A fact is a row; a row without source and status does not load.

Versions are text as the vendor writes them. Targets are written without ``sm_``: ``61``,
``90a``, ``120f``. ``cc`` is always ``major.minor``.
"""

from typing import Literal

from envbuild.values.codec import Value

Status = Literal["measured", "sourced", "derived"]
Arch = Literal["x86_64", "aarch64"]


class Source(Value):
    """Where a fact is from: a public address, or a package that anyone can open."""

    id: str
    says: str
    url: str | None = None


class Row(Value):
    """Base of every row; ``source`` holds ids of ``sources.yaml``."""

    source: tuple[str, ...]
    status: Status
    note: str = ""


class Toolkit(Row):
    """One CUDA minor release, `toolkits.yaml`.

    Attributes:
        cuda: ``12.9``.
        targets: real targets that its ptxas assembles, 'a' and 'f' ones too.
        gcc_max, clang_max: newest host compiler its headers accept.
        ptx: PTX ISA version it emits, where measured.
        driver: Linux driver that shipped with it: at or above, its PTX can be JIT compiled.
        driver_windows: the same for the Windows driver (WSL).
        ends: YYYY-MM after which it gets no patches, where sourced.
    """

    cuda: str
    targets: tuple[str, ...]
    gcc_max: int
    clang_max: int | None = None
    ptx: str | None = None
    driver: str | None = None
    driver_windows: str | None = None
    ends: str | None = None


class GlibcClash(Row):
    """Headers of these toolkits do not compile against this C library or a newer one.

    `toolkits.yaml`, key ``glibc_clashes``. ``cuda_below`` = first toolkit without the clash.
    """

    glibc_from: str
    cuda_below: str
    symbol: str


class DriverFloor(Row):
    """Minor-version compatibility: lowest driver for a CUDA major, `drivers.yaml` ``floors``."""

    major: int
    linux: str
    windows: str | None = None


class Branch(Row):
    """One driver branch, `drivers.yaml` ``branches``.

    Attributes:
        cuda: CUDA level of the branch (``580`` -> ``13.0``).
        newest: newest release seen.
        ends: YYYY-MM.
        modules: kernel-module flavours it comes with.
    """

    branch: int
    newest: str | None = None
    cuda: str | None = None
    ends: str | None = None
    kind: str = ""
    modules: tuple[Literal["open", "proprietary"], ...] = ("open", "proprietary")


class Capability(Row):
    """One compute capability, `capabilities.yaml`.

    Attributes:
        arch: Pascal, Turing ...
        target: ``61``; ``aliases`` = other names of the same silicon in older toolkits
            (``101`` for 11.0).
        last_branch: last driver branch that drives it, None = none announced.
        module: kernel module it needs.
        first_driver: lowest Linux driver known to drive it, where sourced.
        tegra: an integrated part of a Jetson or similar; desktop code is not promised to run.
        features: names of `features.yaml` that its plain target has.
        cpu: the only CPU architecture it comes with, None = it is a card for any.
        ptx_jit: its last driver can compile the PTX of the newest toolkit that knows it.
        wsl: what the vendor says of it inside WSL 2.
        last_toolkit: its last toolkit, where that is older than these matrices.
        no_tensor_cores: products of this cc that lack the tensor cores its code assembles for.
    """

    cc: str
    arch: str
    target: str
    aliases: tuple[str, ...] = ()
    last_branch: int | None = None
    module: Literal["open", "proprietary", "either"]
    first_driver: str | None = None
    tegra: bool = False
    features: tuple[str, ...] = ()
    cpu: Arch | None = None
    ptx_jit: bool = True
    wsl: Literal["yes", "unsupported", "no"] = "yes"
    last_toolkit: str | None = None
    no_tensor_cores: str = ""


class Feature(Row):
    """One hardware feature that needs certain targets, `features.yaml`.

    Attributes:
        name: wgmma, fp8, tensor-cores ...; ``aliases`` as people type them.
        targets: real targets on which it assembles (``90a``; ``120a``, ``120f``).
        means: one sentence for people.
    """

    name: str
    aliases: tuple[str, ...] = ()
    targets: tuple[str, ...]
    means: str


class Product(Row):
    """One GPU product, `gpus.yaml`.

    Attributes:
        brand: geforce, titan, quadro, rtx, tesla, jetson ... as drivers and images use it.
        cc: None where the name alone does not tell; then ``by_die`` does.
        by_die: (die, cc) pairs where one name is several chips.
        tensor_cores: None = follows from the cc.
        forward_compat: on the vendor's forward-compatibility list.
        cpu, module: where the product is narrower than its cc (Grace superchips).
    """

    name: str
    aliases: tuple[str, ...] = ()
    brand: str = ""
    cc: str | None = None
    by_die: tuple[tuple[str, str], ...] = ()
    dies: tuple[str, ...] = ()
    pci_ids: tuple[str, ...] = ()
    tensor_cores: bool | None = None
    first_driver: str | None = None
    forward_compat: bool | None = None
    cpu: Arch | None = None
    module: Literal["open", "proprietary"] | None = None


class Die(Row):
    """One die, `pci.yaml`: its cc and the PCI device ids (hex, vendor 10de) that carry it."""

    die: str
    cc: str
    pci_ids: tuple[str, ...]


class ImageTag(Row):
    """One vendor image version on one OS, `images.yaml`.

    Attributes:
        cuda: ``12.9.1``.
        os: ``ubuntu24.04``.
        flavours: base, runtime, devel, as far as they exist without cuDNN.
        cudnn: spelling of the cuDNN part of the tag (``cudnn8``, ``cudnn``); None = no such tag.
        cudnn_flavours: flavours that exist with it.
        cudnn_version: cuDNN inside, where sourced.
        require: toolkit level that ``NVIDIA_REQUIRE_CUDA`` asks for.
        require_branches, require_brands: driver branches below that level which it accepts, and
            for which brands.
        withdrawn: the tag is known to be deleted or past its end of life.
    """

    cuda: str
    os: str
    flavours: tuple[str, ...]
    cudnn: str | None = None
    cudnn_flavours: tuple[str, ...] = ("runtime", "devel")
    cudnn_version: str | None = None
    arches: tuple[Arch, ...]
    require: str | None = None
    require_branches: tuple[int, ...] = ()
    require_brands: tuple[str, ...] = ()
    withdrawn: bool = False


class Os(Row):
    """One operating-system release as a base, `os.yaml`.

    Attributes:
        id: ``ubuntu24.04``; ``image`` the plain base image, canonical.
        gcc: major of the default compiler; ``gccs`` all majors its archive has.
        python: its own python3, ``3.12``.
        lts: a long-term release; ``ends`` YYYY-MM of standard support.
        family: apt or rpm.
    """

    id: str
    aliases: tuple[str, ...] = ()
    image: str | None = None
    codename: str | None = None
    family: Literal["apt", "rpm"] = "apt"
    gcc: int | None = None
    gccs: tuple[int, ...] = ()
    glibc: str | None = None
    python: str | None = None
    lts: bool = False
    ends: str | None = None


class DistroToolkit(Row):
    """A toolkit in a distribution's own archive, `distro.yaml`.

    Attributes:
        release: vendor release it corresponds to (``12.4.1``), ``version`` the package's own.
        packages: what to install; ``gcc`` the compiler major that fits.
        components: archive components that must be on.
        dummies: ``Provides`` entries of the placeholder package that keeps driver libraries out.
        patched_glibc: the distribution mended the glibc clash itself.
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
    """

    cuda: str
    release: str
    nvcc: bool
    nvcc_version: str | None = None
    extras: tuple[str, ...]
    prefix: str
    arches: tuple[Arch, ...] = ("x86_64", "aarch64")
    disk_mib: int | None = None


class TorchBuild(Row):
    """One build of torch, `torch.yaml`.

    Attributes:
        index: ``cu126`` or ``pypi``.
        cuda: its CUDA, ``12.6``; None for a CPU-only build.
        targets: SASS in the wheel; ``ptx`` its PTX targets.
        python: PEP 440 range; ``pythons`` the interpreters that have a wheel, where known.
    """

    torch: str
    index: str
    cuda: str | None
    arch: Arch = "x86_64"
    targets: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    triton: str | None = None
    cudnn: str | None = None
    python: str = ""
    pythons: tuple[str, ...] = ()


class TorchIndex(Row):
    """Address of a framework index by name, `torch.yaml` key ``torch_indexes``."""

    index: str
    url: str | None = None


class PackageRule(Row):
    """What another Python package needs, `packages.yaml`.

    Attributes:
        name: as people ask for it; ``requirement`` what is installed for a CUDA major.
        cc_min, cc_max: compute capabilities it serves.
        cuda_min, cuda_max: toolkits it serves (prefix comparison).
        needs_jit: it emits PTX that the driver must compile.
        needs_compiler: it calls a C compiler at run time.
        pythons: interpreters that ``version`` has wheels for, where known.
    """

    name: str
    requirement: str
    cuda_major: int
    version: str | None = None
    cc_min: str | None = None
    cc_max: str | None = None
    cuda_min: str | None = None
    cuda_max: str | None = None
    needs_jit: bool = False
    needs_compiler: bool = False
    pythons: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


class TritonBuild(Row):
    """What Triton reaches from one version on, `packages.yaml` key ``triton``.

    Attributes:
        triton: first version with these targets.
        targets: real targets of its own ptxas.
        cc_min: lowest cc it supports; ``inductor_min`` = lowest that torch.compile accepts.
    """

    triton: str
    targets: tuple[str, ...]
    cc_min: str
    inductor_min: str


class CudnnFloor(Row):
    """cuDNN from this version on has no code below ``cc_min``, `packages.yaml` key ``cudnn``."""

    cudnn_from: str
    cc_min: str


class Repository(Row):
    """A vendor's archive as toolkit source, `repositories.yaml`.

    Attributes:
        kind: the toolkit source that it serves.
        name: the repository's own name (``ubuntu2404``, ``wsl-ubuntu``).
        oses: operating systems it is for; empty = any.
        platform: ``wsl2`` for the one that holds no driver, empty = all others.
        cuda_min, cuda_max: first and last toolkit minor in it, None = open.
        package: what is installed; ``{major}``, ``{minor}``, ``{release}`` are the toolkit's.
        url: its address.
    """

    kind: Literal["apt", "redist", "conda"]
    name: str
    oses: tuple[str, ...] = ()
    platform: str = ""
    cuda_min: str | None = None
    cuda_max: str | None = None
    arches: tuple[Arch, ...] = ("x86_64",)
    package: str = ""
    url: str | None = None


class JetsonRow(Row):
    """One L4T line, `jetson.yaml`: its CUDA, its cc and the kind of userland."""

    l4t: str
    jetpack: str
    cuda: str
    cc: tuple[str, ...]
    platform: Literal["jetson-l4t", "jetson-sbsa"]
    image: str | None = None


class Matrices(Value):
    """All rows, as compiled. ``date`` and ``digest`` go into every plan."""

    date: str
    digest: str
    sources: tuple[Source, ...]
    toolkits: tuple[Toolkit, ...]
    glibc_clashes: tuple[GlibcClash, ...]
    floors: tuple[DriverFloor, ...]
    branches: tuple[Branch, ...]
    capabilities: tuple[Capability, ...]
    features: tuple[Feature, ...]
    images: tuple[ImageTag, ...]
    oses: tuple[Os, ...]
    distro: tuple[DistroToolkit, ...]
    wheels: tuple[WheelToolkit, ...]
    torch: tuple[TorchBuild, ...]
    torch_indexes: tuple[TorchIndex, ...]
    packages: tuple[PackageRule, ...]
    jetson: tuple[JetsonRow, ...]
    triton: tuple[TritonBuild, ...] = ()
    cudnn: tuple[CudnnFloor, ...] = ()
    repositories: tuple[Repository, ...] = ()


class Names(Value):
    """The rows for look-ups by product name and PCI id; apart, because few commands need them."""

    products: tuple[Product, ...]
    dies: tuple[Die, ...]
