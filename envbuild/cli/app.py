"""The table of commands, each imported only when it is called."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from envbuild.cli import show
from envbuild.errors import EnvbuildError, InputError, MachineError
from envbuild.io import interrupts


class Entry(NamedTuple):
    """One command: its name (and module ``envbuild.cli.NAME``) and its one line of help."""

    name: str
    help: str


COMMANDS = (
    Entry(
        "plan", "Choose toolkit, base image, compiler, driver and builds for a GPU, and say why."
    ),
    Entry("detect", "Show what this machine is; record it with --json."),
    Entry("doctor", "Name what is wrong with a machine, an image or a log, and what mends it."),
    Entry("setup", "Lead from this machine to one that the plan runs on, with a check a step."),
    Entry("lock", "Fix every byte a build takes from outside, by hash."),
    Entry("render", "Write the folder that builds the image without envbuild."),
    Entry("build", "Lock, render and build the image with the engine that is here."),
    Entry("certify", "Prove an image: toolchain, and on the GPU that its kernels run right."),
    Entry(
        "verify", "Check an image's certificates, without a GPU: who signed, and that they add up."
    ),
    Entry("run", "Start an image with the right GPU flags."),
    Entry("up", "Walk all of it: plan, lock, build, certify; resumes where it stopped."),
    Entry("matrix", "Ask the facts, check them against the vendors' packages, find new ones."),
    Entry("init", "Write envbuild.yaml: what a project asks for, from flags or this machine."),
)


class LazyGroup(TyperGroup):
    """Imports a command's module when it is called, not before."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002, ANN401
        """Names in the order of the table."""
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002, ANN401
        """The command, built from its module."""
        # Typer's own suggestion list reads self.commands, which stays empty here.
        self.commands = dict.fromkeys(self.list_commands(None))  # type: ignore[assignment]
        if all(entry.name != cmd_name for entry in COMMANDS):
            return None
        module = importlib.import_module(f"envbuild.cli.{cmd_name}")
        if group := getattr(module, "group", None):
            return typer.main.get_command(group)
        one = typer.Typer(add_completion=False, rich_markup_mode=None)
        one.command(cmd_name, cls=getattr(module, "Command", None))(module.command)
        return typer.main.get_command(one)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002, ANN401
        """The table itself: no module is imported for ``--help``."""
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.help) for entry in COMMANDS])


def _version(wanted: bool) -> None:
    if wanted:
        from envbuild import __version__
        from envbuild.matrix.load import load

        show.result(f"envbuild {__version__}, matrices of {load().date}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Version and matrix date."
    ),
) -> None:
    """From a compute capability to a certified CUDA image."""


def build_app() -> typer.Typer:
    """The application object; building it imports no command."""
    app = typer.Typer(
        cls=LazyGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    return app


def run(argv: Sequence[str]) -> int:
    """Run one command line and give its exit code; no traceback unless ``--debug``."""
    with interrupts.watch(), show.one_run():
        return _run(argv)


def _run(argv: Sequence[str]) -> int:
    own = argv[: argv.index("--")] if "--" in argv else argv
    debug = "--debug" in own
    show.open_streams()
    try:
        command = typer.main.get_command(build_app())
        result = command.main(args=list(argv), prog_name="envbuild", standalone_mode=False)
        show.put("", sys.stdout)
    except (KeyboardInterrupt, typer.Abort):
        result = 130
    except SystemExit:
        # Typer met a reader that went away, while it wrote its help; results are `show.put`'s.
        return 0
    except typer.Exit as e:
        return e.exit_code
    except Exception as e:
        fault = _unwritten(e) or _fault(e)
        if debug and not isinstance(fault, _Usage):
            raise
        if fault.what:
            show.error(fault)
        return fault.exit_code
    # Typer makes an exit code of a KeyboardInterrupt; a command may give the same code itself.
    if result == 130 and interrupts.came():
        show.note("interrupted: nothing half-written was kept; the same command resumes")
    return result if isinstance(result, int) else 0


class _Usage(InputError):
    """What typer says of a command line; there is nothing to trace."""


def _unwritten(e: Exception) -> MachineError | None:
    """The error of a help text that typer could not write; what it left behind is given up."""
    try:
        show.put("", sys.stdout)
    except MachineError as lost:
        return lost if isinstance(e, OSError) else None
    return None


def _adrift() -> bool:
    """Whether the current folder was removed: a relative path then leads nowhere."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _fault(e: Exception) -> EnvbuildError:
    """What people are told of an exception."""
    if isinstance(e, OSError | MachineError) and _adrift():
        what = "the folder that this was started in is gone"
        return MachineError(what, why=str(getattr(e, "what", e)), fix="cd to one that is there")
    if isinstance(e, EnvbuildError):
        return e
    if isinstance(e, OSError):
        # What no stage foresaw of files and folders is still this machine's, not a bug of ours.
        what = ": ".join(str(part) for part in (e.filename, e.strerror or e) if part)
        fix = "check permissions and free space; --debug shows where it happened"
        return MachineError(what, fix=fix)
    if (usage := getattr(e, "format_message", None)) is not None:
        return _Usage(str(usage()), fix="envbuild COMMAND --help lists the flags")
    what = f"this is a bug in envbuild: {type(e).__name__}: {e}"
    return EnvbuildError(what, fix="run it again with --debug and report what it prints")
