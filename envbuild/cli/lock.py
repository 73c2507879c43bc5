"""``envbuild lock``: fix every byte a build takes from outside, by hash."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import NetFlags, OutputFlags, RequestFlags, expand
from envbuild.errors import InputError

if TYPE_CHECKING:
    from envbuild.engines.base import Engine
    from envbuild.lock.upgrade import Change
    from envbuild.values.lock import Lock
    from envbuild.values.plan import Plan

_OUT = "envbuild.lock"


@expand
def command(
    *,
    request: RequestFlags,
    net: NetFlags,
    output: OutputFlags,
    source: Annotated[
        str | None, typer.Argument(help="Plan or fleet file, context folder, or envbuild.yaml.")
    ] = None,
    name: Annotated[
        str | None, typer.Argument(help="--upgrade: this entry alone (base, a package, a wheel).")
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            help="The lock file to write, or to --check; - is a stream. Of a fleet a folder.",
        ),
    ] = _OUT,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Only say whether the lock is of this plan (7 = not), its base there (4).",
        ),
    ] = False,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Make it anew, all or NAME; show what changes.")
    ] = False,
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", help="Keep every byte that the lock names in this folder."),
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", help="Resolve packages with docker or podman.")
    ] = None,
) -> int:
    """Fix every byte a build takes from outside, by hash."""
    from envbuild.cli.source import made_from, one_plan
    from envbuild.io import files
    from envbuild.lock import make
    from envbuild.lock.text import dump_lock
    from envbuild.values.codec import load
    from envbuild.values.lock import Lock
    from envbuild.values.plan import Fleet

    show.one_output(out, as_json=output.json and not check)
    source, name = _names(source, name, check=check, upgrade=upgrade, bundle=bundle is not None)
    wanted = net.net()
    planned = made_from(source, request)
    if isinstance(planned, Fleet):
        from envbuild.cli import fleet_files

        if check or upgrade or bundle or output.json:
            what = "a fleet is locked image by image, and this flag is for one lock"
            raise InputError(what, fix="leave it out, or lock the plan.json of one image's folder")
        folder = Path(fleet_files.LOCKS if out == _OUT else out)
        return fleet_files.lock(planned, folder, wanted, lambda: _engine(engine))
    plan = one_plan(planned, source, request)
    if upgrade:
        from envbuild.lock import upgrade as anew

        old = load(Lock, files.read(out), out)
        made = anew.upgrade(
            old, plan, wanted, _engine(engine) if plan.apt or engine else None, name
        )
        changed = anew.changes(old, made)
        if old != made:
            files.write(out, dump_lock(made))
        _changes(changed, as_json=output.json)
    elif check:
        made = load(Lock, files.read(out), out)
        make.check(made, plan, out)
        for said in (*make.outdated(made), *(() if wanted.offline else make.there(made, wanted))):
            show.note(said)
        show.note(f"{out} is of this plan")
    elif bundle and (fits := _kept(out, plan)):
        made = fits
        show.note(f"{out} is of this plan: its bytes are kept")
    else:
        made = make.lock(plan, wanted, _engine(engine) if plan.apt or engine else None)
        show.write(out, dump_lock(made))
    if bundle:
        from envbuild.lock.bundle import bundle as keep

        keep(plan, made, wanted, _engine(engine) if plan.apt else None, bundle, say=show.note)
    if output.json:
        show.json(made)
        return 0
    if out == "-" and not check:
        return 0
    for line in _lines(made, out):
        show.result(line)
    return 0


def _names(
    source: str | None, name: str | None, *, check: bool, upgrade: bool, bundle: bool
) -> tuple[str | None, str | None]:
    """The two arguments; one alone that is no file is the name of an entry.

    Raises:
        InputError: a name without ``--upgrade``, or ``--check`` beside it.
    """
    if check and (upgrade or bundle):
        what = "--check writes nothing, and --upgrade and --bundle write"
        raise InputError(what, fix="give one of them")
    if upgrade and name is None and source is not None and not Path(source).exists():
        return None, source
    if name is not None and not upgrade:
        what = f"{name!r} stands beside the plan, and only --upgrade takes a name"
        raise InputError(what, fix="leave it out, or add --upgrade")
    return source, name


def _kept(out: str, plan: "Plan") -> "Lock | None":
    """The lock that is there, where it is of this plan: a bundle is completed, not moved on."""
    from envbuild.io import files
    from envbuild.lock.make import stale
    from envbuild.values.codec import load
    from envbuild.values.lock import Lock

    if not Path(out).is_file():
        return None
    found = load(Lock, files.read(out), out)
    if reasons := stale(found, plan):
        show.note(f"{out} is made again: {'; '.join(reasons)}")
        return None
    return found


def _changes(changed: "tuple[Change, ...]", *, as_json: bool) -> None:
    """Each entry that is another now, old and new; beside JSON on stderr."""
    say = show.note if as_json else lambda text: show.result(show.line(text))
    for one in changed:
        say(f"{one.kind:<9} {one.name}  {one.old or 'none'} -> {one.new or 'none'}  {one.why}")
    if not changed:
        say("nothing   it is what would be locked today")


def _engine(name: str | None) -> "Engine | None":
    """The engine that is named, else one with containers; None = resolve without one."""
    from envbuild.engines.find import find
    from envbuild.errors import MachineError

    try:
        found = find(name, progress=show.note)
    except MachineError:
        if name:
            raise
        return None
    # A lock for this machine's own prefix has no base: only where it is asked for. And apt is root
    # in its container, which is not to be had with apptainer.
    return found.engine if name or found.engine.name not in ("local", "apptainer") else None


def _lines(made: "Lock", out: str) -> list[str]:
    rows = [
        (label, f"{base.ref}@{base.digest}")
        for label, base in (("base", made.base), ("runtime", made.runtime))
        if base
    ]
    own = [package for package in made.apt if not package.archive]
    if own:
        at = f", snapshot of {made.snapshot}" if made.snapshot else ""
        rows.append(("apt", f"{len(own)} packages from {', '.join(made.apt_index)}{at}"))
    if made.key:
        theirs = [package.archive for package in made.apt if package.archive]
        says = f"{len(theirs)} packages from {theirs[0]}" if theirs else "no package"
        rows.append(("toolkit", f"{says}, signed by {made.key.fingerprint}"))
    if made.parts:
        size = sum(part.size or 0 for part in made.parts)
        rows.append(("toolkit", f"{len(made.parts)} archives by sha256, {size / 1e6:.0f} MB"))
    if made.wheels:
        names = ", ".join(dict.fromkeys(wheel.index for wheel in made.wheels))
        rows.append(("wheels", f"{len(made.wheels)} for Python {made.python} from {names}"))
    if made.recipe:
        from envbuild.planner.spell import argv

        again = show.command(argv(made.recipe.request, "build"))
        rows.append(("recipe", f"CUDA {made.recipe.cuda} when the tag is deleted: {again}"))
    rows.append(("lock", f"{Path(out)}, platform {made.platform}"))
    return [f"{show.paint(f'{label:<9}', 'bold')} {show.line(text)}" for label, text in rows]
