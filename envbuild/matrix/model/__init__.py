"""The rows of the matrices. A fact is a row; a row without source and status does not load.

Versions are text as the vendor writes them. Targets are written without ``sm_``: ``61``,
``90a``, ``120f``. ``cc`` is always ``major.minor``.
"""

from envbuild.matrix.model.access import Hole, Injection, Situation
from envbuild.matrix.model.base import Arch, Row, Source, Status
from envbuild.matrix.model.bases import (
    ImageTag,
    JetsonRow,
    Os,
)
from envbuild.matrix.model.drivers import (
    Branch,
    DriverFloor,
)
from envbuild.matrix.model.gpus import (
    Capability,
    Die,
    Feature,
    Product,
)
from envbuild.matrix.model.packages import (
    CudnnFloor,
    PackageRule,
    TorchBuild,
    TorchIndex,
    TorchPair,
    TritonBuild,
)
from envbuild.matrix.model.toolkits import (
    CompilerFloor,
    DistroToolkit,
    GlibcClash,
    Repository,
    Toolkit,
    WheelToolkit,
)
from envbuild.values.codec import Value

__all__ = [
    "Arch",
    "Branch",
    "Capability",
    "CompilerFloor",
    "CudnnFloor",
    "Die",
    "DistroToolkit",
    "DriverFloor",
    "Feature",
    "GlibcClash",
    "Hole",
    "ImageTag",
    "Injection",
    "JetsonRow",
    "Matrices",
    "Names",
    "Os",
    "PackageRule",
    "Product",
    "Repository",
    "Row",
    "Situation",
    "Source",
    "Status",
    "Toolkit",
    "TorchBuild",
    "TorchIndex",
    "TorchPair",
    "TritonBuild",
    "WheelToolkit",
]


class Matrices(Value):
    """All rows, as compiled. ``date`` and ``digest`` go into every plan."""

    date: str
    digest: str
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
    torch_pairs: tuple[TorchPair, ...] = ()
    injections: tuple[Injection, ...] = ()
    situations: tuple[Situation, ...] = ()
    compiler_floors: tuple[CompilerFloor, ...] = ()
    holes: tuple[Hole, ...] = ()


class Names(Value):
    """The rows for look-ups by product name and PCI id; apart, because few commands need them."""

    products: tuple[Product, ...]
    dies: tuple[Die, ...]
