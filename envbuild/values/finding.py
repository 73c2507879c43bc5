"""What a rule says, and the one form of a fix."""

from typing import Literal

from envbuild.values.codec import Value

Severity = Literal["info", "watch", "warn", "error"]
Outcome = Literal["ok", "warn", "refuse"]


class Step(Value):
    """One thing to do: a fix, a line of a guide, or a command of a dry run.

    Attributes:
        why: the reason, one sentence.
        argv: the command, unquoted, one entry an argument; empty when ``text`` says what to do.
        text: what to do where no command does it (another machine, a menu, a BIOS).
        check: how to see that it worked.
    """

    why: str
    argv: tuple[str, ...] = ()
    text: str = ""
    check: str = ""


class Finding(Value):
    """One statement of one rule.

    Attributes:
        id: a slug, stable across releases.
        severity: info explains, watch will matter later, warn = can fail on a machine that fits
            the request, error = no plan.
        says: the fact, one sentence.
        why: how it bears on this request.
        steps: what to do, in order.
        source: matrix rows and their status, ``table/key status``.
    """

    id: str
    severity: Severity
    says: str
    why: str = ""
    steps: tuple[Step, ...] = ()
    source: str = ""


def outcome(findings: tuple[Finding, ...]) -> Outcome:
    """A plan's outcome is its worst finding."""
    severities = {f.severity for f in findings}
    if "error" in severities:
        return "refuse"
    return "warn" if "warn" in severities else "ok"
