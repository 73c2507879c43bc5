"""What the rows say that releases of engines can do, and which release a machine has."""

from envbuild.host.access import release
from envbuild.matrix.model.reference import EngineFeature, Reference
from envbuild.planner.ranges import numbers

__all__ = ["below", "feature", "release"]


def feature(rows: Reference, engine: str, name: str) -> EngineFeature:
    """What a row of `engines.yaml` says of an engine; without the row, that nothing is known."""
    found = (r for r in rows.engines if (r.engine, r.feature) == (engine, name))
    none = EngineFeature(engine=engine, feature=name, says=engine, source=(), status="derived")
    return next(found, none)


def below(version: str | None, since: str | None) -> bool:
    """A release is older than the first one with a feature; False where either is not known."""
    return version is not None and since is not None and numbers(version) < numbers(since)
