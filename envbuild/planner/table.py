"""All places and builds of the matrices, laid out once in the documented order of preference."""

from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any, Literal

import msgspec

from envbuild.matrix.model import (
    Arch,
    Capability,
    DistroToolkit,
    Feature,
    ImageTag,
    JetsonRow,
    Matrices,
    Os,
    PackageRule,
    Repository,
    Row,
    Toolkit,
    TorchBuild,
    TritonBuild,
    WheelToolkit,
)
from envbuild.planner.ranges import minor, numbers
from envbuild.values.request import Source

SOURCES: tuple[Source, ...] = ("image", "wheels", "distro", "apt", "redist", "conda")
"""Order of preference: what a registry serves ready, then what builds without a network host."""

PROVEN: tuple[Source, ...] = ("image", "wheels", "distro")
"""Sources whose builds were run against what serves them, and not against stand-ins alone."""

_KEEP = 60_000  # results; a process that sweeps all requests must not grow without end

_TABLE_OF: dict[str, str] = {
    "Toolkit": "toolkits",
    "ImageTag": "images",
    "WheelToolkit": "wheels",
    "DistroToolkit": "distro",
    "Repository": "repositories",
    "Injection": "injections",
    "Situation": "situations",
    "Hole": "holes",
    "TorchBuild": "torch",
    "TorchPair": "torch_pairs",
    "Capability": "capabilities",
    "Os": "oses",
    "Branch": "branches",
    "DriverFloor": "floors",
    "GlibcClash": "glibc_clashes",
    "CompilerFloor": "compiler_floors",
    "Feature": "features",
    "PackageRule": "packages",
    "JetsonRow": "jetson",
    "TritonBuild": "triton",
    "CudnnFloor": "cudnn",
    "Product": "products",
    "EngineFeature": "engines",
    "ContainerPackages": "container_packages",
    "WslNeed": "wsl",
}


def cite(row: Row, key: str) -> str:
    """The source line of a finding: ``table/key status``."""
    return f"{_TABLE_OF[type(row).__name__]}/{key} {row.status}"


class Place(msgspec.Struct, frozen=True):
    """One toolkit from one source on one operating system.

    Attributes:
        cuda: minor release, ``12.9``; ``release`` is as exact as the source is known.
        os: None = this machine (``where: host``).
        kind: ``compiler`` has nvcc, ``framework`` is a plain OS to which wheels bring CUDA.
        row: what proves it; ``key`` names that row.
        own: packed by the distribution, which chose a compiler and where the headers lie.
    """

    cuda: str
    release: str
    source: Source
    os: str | None
    kind: Literal["compiler", "framework"]
    arches: tuple[Arch, ...]
    row: Row
    key: str
    own: bool = False

    @property
    def cite(self) -> str:
        """The source line of a finding about this place."""
        return cite(self.row, self.key)


