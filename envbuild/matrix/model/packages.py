"""Rows about frameworks and other Python packages that care about CUDA."""

from envbuild.matrix.model.base import Arch, Row


class TorchBuild(Row):
    """One build of torch, `torch.yaml`.

    Attributes:
        index: ``cu126`` or ``pypi``.
        cuda: its CUDA, ``12.6``; None for a CPU-only build.
        targets: SASS in the wheel; ``ptx`` its PTX targets.
        python: PEP 440 range; ``pythons`` the interpreters that have a wheel, where known.
        glibc: oldest C library it runs on, ``2.28``: the larger of what the wheel's tag promises
            and the newest symbol that its libraries ask for.
        nccl: the NCCL that its wheel requires; builds of one release and CUDA major share it.
        released: YYYY-MM-DD on which the wheel was uploaded, where known.
        beside: requirements that it needs and does not state (``numpy<2``).
        unmarked: its version does not name its index: ``2.5.1``, not ``2.5.1+cu124``.
    """

    torch: str
    index: str
    cuda: str | None
    arch: Arch = "x86_64"
    targets: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    triton: str | None = None
    cudnn: str | None = None
    nccl: str | None = None
    python: str = ""
    pythons: tuple[str, ...] = ()
    glibc: str | None = None
    released: str | None = None
    beside: tuple[str, ...] = ()
    unmarked: bool = False


class TorchPair(Row):
    """Which torchvision and torchaudio go with a torch, `torch.yaml` key ``torch_pairs``."""

    torch: str
    torchvision: str | None = None
    torchaudio: str | None = None


class TorchIndex(Row):
    """Address of a framework index by name, `torch.yaml` key ``torch_indexes``."""

    index: str
    url: str | None = None


class PackageRule(Row):
    """What another Python package needs, `packages.yaml`.

    Attributes:
        name: as people ask for it; ``requirement`` what is installed for a CUDA major.
        cc_min, cc_max: compute capabilities it serves; ``cc_not``: those between that its wheels
            hold no code for.
        cuda_min, cuda_max: toolkits it serves (prefix comparison).
        version_min, version_max: first and last version under this requirement, None = open.
        arch: the one architecture that has wheels for the GPU, None = both.
        needs_jit: it emits PTX that the driver must compile.
        compiles: it compiles for the card at run time, to finished code: NVRTC and headers, no JIT.
        needs_compiler: it calls a C compiler at run time.
        pythons: interpreters that ``version`` has wheels for, where known.
        glibc: oldest C library that those wheels run on, as for torch.
        cudnn: it brings a cuDNN, of any version that pip finds.
        beside: requirements that it needs and does not state (``numpy<2.5``).
        torch: it is built on torch, and pip would bring one along; ``for_torch`` the range of
            versions that it is built for, where known.
        shares: what it requires of libraries that torch's wheels require in one version too, by
            the fields of `TorchBuild`: ``nccl>=2.27.7``; ``cuda==12.5``: every library of it.
        sdist: the index has its source alone; ``build_needs`` what its build takes from the
            environment.
        compiled: that source is compiled with nvcc, against the torch that is there.
        beyond: what happens on cards above ``cc_max``; ``container`` an image of the vendor's own
            registry that serves them.
    """

    name: str
    requirement: str
    cuda_major: int
    version: str | None = None
    version_min: str | None = None
    version_max: str | None = None
    cc_min: str | None = None
    cc_max: str | None = None
    cc_not: tuple[str, ...] = ()
    cuda_min: str | None = None
    cuda_max: str | None = None
    arch: Arch | None = None
    needs_jit: bool = False
    compiles: bool = False
    needs_compiler: bool = False
    pythons: tuple[str, ...] = ()
    glibc: str | None = None
    cudnn: bool = False
    beside: tuple[str, ...] = ()
    torch: bool = False
    for_torch: str = ""
    shares: tuple[str, ...] = ()
    sdist: bool = False
    build_needs: tuple[str, ...] = ()
    compiled: bool = False
    beyond: str = ""
    container: str | None = None
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
