"""``envbuild build``: lock, render and build with the engine that is here."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import NetFlags, OutputFlags, RequestFlags, expand
from envbuild.errors import InputError

if TYPE_CHECKING:
    from envbuild.engines.base import Engine
    from envbuild.io.net import Net
    from envbuild.io.workspace import Workspace
    from envbuild.reproduce import Wanted
    from envbuild.values.image import Image
    from envbuild.values.reproduction import Reproduction

Row = tuple[str, str]
_WIDE, _SHOWN = 100, 20  # characters of a step that are shown; files of a layer
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
    reproduce: Annotated[
        bool,
        typer.Option("--reproduce", help="Build twice without a cache and compare (7 = differs)."),
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option("--against", help="--reproduce: build once, compare with this archive."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Keep the image as an OCI archive, bit for bit."),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", help="Build from this folder (lock --bundle), without a network."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the exact commands; do nothing.")
    ] = False,
) -> int:
    """Lock, render and build the image with the engine that is here."""
    from envbuild import build
    from envbuild import reproduce as bits
    from envbuild.engines import bundled, staging
    from envbuild.engines.find import find
    from envbuild.io import workspace

    if lock and no_lock:
        what = "--lock names a lock, and --no-lock wants none"
        raise InputError(what, fix="give one of them")
    if bundle and lock is None:
        lock = bundle / bundled.LOCK
    twice = reproduce or against is not None
    _archives(against, out)
    if bundle and no_lock:
        what = "--bundle holds what a lock names, and --no-lock wants none"
        raise InputError(what, fix="leave --no-lock out")
    wanted, space = net.net(), workspace.here()
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
            if bundle and fixed:
                wanted = build.from_bundle(wanted, fixed, bundle)
            context = build.rendered(plan, fixed, None if dry_run else space)
        if twice or out:
            return _bit_for_bit(
                space,
                bits.Wanted(context, name, target, twice, against, out),
                wanted,
                maker,
                dry_run=dry_run,
                as_json=output.json,
            )
        if dry_run:
            found = maker.build_steps(context, name, wanted, target)
            show.steps(found, as_json=output.json)
            return 0
        image = build.built(space, context, name, wanted, maker, target=target)
    _show(image, as_json=output.json)
    return 0


def _archives(against: Path | None, out: Path | None) -> None:
    """Say what cannot be an archive before minutes of building.

    Raises:
        InputError: there is none to compare with, or a folder is where one is to be written.
    """
    if against is not None and not against.is_file():
        what = f"--against: there is no archive {against}"
        raise InputError(what, fix="name one that envbuild build -o wrote")
    if out is not None and out.is_dir():
        what = f"-o: {out} is a folder, and the image becomes one file"
        raise InputError(what, fix=f"-o {out / 'image.oci.tar'}")


def _bit_for_bit(
    space: "Workspace",
    order: "Wanted",
    net: "Net",
    engine: "Engine",
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Build with every time pinned; compare, where that is asked for.

    Raises:
        StaleError: two builds differ; what differs is shown before.
    """
    from envbuild import reproduce

    if dry_run:
        show.steps(reproduce.steps(order, net, engine), as_json=as_json)
        return 0
    found = reproduce.reproduced(space, order, net, engine, show.note)
    if as_json:
        show.json(found)
    else:
        for label, text in _same(found) if found.verdict != "different" else _differing(found):
            show.result(f"{show.paint(f'{label:<9}', 'bold')} {show.line(text)}")
    if found.verdict == "different":
        raise reproduce.refusal(found)
    return 0


def _same(found: "Reproduction") -> "list[Row]":
    import datetime as dt

    how = {
        "equal": "two builds, bit for bit the same" if found.builds > 1 else "times are pinned",
        "unpacked": f"the same layers, packed otherwise: {found.other} here",
    }[found.verdict]
    day = dt.datetime.fromtimestamp(found.epoch, dt.timezone.utc)
    rows = [
        ("image", found.ref),
        ("manifest", f"{found.manifest}  {how}"),
        ("config", found.config),
        ("times", f"none after {day:%Y-%m-%d} (SOURCE_DATE_EPOCH={found.epoch}), {found.engine}"),
    ]
    if found.archive:
        rows.append(("archive", found.archive))
    return [*rows, ("next", f"envbuild certify {found.ref} · envbuild run")]


def _differing(found: "Reproduction") -> "list[Row]":
    """The first files of each layer that differ; all of them are in the JSON."""
    rows, at, shown = list[Row](), None, 0
    for one in found.differences:
        if one.layer != at:
            at, shown = one.layer, 0
            where = f"layer {one.layer} of {len(found.diff_ids)}  {one.step}" if at else "config"
            rows.append(("differs", where if len(where) <= _WIDE else f"{where[: _WIDE - 1]}…"))
        shown += 1
        if shown <= _SHOWN:
            why = f"  ({one.why})" if one.why else ""
            rows.append(("", f"{one.path or 'the layer'}  {', '.join(one.what)}{why}"))
        elif shown == _SHOWN + 1:
            more = sum(other.layer == at for other in found.differences) - _SHOWN
            rows.append(("", f"and {more} more: --json has them all"))
    return rows


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
        show.result(f"{show.paint(f'{label:<9}', 'bold')} {show.line(text)}")