class Table:
    """Places, builds and look-ups of one set of matrices, and what rules said about them.

    A mask is an integer; bit ``i`` stands for ``places[i]`` (or ``builds[i]``), the lowest bit is
    the most preferred.
    """

    def __init__(self, matrices: Matrices) -> None:
        self.matrices = matrices
        self.toolkits = {
            t.cuda: t for t in sorted(matrices.toolkits, key=lambda t: numbers(t.cuda))
        }
        self.oses = {o.id: o for o in matrices.oses}
        self.capabilities: dict[str, Capability] = {c.cc: c for c in matrices.capabilities}
        self.features: dict[str, Feature] = {
            name: f for f in matrices.features for name in (f.name, *f.aliases)
        }
        self.kernels = tuple(
            f.name for f in matrices.features if not any(t.isdigit() for t in f.targets)
        )
        self.packages: dict[str, tuple[PackageRule, ...]] = _packages(matrices.packages)
        self.compiled = tuple(
            name for name, rows in self.packages.items() if any(row.compiled for row in rows)
        )
        self.triton: tuple[TritonBuild, ...] = tuple(
            sorted(matrices.triton, key=lambda t: numbers(t.triton), reverse=True)
        )
        self.jetson: dict[str, JetsonRow] = {j.l4t: j for j in matrices.jetson}
        self.places = _places(matrices, self.oses)
        self.builds = tuple(
            sorted(
                (b for b in matrices.torch if b.cuda is not None),
                key=lambda b: (numbers(b.torch), b.index == "pypi", numbers(b.cuda or "0")),
                reverse=True,
            )
        )
        everywhere = {p.cuda for p in self.places if not isinstance(p.row, JetsonRow)}
        self.served = tuple(cuda for cuda in self.toolkits if cuda in everywhere)
        self.all_places = (1 << len(self.places)) - 1
        self.all_builds = (1 << len(self.builds)) - 1
        self._groups: dict[tuple[tuple[str, ...], int], dict[object, int]] = {}
        self.of_cuda = self.groups(("cuda",))
        self.of_os = self.groups(("os",))
        self.of_source = self.groups(("source",))
        self.of_kind = self.groups(("kind",))
        self.memo: dict[object, object] = {}
        # Drivers that no rule tells apart, each with the one that is judged: filled for a fleet.
        self.alike: dict[str | None, str] = {}

    @cached_property
    def builds_of(self) -> dict[str, int]:
        """Masks of the framework builds of each toolkit."""
        found: dict[str, int] = {}
        for i, build in enumerate(self.builds):
            found[build.cuda or ""] = found.get(build.cuda or "", 0) | 1 << i
        return found

    def capability(self, cc: str) -> Capability:
        """The row of one compute capability that is known to exist."""
        return self.capabilities[cc]

    def groups(self, fields: tuple[str, ...], scope: int | None = None) -> dict[Any, int]:
        """Masks of places that are equal in these fields; the key is the field's value, or all.

        Args:
            fields: names of fields of `Place`.
            scope: only these places, None = all.
        """
        scope = self.all_places if scope is None else scope
        known = self._groups.get((fields, scope))
        if known is None:
            known = self._groups[fields, scope] = {}
            start = 0
            # Neighbours are alike, so that most masks come as a few runs of bits.
            for value, run in groupby(self.places, attrgetter(*fields)):
                size = sum(1 for _ in run)
                mask = ((1 << size) - 1) << start & scope
                start += size
                if mask:
                    known[value] = known.get(value, 0) | mask
        return known

    def bases(self, cuda: str, source: str) -> list[str]:
        """Operating systems on which a source has a toolkit, preferred first."""
        mask = self.of_cuda.get(cuda, 0) & self.of_source.get(source, 0)
        left = [self.places[i] for i in bits(mask)]
        # L4T's images are for Jetsons alone, which take no other.
        return list(dict.fromkeys(p.os for p in left if p.os and not isinstance(p.row, JetsonRow)))

    def os_of(self, place: Place) -> Os | None:
        """The row of the place's operating system; None = this machine, or no row."""
        return self.oses.get(place.os) if place.os else None


def toolkit_of(table: Table, cuda: str) -> Toolkit | None:
    """The row of a toolkit's minor release; Jetson lines may name one that has none."""
    return table.toolkits.get(cuda)


_TABLES: dict[str, Table] = {}


def table_of(matrices: Matrices) -> Table:
    """The table of these matrices, laid out once; their digest names them."""
    known = _TABLES.get(matrices.digest)
    if known is None or known.matrices is not matrices:
        if len(_TABLES) > 8:
            _TABLES.clear()
        known = _TABLES[matrices.digest] = Table(matrices)
    return known


def remember(table: Table, key: object, made: object) -> None:
    """Keep a result with its table."""
    if len(table.memo) >= _KEEP:
        table.memo.clear()
    table.memo[key] = made


def _packages(rules: Iterable[PackageRule]) -> dict[str, tuple[PackageRule, ...]]:
    found: dict[str, tuple[PackageRule, ...]] = {}
    for rule in rules:
        # People ask for the library (numba) whose CUDA part is another package (numba-cuda), or
        # for what is installed (cupy-cuda12x), which settles the CUDA major.
        bare = rule.requirement.partition("<")[0]
        for name in dict.fromkeys((rule.name, *rule.extra, bare, bare.partition("[")[0])):
            found[name] = (*found.get(name, ()), rule)
    return found


def lowest(mask: int) -> int:
    """Index of the lowest set bit: the most preferred row."""
    return (mask & -mask).bit_length() - 1


def bits(mask: int) -> list[int]:
    """Indexes of all set bits, preferred first."""
    text = f"{mask:b}"[::-1]
    found = []
    at = text.find("1")
    while at >= 0:
        found.append(at)
        at = text.find("1", at + 1)
    return found


