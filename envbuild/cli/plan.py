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
    *,
    source: Annotated[
        str | None, typer.Argument(help="Plan file, context folder, or envbuild.yaml.")
    ] = None,
    fleet: Annotated[
        str | None, typer.Option("--fleet", help="Machines to cover: a YAML list of nodes.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A node that cannot exist is a refusal (exit 3).")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Every toolkit with the finding that decided.")
    ] = False,
    out: Annotated[
        str | None, typer.Option("-o", "--output", help="Write the plan (JSON) to this file.")
    ] = None,
) -> int:
    """Choose toolkit, base image, compiler, driver and builds for a GPU, and say why."""
    if fleet is not None:
        made: Plan | Fleet = _of_fleet(fleet, source, request, strict=strict)
    elif strict:
        what = "--strict says what becomes of the nodes of a fleet"
        raise InputError(what, fix="give --fleet hosts.yaml, too")
    elif source is None:
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

        for line in lines(made, explain=explain, host=request.host):
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


def _of_fleet(path: str, source: str | None, flags: RequestFlags, *, strict: bool) -> Fleet:
    """The fewest images for the machines in a file.

    Raises:
        InputError: a flag that each node says itself, or what `fleet_file.read` raises.
    """
    from envbuild.cli import fleet_file
    from envbuild.matrix.load import load
    from envbuild.planner.fleet import cover

    beside = {"cc": flags.cc, "gpu": flags.gpu, "host": flags.host, "l4t": flags.l4t}
    said = ["--" + name for name, value in beside.items() if value is not None]
    if source is not None or said:
        what = f"--fleet stands beside {source if source is not None else said[0]}"
        raise InputError(what, fix="write it into the fleet's file, node by node")
    nodes = fleet_file.read(path, flags, load())
    return cover(nodes, load(), split=flags.split, strict=strict)


def target_of(flags: RequestFlags, from_file: frozenset[str] = frozenset()) -> "Target":
    """The target: declared where a cc or GPU was given, else from a record or this machine."""
    from envbuild.matrix.load import load
    from envbuild.planner.resolve import resolve

    request = flags.request()
    if flags.cc is not None and not request.cc:
        what = "--cc is given and empty"
        raise InputError(what, fix="give one, for example --cc 6.1, or leave --cc out to detect")
    host = _host(flags, request)
    # What stands on standard input cannot be read again.
    again = None if flags.host == "-" or host is None else flags.machine
    target = resolve(request, host, load(), from_file=from_file, machine=again)
    if not target.cards and not target.every_cc and not (request.cuda or request.packages):
        raise _no_card(flags, host)
    return target


def _no_card(flags: RequestFlags, host: Host | None) -> MachineError:
    """A machine without a card: what `doctor` finds first, and how to plan ahead for one."""
    from envbuild.advice.doctor import diagnose
    from envbuild.advice.scene import Scene

    where = "the recorded host" if flags.host is not None else "this machine"
    found = [f for f in diagnose(Scene(host=host or Host())) if f.severity != "info"]
    why = f"{found[0].says}. {found[0].why}".rstrip(". ") if found else ""
    fix = f"say for which GPU, of cc 9.0 for example: {show.command(flags.command(cc=('9.0',)))}"
    if found:
        record = () if flags.host is None else ("--host", flags.host)
        fix = f"{show.command(('envbuild', 'doctor', *record))} says what to do\n      or {fix}"
    what = f"{where} has no NVIDIA GPU whose compute capability can be read"
    return MachineError(what, why=why, fix=fix)


def _host(flags: RequestFlags, request: Request) -> Host | None:
    if flags.host is not None:
        from envbuild.host.load import load_host

        return load_host(flags.host)
    if request.cc or request.gpus:
        return None
    from envbuild.host.detect import this_machine

    return this_machine()
