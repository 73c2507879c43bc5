"""The rules of ``doctor``: small pure functions from a scene to advice, one module a family."""

from collections.abc import Callable, Iterator

from envbuild.advice.scene import Scene
from envbuild.values.codec import Value
from envbuild.values.finding import Finding, Severity, Step


class Advice(Value):
    """One finding of one rule, and what it makes clear.

    Attributes:
        explains: ids of texts (rows of `errors.yaml`) and of other findings that follow from this
            one: they are told as its consequence, not as faults of their own.
        line: of a log, where the finding is about one.
    """

    finding: Finding
    explains: tuple[str, ...] = ()
    line: str = ""


Rule = Callable[[Scene], Iterator[Advice]]


def advice(
    id: str,
    severity: Severity,
    says: str,
    *,
    why: str = "",
    steps: tuple[Step, ...] = (),
    source: str = "",
    explains: tuple[str, ...] = (),
) -> Advice:
    """One advice."""
    finding = Finding(
        id=id, severity=severity, says=says, why=why.strip(), steps=steps, source=source
    )
    return Advice(finding=finding, explains=explains)
