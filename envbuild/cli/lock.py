"""``envbuild lock``: fix every byte a build takes from outside, by hash."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import NetFlags, OutputFlags, RequestFlags, expand

if TYPE_CHECKING:
    from envbuild.engines.base import Engine
    from envbuild.values.lock import Lock


@expand
def command(
    *,
    request: RequestFlags,
    net: NetFlags,
    output: OutputFlags,
    source: Annotated[
        str | None, typer.Argument(help="Plan file, context folder, or envbuild.yaml.")
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            "-o", "--output", help="The lock file to write, or to --check; - is a stream."
        ),
    ] = "envbuild.lock",
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether the lock is of this plan (7 = not).")
    ] = False,
    engine: Annotated[
        str | None, typer.Option("--engine", help="Resolve packages with docker or podman.")
    ] = None,
) -> int:
    """Fix every byte a build takes from outside, by hash."""
    from envbuild.cli.source import plan_from
    from envbuild.io import files
    from envbuild.lock import make
    from envbuild.lock.text import dump_lock
    from envbuild.values.codec import load
    from envbuild.values.lock import Lock

    show.one_output(out, as_json=output.json and not check)
    wanted = net.net()
    plan = plan_from(source, request)
    if check:
        made = load(Lock, files.read(out), out)
        make.check(made, plan, out)
        show.note(f"{out} is of this plan")
    else:
        made = make.lock(plan, wanted, _engine(engine) if plan.apt or engine else None)
        show.write(out, dump_lock(made))
    if output.json:
        show.json(made)
        return 0
    if out == "-" and not check:
        return 0
    for line in _lines(made, out):
        show.result(line)
    return 0


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
    # A lock for this machine's own prefix has no base: only where it is asked for.
    return found.engine if name or found.engine.name != "local" else None


def _lines(made: "Lock", out: str) -> list[str]:
    rows = [
        (label, f"{base.ref}@{base.digest}")
        for label, base in (("base", made.base), ("runtime", made.runtime))
        if base
    ]
    own = [package for package in made.apt if not package.archive]
    if own:
        rows.append(("apt", f"{len(own)} packages from {', '.join(made.apt_index)}"))
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
    rows.append(("lock", f"{Path(out)}, platform {made.platform}"))
    return [f"{show.paint(f'{label:<9}', 'bold')} {show.clean(text)}" for label, text in rows]
