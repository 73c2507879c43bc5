"""What is wrong with a machine or an image, and what to do first."""

from typing import Literal

from envbuild.values.codec import Pairs, Value
from envbuild.values.finding import Finding
from envbuild.values.host import Host
from envbuild.values.image import ImageFacts
from envbuild.values.plan import MatrixId


class Seen(Value):
    """A known text in a log.

    Attributes:
        id: its row of `errors.yaml`.
        log: the log as the user calls it.
        line: where it stood first, from 1.
        text: that line, without control characters, cut to what is around the text.
        words: what stood at the places that the row names, as in the first line.
        count: how many lines say it; counting ends at 1,000.
    """

    id: str
    log: str
    line: int
    text: str
    words: Pairs = Pairs()
    count: int = 1


class Diagnosis(Value):
    """The answer of ``envbuild doctor``.

    Attributes:
        findings: what to do first stands first; error = it does not work, warn = it can fail,
            watch = it will matter later, info = harmless, or explained.
        seen: the known texts of the logs, in the order of their rows.
    """

    schema: Literal["envbuild/diagnosis/1"] = "envbuild/diagnosis/1"
    findings: tuple[Finding, ...] = ()
    seen: tuple[Seen, ...] = ()
    matrix: MatrixId

    @property
    def exit(self) -> int:
        """4 where something does not work, else 0."""
        return 4 if any(f.severity == "error" for f in self.findings) else 0


class Bundle(Value):
    """What a helper needs to see, without what tells whose machine it is.

    Attributes:
        tool: version of envbuild.
        host: the machine, names, uuids and mirrors hidden.
        image: the image that was looked at.
        diagnosis: what was found; of logs only the known lines are in it.
    """

    schema: Literal["envbuild/bundle/1"] = "envbuild/bundle/1"
    tool: str
    host: Host
    image: ImageFacts | None = None
    diagnosis: Diagnosis
