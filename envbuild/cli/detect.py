"""``envbuild detect``: what this machine or an image is, for people or as a record to replay."""

from typing import Annotated

import typer

from envbuild.cli import detect_table, show
from envbuild.cli.options import OutputFlags, expand
from envbuild.errors import InputError
from envbuild.values.host import Host
from envbuild.values.image import ImageFacts


@expand
def command(
    flags: OutputFlags,
    *,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the record to a file.")
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Show a recorded host instead of this one.")
    ] = None,
    image: Annotated[
        str | None, typer.Option("--image", help="Look inside an image instead; no GPU is used.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", help="docker or podman, of an --image.")
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Leave out uuids, names and home folders.")
    ] = False,
) -> int:
    """Show what this machine is; record it with --json or -o."""
    if image is not None and (host is not None or redact):
        what = f"--image and {'--host' if host is not None else '--redact'} do not go together"
        raise InputError(what, fix="give one of them")
    if image is None and engine is not None:
        what = "--engine says what holds an image, and none is named"
        raise InputError(what, fix="envbuild detect --image REF --engine podman")
    if image is not None:
        from envbuild.host.image import image_facts

        found = image_facts(image, engine)
        _tell(found, detect_table.of_image(found), flags, output)
        return 0
    facts = _recorded(host) if host is not None else _now(record=flags.json or output is not None)
    if redact:
        from envbuild.host import redact as names

        facts = names.redact(facts, names.own_names() if host is None else ())
    _tell(facts, detect_table.of_host(facts), flags, output)
    return 0


def _tell(
    found: Host | ImageFacts, rows: detect_table.Rows, flags: OutputFlags, output: str | None
) -> None:
    if output is not None:
        from envbuild.io import files
        from envbuild.values.codec import dump

        files.write(output, dump(found))
        replay = f"--host {output}" if isinstance(found, Host) else f"doctor --image {output}"
        show.note(f"written to {output}; replay it with {replay}")
    if flags.json:
        show.json(found)
    elif output is None:
        for label, text in rows:
            show.result(f"{show.paint(f'{label:<9}', 'bold')} {show.line(text)}")


def _recorded(path: str) -> Host:
    from envbuild.host.load import load_host

    return load_host(path)


def _now(*, record: bool) -> Host:
    from envbuild.host.detect import detect

    facts = detect()
    if not record:
        return facts
    from datetime import datetime, timezone

    from envbuild.values.codec import replace

    today = datetime.now(timezone.utc).date().isoformat()
    return replace(facts, kind="recorded", recorded=today)
