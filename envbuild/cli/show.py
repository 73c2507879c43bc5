"""What people see: results on stdout, everything else on stderr."""

import os
import sys
from typing import TextIO

from envbuild.errors import EnvbuildError
from envbuild.values.finding import Step

_CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
_quiet = False


def configure(*, quiet: bool) -> None:
    """Silence notes (``-q``); errors are always shown."""
    global _quiet  # noqa: PLW0603
    _quiet = quiet


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    """The text in a colour, if ``stream`` is a terminal and NO_COLOR is not set."""
    stream = stream or sys.stdout
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def clean(text: str) -> str:
    """Foreign text without the control characters that could move a terminal's cursor."""
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)


def result(text: str) -> None:
    """A result, on stdout."""
    print(text)


def step(one: Step) -> None:
    """A step of a dry run: the command as a shell reads it, with its reason as a comment."""
    import shlex

    print(f"# {clean(one.why)}")
    print(shlex.join(one.argv) if one.argv else f"# {clean(one.text)}")


def json(value: object) -> None:
    """A value as JSON, on stdout."""
    from envbuild.values.codec import dump

    sys.stdout.flush()
    sys.stdout.buffer.write(dump(value))
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """Progress or a remark, on stderr; silent with ``-q``."""
    if not _quiet:
        print(clean(text), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """A warning, on stderr."""
    print(paint("warning ", "yellow", sys.stderr) + clean(text), file=sys.stderr, flush=True)


def error(e: EnvbuildError) -> None:
    """An error: what, why, what to do."""
    print(paint("error ", "red", sys.stderr) + clean(str(e)), file=sys.stderr, flush=True)
