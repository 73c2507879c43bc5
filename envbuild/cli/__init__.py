"""The command line: load a value, call one stage, show the result."""

import gc
import sys
from collections.abc import Sequence
from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the ``envbuild`` program; ends the process with the exit code."""
    # What imports and tables allocate lives as long as the command: looking for garbage in it is
    # a twentieth of a short command's time. A long one still gets there.
    gc.set_threshold(1_000_000)
    from envbuild.cli.app import run

    code = run(sys.argv[1:] if argv is None else list(argv))
    # The interpreter's last search for garbage would take as long as the plan itself.
    gc.freeze()
    sys.exit(code)
