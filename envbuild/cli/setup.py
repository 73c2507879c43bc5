"""``envbuild setup``: the way from this machine to one that the plan runs on, step by step."""

from typing import Annotated, get_args

import typer

from envbuild.cli import show
from envbuild.cli.options import OutputFlags, RequestFlags, expand
from envbuild.errors import InputError
from envbuild.values.codec import fields
from envbuild.values.guide import Guide, Kind
from envbuild.values.host import Host

KINDS: tuple[Kind, ...] = get_args(Kind)
FORMATS = ("terminal", "markdown", "bash", "powershell")
ENGINES = ("docker", "docker-desktop", "podman")


@expand
def command(
    request: RequestFlags,
    output: OutputFlags,
    *,
    kind: Annotated[
        str, typer.Argument(help=f"auto, or one of {', '.join(KINDS)}.", metavar="KIND")
    ] = "auto",
    written: Annotated[
        str, typer.Option("--format", help=f"{', '.join(FORMATS)}.", metavar="FORMAT")
    ] = "terminal",
    engine: Annotated[
        str | None, typer.Option("--engine", help=f"{', '.join(ENGINES)}: the way to take.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Run the checks alone; exit 4 if one fails.")
    ] = False,
    out: Annotated[
        str | None, typer.Option("-o", "--output", help="Write the guide to this file.")
    ] = None,
) -> int:
    """Show what to do on this machine, in order, with a check after each step."""
    _one_of("--format", written, FORMATS)
    _one_of("KIND", kind, ("auto", *KINDS))
    if engine is not None:
        _one_of("--engine", engine, ENGINES)
    host = _host(request, kind, check=check)
    made = _guide(kind, request, host, engine or "")
    if check:
        return _checked(made, as_json=output.json)
    if output.json:
        show.json(made)
        return 0
    from envbuild.advice.guide.written import text

    plain = out is not None or written != "terminal"
    data = text(made, written, paint=None if plain else show.paint)
    show.write(out or "-", data.encode())
    if out not in {None, "-"}:
        show.note(f"written to {out}")
    return 0


def _host(flags: RequestFlags, kind: str, *, check: bool) -> Host | None:
    """The machine: a recorded one, or this one where nothing was declared for another.

    Raises:
        InputError: the checks were asked of a recorded machine.
    """
    if flags.host is not None:
        if check:
            what = "--check looks at this machine, and --host names a recorded one"
            raise InputError(what, fix="leave one of them out")
        from envbuild.host.load import load_host

        return load_host(flags.host)
    if kind != "auto" and not check and (flags.cc is not None or flags.gpu is not None):
        return None
    from envbuild.host.detect import this_machine

    return this_machine()


def _guide(kind: str, flags: RequestFlags, host: Host | None, engine: str) -> Guide:
    """The guide of this kind; what is not about this machine is not taken for it."""
    from envbuild.advice.guide import guide
    from envbuild.advice.guide.case import about, case, kind_of, matches
    from envbuild.cli.source import accepted

    named = next((one for one in KINDS if one == kind), None)
    if named is None:
        named = kind_of(host or Host())
    elif host is not None and not matches(named, host):
        show.note(f"this machine is no case for the guide {named}: nothing of it is taken as known")
        host = None
    made = case(named, flags.request(), host, engine)
    accepted(made.plan, "this")
    return guide(made, about(made), _again(named, flags, engine))


def _again(kind: Kind, flags: RequestFlags, engine: str) -> tuple[str, ...]:
    """The command line that makes this guide; a recorded host by the name that it has here."""
    words = ["setup", kind]
    for name, value in fields(flags).items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if isinstance(value, list):
            words += [word for one in value for word in (flag, one)]
        elif isinstance(value, str):
            words += [flag, value]
    return (*words, *(("--engine", engine) if engine else ()))


def _checked(made: Guide, *, as_json: bool) -> int:
    """Run the checks; the exit code is 4 if one that the plan needs fails."""
    from envbuild.advice.guide.check import checked

    results = []
    for one in checked(made):
        results.append(one)
        if not as_json:
            mark = {True: "ok", False: "FAIL", None: "not run"}[one.ok]
            colour = {True: "green", False: "red", None: "dim"}[one.ok]
            need = " (only if you need it)" if one.optional and one.ok is False else ""
            show.result(f"{show.paint(f'{mark:<8}', colour)} {show.clean(one.title)}{need}")
            if one.ok is not True and one.says:
                show.result(f"         {show.clean(one.says)}")
    if as_json:
        show.json(results)
    return 4 if any(one.ok is False and not one.optional for one in results) else 0


def _one_of(flag: str, value: str, allowed: tuple[str, ...]) -> None:
    if value in allowed:
        return
    import difflib

    near = difflib.get_close_matches(value, allowed, 1)
    what = f"{flag} {value[:40]!r} is not known"
    raise InputError(
        what, fix=f"did you mean {near[0]}?" if near else f"one of {', '.join(allowed)}"
    )
