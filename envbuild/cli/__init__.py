"""The command line: load a value, call one stage, show the result."""

import sys
from collections.abc import Sequence
from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the ``envbuild`` program; ends the process with the exit code."""
    from envbuild.cli.app import run

    sys.exit(run(sys.argv[1:] if argv is None else list(argv)))
