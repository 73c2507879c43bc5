"""``envbuild build``: lock, render and build with the engine that is here."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import NetFlags, OutputFlags, RequestFlags, expand
from envbuild.errors import InputError

if TYPE_CHECKING:
    from envbuild.values.image import Image

EngineName = Annotated[str | None, typer.Option("--engine", help="docker, podman or local.")]


@expand
def command(
    *,
    request: RequestFlags,
    net: NetFlags,
    output: OutputFlags,
    source: Annotated[
        str | None, typer.Argument(help="Plan file, context folder, or envbuild.yaml.")
    ] = None,
    engine: EngineName = None,
    tag: Annotated[str | None, typer.Option("--tag", "-t", help="Name of the image.")] = None,
    target: Annotated[
        str, typer.Option("--target", help="Stage: devel (compiler inside) or runtime (small).")
    ] = "",
    lock: Annotated[
        Path | None, typer.Option("--lock", help="Build from this lock file, as it is.")
    ] = None,
    no_lock: Annotated[
        bool, typer.Option("--no-lock", help="Build from today's tags and versions.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the exact commands; do nothing.")
    ] = False,
) -> int:
    """Lock, render and build the image with the engine that is here."""
    from envbuild import build
    from envbuild.engines import staging
    from envbuild.engines.find import find
    from envbuild.io.workspace import Workspace

    if lock and no_lock:
        what = "--lock names a lock, and --no-lock wants none"
        raise InputError(what, fix="give one of them")
    wanted, space = net.net(), Workspace()
    maker, _, why = find(engine, need_build=True, progress=show.note)
    show.note(f"engine    {why}")
    with contextlib.nullcontext() if dry_run else space.held(say=show.note):
        if source is not None and (Path(source) / "Dockerfile").is_file():
            if request != RequestFlags() or lock or no_lock:
                what = f"{source} is a finished context, and request or lock flags would change it"
                raise InputError(what, fix="give the folder or the flags")
            name = build.tag_of(Path(source), target, tag)
            context = staging.read(Path(source))
        else:
            from envbuild.cli.source import plan_from

            plan = build.fitted(maker, plan_from(source, request))
            name = build.tag_of(plan, target, tag)
            fixed = None
            if dry_run:
                fixed = None if no_lock else build.known_lock(space, plan, lock, say=show.note)
                if fixed is None and not no_lock:
                    show.note(build.NOT_LOCKED)
            elif not no_lock:
                fixed = build.locked(space, plan, wanted, maker, lock, say=show.note)
            context = build.rendered(plan, fixed, None if dry_run else space)
        if dry_run:
            found = maker.build_steps(context, name, wanted, target)
            show.steps(found, as_json=output.json)
            return 0
        image = build.built(space, context, name, wanted, maker, target=target)
    _show(image, as_json=output.json)
    return 0


def _show(image: "Image", *, as_json: bool) -> None:
    if as_json:
        show.json(image)
        return
    rows = (
        ("image", image.ref),
        ("config", image.config),
        ("manifest", image.manifest or "not known before it is pushed"),
        ("size", f"{image.size / 1e6:.0f} MB" if image.size else "not known"),
        ("next", f"envbuild certify {image.ref} · envbuild run"),
    )
    for label, text in rows:
        show.result(f"{show.paint(f'{label:<9}', 'bold')} {show.clean(text)}")
