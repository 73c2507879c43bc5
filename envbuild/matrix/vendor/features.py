"""Hardware features and the capabilities that have them, by what ptxas assembles."""

from collections.abc import Mapping, Sequence

from envbuild.matrix.model import Capability, Feature
from envbuild.matrix.vendor.compiler import ARCH, projects
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import Measurer, Part, Unmeasurable, Unreachable
from envbuild.matrix.vendor.probes import PROBED, PROBES, ProbeFacts

_MAJORS = (11, 12, 13)  # each has targets that the next one dropped or renamed
_SPECIFIC = "arch-specific"  # told by the target's name: 90a, 120f


def _parts(row: Feature | Capability, index: Index) -> list[Part]:  # noqa: ARG001
    """The newest ptxas of each major."""
    newest = [index.releases(projects(major)[0], ARCH)[-1:] for major in _MAJORS]
    found = [Part(wheel.file, PROBED) for wheels in newest for wheel in wheels]
    if not found:
        what = f"the index lists no Linux {ARCH} wheel with a ptxas"
        raise Unreachable(what)
    return found


def _have(feature: str, facts: Sequence[ProbeFacts]) -> set[str]:
    if feature == _SPECIFIC:
        return {target for one in facts for target in one.targets if not target.isdigit()}
    probed = (entry for one in facts for entry in one.features if entry.feature == feature)
    return {target for entry in probed for target in entry.targets}


def _feature(row: Feature, facts: Sequence[ProbeFacts]) -> Mapping[str, object]:
    if row.name != _SPECIFIC and row.name not in PROBES:
        what = f"no instruction is known that shows {row.name}"
        raise Unmeasurable(what)
    return {"targets": tuple(_have(row.name, facts))}


def _capability(row: Capability, facts: Sequence[ProbeFacts]) -> Mapping[str, object]:
    """The features of the plain target.

    Raises:
        Unmeasurable: no ptxas on the index knows the target.
    """
    if not any(row.target in one.targets for one in facts):
        what = f"no ptxas on the index assembles sm_{row.target}"
        raise Unmeasurable(what)
    return {"features": tuple(name for name in PROBES if row.target in _have(name, facts))}


FEATURES = Measurer(
    table="features", group="toolkits", fields=("targets",), parts=_parts, measured=_feature
)
CAPABILITIES = Measurer(
    table="capabilities",
    group="toolkits",
    fields=("features",),
    parts=_parts,
    measured=_capability,
)
