"""Which tables there are: their row type, and the fields that name a row."""

from dataclasses import dataclass

from envbuild.matrix import model
from envbuild.matrix.model import errors, reference


@dataclass(frozen=True)
class Table:
    """One table: ``row`` is its struct, ``key`` the fields whose values name a row."""

    row: type
    key: tuple[str, ...]


# A table's name is the top-level key in YAML and the field in Matrices, Names or Reference.
TABLES: dict[str, Table] = {
    "sources": Table(model.Source, ("id",)),
    "toolkits": Table(model.Toolkit, ("cuda",)),
    "glibc_clashes": Table(model.GlibcClash, ("glibc_from", "cuda_below")),
    "compiler_floors": Table(model.CompilerFloor, ("cuda_from",)),
    "floors": Table(model.DriverFloor, ("major",)),
    "branches": Table(model.Branch, ("branch",)),
    "capabilities": Table(model.Capability, ("cc",)),
    "features": Table(model.Feature, ("name",)),
    "images": Table(model.ImageTag, ("cuda", "os")),
    "oses": Table(model.Os, ("id",)),
    "distro": Table(model.DistroToolkit, ("os", "cuda")),
    "wheels": Table(model.WheelToolkit, ("release",)),
    "torch": Table(model.TorchBuild, ("torch", "index", "arch")),
    "torch_indexes": Table(model.TorchIndex, ("index",)),
    "packages": Table(model.PackageRule, ("name", "cuda_major", "requirement")),
    "jetson": Table(model.JetsonRow, ("l4t",)),
    "triton": Table(model.TritonBuild, ("triton",)),
    "cudnn": Table(model.CudnnFloor, ("cudnn_from",)),
    "repositories": Table(model.Repository, ("kind", "name")),
    "torch_pairs": Table(model.TorchPair, ("torch",)),
    "injections": Table(model.Injection, ("access", "platform", "engine_since", "toolkit_since")),
    "situations": Table(model.Situation, ("what",)),
    "holes": Table(model.Hole, ("cve",)),
    "products": Table(model.Product, ("name",)),
    "dies": Table(model.Die, ("die",)),
    "engines": Table(reference.EngineFeature, ("engine", "feature")),
    "container_packages": Table(reference.ContainerPackages, ("manager", "platform", "l4t")),
    "tools": Table(reference.Tool, ("tool", "since", "platform")),
    "limits": Table(reference.Limit, ("cc",)),
    "rates": Table(reference.Rate, ("cc", "unit", "dtype", "accumulate")),
    "digests": Table(reference.ImageDigest, ("tag", "arch")),
    "ngc": Table(reference.NgcImage, ("tag",)),
    "driver_packages": Table(reference.DriverPackage, ("os", "origin", "branch_min")),
    "wsl": Table(reference.WslNeed, ("what",)),
    "engine_packages": Table(reference.EnginePackages, ("engine", "name")),
    "rpm_repositories": Table(reference.RpmRepository, ("name",)),
    "errors": Table(errors.ErrorText, ("id",)),
}

# What a plan does not always need is compiled into files of its own.
NAMES = ("products", "dies")
"""The tables that only look-ups by name need."""

REFERENCE = (
    *("sources", "engines", "container_packages", "engine_packages", "tools", "limits", "rates"),
    *("digests", "ngc", "driver_packages", "wsl", "rpm_repositories"),
)
"""The tables that only questions and guides need."""

ERRORS = ("errors",)
"""The table that only the doctor needs."""
