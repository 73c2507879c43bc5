"""``envbuild plan``: a request into a plan, and the plan shown."""

from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import OutputFlags, RequestFlags, expand
from envbuild.errors import InputError, MachineError
from envbuild.values.host import Host
from envbuild.values.plan import Fleet, Plan
from envbuild.values.request import Request

if TYPE_CHECKING:
    from envbuild.planner.target import Target


@expand
def command(
    request: RequestFlags,
    output: OutputFlags,
    source: Annotated[
        str | None, typer.Argument(help="Plan file, context folder, or envbuild.yaml.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Every toolkit with the finding that decided.")
    ] = False,
    out: Annotated[
        str | None, typer.Option("-o", "--output", help="Write the plan (JSON) to this file.")
    ] = None,
) -> int:
    """Choose toolkit, base image, compiler, driver and builds for a GPU, and say why."""
    if source is None:
        made = make(request)
    else:
        from envbuild.cli.source import made_from

        made = made_from(source, request)
    if out is not None:
        from envbuild.io import files
        from envbuild.values.codec import dump

        files.write(out, dump(made))
    if output.json:
        show.json(made)
    elif out is None or not output.quiet:
        from envbuild.cli.plan_table import lines

        for line in lines(made, explain=explain):
            show.result(line)
    return 3 if made.outcome == "refuse" else 0


def make(flags: RequestFlags, from_file: frozenset[str] = frozenset()) -> Plan | Fleet:
    """The plan for these flags, a refusal too.

    Args:
        flags: those of the command line and of a file together.
        from_file: the fields that a file gave.

    Raises:
        InputError: a flag that cannot be used.
        MachineError: nothing was declared and this machine has no GPU.
    """
    from envbuild.matrix.load import load
    from envbuild.planner.plan import plan

    return plan(target_of(flags, from_file), load())


def target_of(flags: RequestFlags, from_file: frozenset[str] = frozenset()) -> "Target":
    """The target: declared where a cc or GPU was given, else from a record or this machine."""
    from envbuild.matrix.load import load
    from envbuild.planner.resolve import resolve

    request = flags.request()
    if flags.cc is not None and not request.cc:
        what = "--cc is given and empty"
        raise InputError(what, fix="give one, for example --cc 6.1, or leave --cc out to detect")
    host = _host(flags, request)
    target = resolve(request, host, load(), from_file=from_file)
    if not target.cards and not target.every_cc and not (request.cuda or request.packages):
        where = "the recorded host" if flags.host is not None else "this machine"
        what = f"{where} has no NVIDIA GPU whose compute capability can be read"
        raise MachineError(what, fix="say for which GPU: envbuild plan --cc 9.0")
    return target


def _host(flags: RequestFlags, request: Request) -> Host | None:
    if flags.host is not None:
        from envbuild.host.load import load_host

        return load_host(flags.host)
    if request.cc or request.gpus:
        return None
    from envbuild.host.detect import this_machine

    return this_machine()
