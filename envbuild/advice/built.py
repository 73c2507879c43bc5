"""What the log of a failed image build says, where its engine has no words of its own for it."""

import io

from envbuild.advice.doctor import diagnose
from envbuild.advice.scene import Scene
from envbuild.advice.signatures import Signatures
from envbuild.matrix.load import load_errors
from envbuild.values.diagnosis import Seen
from envbuild.values.finding import Finding

_BUILD = "image-build"
"""The row that marks the log of a build."""


def explained(log: str) -> Finding | None:
    """The first fault that a known text of the log tells, and what mends it.

    The machine is left out: a build sees its image alone.
    """
    found = Signatures(load_errors().errors).scan(io.BytesIO(log.encode("utf-8", "replace")), "log")
    mark = Seen(id=_BUILD, log="log", line=1, text="")
    findings = diagnose(Scene(seen=(*found, mark)))
    return next((f for f in findings if f.severity == "error" and f.steps), None)
