"""``envbuild render``: write the folder that builds the image without envbuild."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import FleetFlags, OutputFlags, RequestFlags, expand
from envbuild.errors import InputError

if TYPE_CHECKING:
    from envbuild.values.lock import Lock
    from envbuild.values.plan import Plan

_LOCK = "envbuild.lock"


@expand
def command(
    *,
    request: RequestFlags,
    fleet: FleetFlags,
    output: OutputFlags,
    source: Annotated[
        str | None, typer.Argument(help="Plan or fleet file, context folder, or envbuild.yaml.")
    ] = None,
    out: Annotated[
        str, typer.Option("-o", "--output", help="The folder to write: new, empty, or a context.")
    ] = ".envbuild/context",
    lock: Annotated[
        str | None,
        typer.Option(
            "--lock", help="The lock; default ./envbuild.lock. Of a fleet a folder: envbuild.locks."
        ),
    ] = None,
    no_lock: Annotated[
        bool, typer.Option("--no-lock", help="Tags and versions as they are on the day.")
    ] = False,
) -> int:
    """Write the folder that builds the image without envbuild.

    Of a fleet (envbuild plan --fleet hosts.yaml --split -o fleet.json): the folder that bakes all
    of its images, and jobs that certify them on every node.
    """
    from envbuild.cli.source import made_from, one_plan
    from envbuild.io import workspace
    from envbuild.render.context import render
    from envbuild.render.folder import save
    from envbuild.values.plan import Fleet

    if out == "-":
        what = "- is standard output, and a folder is written"
        raise InputError(what, fix="name a folder: -o DIR (./- if it has to be that one)")
    workspace.here()
    made = made_from(source, request)
    if isinstance(made, Fleet):
        from envbuild.cli import fleet_files

        locks = None if no_lock else lock or fleet_files.LOCKS
        return fleet_files.render(made, fleet, Path(out), locks, as_json=output.json)
    if fleet != FleetFlags():
        what = "flags of a fleet stand beside a plan for one image"
        raise InputError(what, fix="envbuild plan --fleet hosts.yaml --split -o fleet.json")
    plan = one_plan(made, source, request)
    context = render(plan, None if no_lock else _lock(plan, source, lock))
    save(context, Path(out))
    if output.json:
        show.json({"folder": out, "digest": context.digest, "bases": list(context.bases)})
        return 0
    for file in context.files:
        show.result(str(Path(out) / file.path))
    return 0


def _lock(plan: "Plan", source: str | None, given: str | None) -> "Lock":
    """The lock that was named, else the one in the context folder, else the one here."""
    from envbuild.io import files
    from envbuild.lock import make
    from envbuild.values.codec import load
    from envbuild.values.lock import Lock

    places = [Path(given)] if given else [Path(source or ".") / _LOCK, Path(_LOCK)]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        what = f"there is no {places[-1]}"
        without = "" if plan.layout.archive is not None else "; --no-lock renders without"
        raise InputError(what, fix=f"envbuild lock makes it{without}")
    made = load(Lock, files.read(path), str(path))
    make.check(made, plan, str(path))
    return made
