"""Which torchvision and torchaudio go with a torch, out of the METADATA of all their releases."""

from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from envbuild.matrix.model import Matrices, Row, TorchPair
from envbuild.matrix.vendor import metadata
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import Measurer, Part
from envbuild.matrix.vendor.wheel import WHEEL, WheelFacts

_PROJECTS = ("torchvision", "torchaudio")


def _parts(_row: TorchPair, index: Index) -> list[Part]:
    """Every release of both: nothing but their METADATA tells which torch they are for."""
    releases = {
        (project, wheel.version.public)
        for project in _PROJECTS
        for wheel in index.releases(project)
    }
    return [Part(index.one(project, version), WHEEL) for project, version in sorted(releases)]


def _measured(row: TorchPair, facts: Sequence[WheelFacts]) -> Mapping[str, object]:
    return {project: _newest(project, row.torch, facts) for project in _PROJECTS}


def _newest(project: str, torch: str, facts: Sequence[WheelFacts]) -> str | None:
    """The newest release that asks for this torch by a range that holds it.

    One that asks for no torch at all (torchaudio 2.11.0) says nothing about it.
    """
    fitting = [
        Version(one.version)
        for one in facts
        if one.name == project
        and (asked := metadata.asks(one, "torch", "x86_64"))
        and asked.contains(torch)
    ]
    return max(fitting).public if fitting else None


def _unknown(matrices: Matrices, index: Index) -> Iterable[Row]:
    known = {row.torch for row in matrices.torch_pairs}
    oldest = min(map(Version, known), default=Version("0"))
    for torch in dict.fromkeys(wheel.version.public for wheel in index.releases("torch")):
        if torch not in known and Version(torch) > oldest:
            yield TorchPair(torch=torch, source=(), status="measured")


PAIRS = Measurer(
    table="torch_pairs",
    group="frameworks",
    fields=_PROJECTS,
    parts=_parts,
    measured=_measured,
    unknown=_unknown,
)
