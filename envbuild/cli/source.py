"""A plan from what a command was given: a plan file, a context folder, envbuild.yaml or flags."""

import difflib
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

from envbuild.cli.options import Many, RequestFlags
from envbuild.errors import InputError
from envbuild.io import files
from envbuild.values.codec import fields, load, replace
from envbuild.values.plan import Fleet, Plan

_YAML = {".yaml", ".yml"}


def plan_from(source: str | None, flags: RequestFlags) -> Plan:
    """The one plan that a command works on.

    Args:
        source: a plan (``-`` = standard input), a folder that holds ``plan.json``, or a YAML file
            with the names of the request flags; None = the flags alone.
        flags: over a YAML file they win; beside a finished plan they are an error.

    Raises:
        InputError: the file is none of these, or flags stand beside a plan.
        NoPlanError: the plan is a refusal.
    """
    if source is None or Path(source).suffix in _YAML:
        from envbuild.cli.plan import planned

        try:
            made: Plan | Fleet = planned(flags if source is None else _over(_read(source), flags))
        except InputError as e:
            if source is None or source in e.what:
                raise
            what = f"{source}: {e.what}"
            raise InputError(what, why=e.why, fix=e.fix) from e
    else:
        if flags != RequestFlags():
            what = f"{source} is a finished plan, and request flags would change it"
            raise InputError(what, fix="give the file or the flags")
        path = Path(source) / "plan.json" if Path(source).is_dir() else source
        made = _load(files.read(path), str(path))
    if isinstance(made, Fleet):
        what = f"this request takes {len(made.entries)} images, and this command makes one"
        raise InputError(what, fix="ask for one cc at a time; envbuild plan --split shows them")
    return made


def _load(data: bytes, name: str) -> Plan | Fleet:
    if b'"envbuild/fleet/1"' in data[:200]:
        return load(Fleet, data, name)
    plan = load(Plan, data, name)
    if plan.outcome == "refuse":
        from envbuild.planner.refusal import no_plan

        if all(finding.severity != "error" for finding in plan.findings):
            what = f"{name} is a refused plan that does not say why"
            raise InputError(what, fix="plan again: envbuild plan")
        raise no_plan(plan)
    return plan


def _over(given: RequestFlags, flags: RequestFlags) -> RequestFlags:
    """The flags of the file, with those of the command line over them."""
    default = fields(RequestFlags())
    typed = {name: value for name, value in fields(flags).items() if value != default[name]}
    return replace(given, **typed)


def _read(path: str) -> RequestFlags:
    """A YAML file of request flags, every value read as text (``2.10`` stays ``2.10``).

    Raises:
        InputError: not YAML, an unknown key, or a value of the wrong form; says the line.
    """
    import yaml

    text = files.read(path)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError as e:
        what = f"{path} is nested too deeply"
        raise InputError(what, fix="write `flag: value` lines, for example `cc: 6.1`") from e
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else path
        what = f"{where} is not YAML: {getattr(e, 'problem', None) or e}"
        raise InputError(what, fix="write `flag: value` lines, for example `cc: 6.1`") from e
    if root is None:
        return RequestFlags()
    if not isinstance(root, yaml.MappingNode):
        _wrong(path, root, "is not a table of flags", "write `flag: value` lines")
    hints = get_type_hints(RequestFlags)
    names = {name.rstrip("_").replace("_", "-"): name for name in hints}
    values: dict[str, Any] = {}
    for key, node in root.value:
        if not isinstance(key, yaml.ScalarNode):
            _wrong(path, key, "has a key that is no name", "write `flag: value` lines")
        name = names.get(str(key.value).replace("_", "-"))
        if name is None:
            near = difflib.get_close_matches(str(key.value), names, 1)
            fix = f"did you mean {near[0]}?" if near else f"one of {', '.join(sorted(names))}"
            _wrong(path, key, f"has the unknown key {key.value!r}", fix)
        if name in values:
            _wrong(path, key, f"has {key.value!r} twice", "keep one of them")
        values[name] = _value(path, node, hints[name])
    return RequestFlags(**values)


def _value(path: str, node: Any, kind: object) -> str | bool | list[str]:  # noqa: ANN401
    import yaml

    if kind == Many and isinstance(node, yaml.SequenceNode):
        entries = [_value(path, entry, str) for entry in node.value]
        return [str(entry) for entry in entries]
    if not isinstance(node, yaml.ScalarNode) or not node.value:
        wanted = "a value or a list of values" if kind == Many else "one value"
        _wrong(path, node, f"needs {wanted} here", "compare with envbuild plan --help")
    text = str(node.value)
    if kind is bool:
        if text not in {"true", "false"}:
            _wrong(path, node, f"needs true or false, not {text!r}", "write true or false")
        return text == "true"
    return [text] if kind == Many else text


def _wrong(path: str, node: Any, says: str, fix: str) -> NoReturn:  # noqa: ANN401
    what = f"{path}:{node.start_mark.line + 1} {says}"
    raise InputError(what, fix=fix)