def _places(matrices: Matrices, oses: dict[str, Os]) -> tuple[Place, ...]:
    plain = [o for o in matrices.oses if o.image is not None]
    found = [
        *(_image(tag) for tag in matrices.images),
        *(_distro(row, where) for row in matrices.distro for where in (row.os, None)),
        *_wheels(matrices.wheels, plain),
        *_repositories(matrices, plain),
        *_frameworks(matrices, plain),
        *(place for row in matrices.jetson for place in _jetson(row)),
    ]
    by_source = {source: i for i, source in enumerate(SOURCES)}
    rank = {o.id: i for i, o in enumerate(sorted(oses.values(), key=_os_order))}

    def order(place: Place) -> tuple[object, ...]:
        return (
            _newest_first(place.cuda),
            by_source[place.source],
            rank.get(place.os or "", len(rank)),
            _newest_first(place.release),
            place.os or "",
        )

    return tuple(sorted(found, key=order))


@lru_cache(maxsize=256)
def _newest_first(version: str) -> tuple[int, ...]:
    return tuple(-n for n in numbers(version))


def _os_order(os: Os) -> tuple[bool, bool, tuple[int, ...]]:
    """Systems that packages are locked for, long-term releases, the longest support first."""
    ends = tuple(-int(part) for part in (os.ends or "0000-00").split("-"))
    return (os.family != "apt", not os.lts, ends)


def _image(tag: ImageTag) -> Place:
    return Place(
        minor(tag.cuda), tag.cuda, "image", tag.os, "compiler", tag.arches, tag,
        f"{tag.cuda}-{tag.os}",
    )  # fmt: skip


def _jetson(row: JetsonRow) -> Iterable[Place]:
    """L4T's own CUDA: on the machine, and in images made for that L4T."""
    if row.platform != "jetson-l4t":
        return
    yield Place(row.cuda, row.cuda, "apt", None, "compiler", ("aarch64",), row, row.l4t, own=True)
    if row.image is not None:
        yield Place(row.cuda, row.cuda, "image", "l4t", "compiler", ("aarch64",), row, row.l4t)


def _distro(row: DistroToolkit, where: str | None) -> Place:
    return Place(
        row.cuda, row.release, "distro", where, "compiler", row.arches, row,
        f"{row.os}-{row.cuda}", own=True,
    )  # fmt: skip


def _wheels(rows: tuple[WheelToolkit, ...], plain: list[Os]) -> Iterable[Place]:
    for row in rows:
        # Wheels before 13.0 hold an assembler and NVRTC, but no nvcc: nothing to plan for.
        for where in (*(o.id for o in plain), None) if row.nvcc else ():
            yield Place(
                row.cuda, row.release, "wheels", where, "compiler", row.arches, row, row.release
            )


def _repositories(matrices: Matrices, plain: list[Os]) -> Iterable[Place]:
    newest = {w.cuda: ".".join(w.release.split(".")[:3]) for w in reversed(matrices.wheels)}
    for tag in sorted(matrices.images, key=lambda t: numbers(t.cuda)):
        newest[minor(tag.cuda)] = tag.cuda
    for row in matrices.repositories:
        # On this machine a repository for one OS serves it, if it is that OS: see rules/platforms.
        image_oses = [o.id for o in plain if o.id in row.oses or not row.oses]
        wheres = [None] if row.platform else [*image_oses, None]
        listed = {minor(r): r for r in sorted(row.releases, key=numbers)}
        for toolkit in matrices.toolkits:
            if _within(toolkit.cuda, row):
                release = listed.get(toolkit.cuda) or newest.get(toolkit.cuda, toolkit.cuda)
                for where in wheres:
                    yield Place(
                        toolkit.cuda, release, row.kind, where, "compiler", row.arches, row,
                        f"{row.kind}-{row.name}",
                    )  # fmt: skip


def _within(cuda: str, row: Repository) -> bool:
    at = numbers(cuda)
    return numbers(row.cuda_min or "0") <= at and (
        row.cuda_max is None or at <= numbers(row.cuda_max)
    )


def _frameworks(matrices: Matrices, plain: list[Os]) -> Iterable[Place]:
    first: dict[str, TorchBuild] = {}
    for build in matrices.torch:
        if build.cuda is not None:
            first.setdefault(build.cuda, build)
    for cuda, build in first.items():
        for where in (*(o.id for o in plain), None):
            yield Place(
                cuda, cuda, "wheels", where, "framework", ("x86_64", "aarch64"), build,
                f"{build.torch}-{build.index}",
            )  # fmt: skip
