"""A plan from what a command was given: a plan file, a context folder, envbuild.yaml or flags."""

from pathlib import Path

from envbuild.cli import show
from envbuild.cli.options import RequestFlags
from envbuild.errors import InputError
from envbuild.io import files
from envbuild.values.codec import fields, load, replace
from envbuild.values.plan import Fleet, Plan

_YAML = {".yaml", ".yml"}
REQUEST = "envbuild.yaml"


def plan_from(source: str | None, flags: RequestFlags) -> Plan:
    """The one plan that a command works on; arguments as in `made_from`.

    Raises:
        InputError: as `made_from`, or the request takes several images.
        NoPlanError: the plan is a refusal.
    """
    return one_plan(made_from(source, flags), source, flags)


def one_plan(made: Plan | Fleet, source: str | None, flags: RequestFlags) -> Plan:
    """The plan of what a source got; arguments as in `made_from`.

    Raises:
        InputError: it is several images.
        NoPlanError: it is a refusal.
    """
    made = accepted(made, source or "this")
    if isinstance(made, Fleet):
        what = f"this request takes {len(made.entries)} images, and this command makes one"
        again = flags.command(split=True)
        words = again if source is None else (*again[:2], source, *again[2:])
        fix = f"ask for one cc at a time; {show.command(words)} shows them"
        raise InputError(what, fix=fix)
    return made


def accepted(made: Plan | Fleet, name: str) -> Plan | Fleet:
    """The plan or fleet itself, if nothing of it is refused.

    Args:
        made: what a request got.
        name: where it is from, for the error text.

    Raises:
        NoPlanError: with what the refusal says.
    """
    for plan in plans(made):
        if plan.outcome == "refuse":
            from envbuild.planner.refusal import no_plan

            if all(finding.severity != "error" for finding in plan.findings):
                what = f"{name} is a refused plan that does not say why"
                raise InputError(what, fix="plan again: envbuild plan")
            raise no_plan(plan)
    return made


def plans(made: Plan | Fleet) -> list[Plan]:
    """All plans of a plan or fleet."""
    return [made] if isinstance(made, Plan) else [entry.plan for entry in made.entries]


def made_from(source: str | None, flags: RequestFlags) -> Plan | Fleet:
    """The plan or fleet of a source, refusals too.

    Args:
        source: a plan (``-`` = standard input), a YAML file with the names of the request flags,
            or a folder that holds ``plan.json`` or ``envbuild.yaml``; None = the flags alone.
        flags: over a YAML file they win; beside a finished plan they are an error.

    Raises:
        InputError: the file is none of these, or flags stand beside a plan.
        MachineError: nothing was declared and this machine has no GPU.
    """
    path = _file(source) if source is not None else None
    if path is None or Path(path).suffix.lower() in _YAML:
        return _planned(path, flags)
    if flags != RequestFlags():
        what = f"{source} is a finished plan, and request flags would change it"
        raise InputError(what, fix="give the file or the flags")
    data = files.read(path)
    if b'"envbuild/fleet/1"' in data[:200]:
        return load(Fleet, data, path)
    return load(Plan, data, path)


def _file(source: str) -> str:
    folder = Path(source)
    if not folder.is_dir():
        return source
    inside = (folder / "plan.json", folder / REQUEST)
    return str(next((path for path in inside if path.is_file()), inside[0]))


def _planned(path: str | None, flags: RequestFlags) -> Plan | Fleet:
    from envbuild.cli.plan import make

    if path is None:
        return make(flags)
    from envbuild.cli import request_file

    whole = request_file.read(path)
    file = whole.over(flags)
    for name in whole.lines.keys() - file.lines.keys():
        show.note(f"{path}:{whole.lines[name]} gives way to the command line")
    given = {name: value for name, value in fields(file.flags).items() if name in file.lines}
    try:
        return make(replace(flags, **given), from_file=frozenset(given))
    except InputError as e:
        raise file.located(e) from e
