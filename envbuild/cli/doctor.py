"""``envbuild doctor``: what is wrong with a machine, an image or a log, and what to do first."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from envbuild.cli import show
from envbuild.cli.options import OutputFlags, expand
from envbuild.errors import InputError

if TYPE_CHECKING:
    from envbuild.advice.scene import Scene
    from envbuild.values.diagnosis import Diagnosis, Seen
    from envbuild.values.finding import Finding
    from envbuild.values.host import Host
    from envbuild.values.image import ImageFacts

_COLOURS = {"error": "red", "warn": "yellow", "watch": "yellow", "info": "green"}


@expand
def command(
    *,
    output: OutputFlags,
    host: Annotated[
        str | None, typer.Option("--host", help="A recorded host instead of this one.")
    ] = None,
    image: Annotated[
        str | None, typer.Option("--image", help="An image, or recorded facts of one.")
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option("--log", help="What a program printed; - reads standard input."),
    ] = None,
    bundle: Annotated[
        str | None,
        typer.Option("--bundle", help="Write what a helper needs to a file, names left out."),
    ] = None,
) -> int:
    """Name what is wrong, why, and the steps that mend it on this system."""
    from envbuild.advice.doctor import diagnose
    from envbuild.advice.scene import Scene
    from envbuild.matrix.load import load
    from envbuild.values.diagnosis import Diagnosis
    from envbuild.values.plan import MatrixId

    if [host, image, *(log or [])].count("-") > 1:
        what = "- is given twice, and standard input can be read once"
        raise InputError(what, fix="give it once, or name files")
    machine = _host(host)
    seen = _read(log or [], machine)
    scene = Scene(host=machine, image=_image(image), seen=seen, logs=_names(log or []))
    matrices = load()
    made = Diagnosis(
        findings=diagnose(scene),
        seen=seen,
        matrix=MatrixId(date=matrices.date, digest=matrices.digest),
    )
    if bundle is not None:
        _write(bundle, scene, made, recorded=host is not None)
    if output.json:
        show.json(made)
    else:
        for line in lines(made):
            show.result(line)
    return made.exit


def _write(path: str, scene: "Scene", made: "Diagnosis", *, recorded: bool) -> None:
    from envbuild.advice.bundle import bundle
    from envbuild.host.redact import own_names
    from envbuild.io import files
    from envbuild.values.codec import dump

    files.write(path, dump(bundle(scene, made, () if recorded else own_names())))
    show.note(
        f"{path} holds this machine as `envbuild detect --redact` shows it, the findings, and "
        "the known lines of the logs, nothing else of them: look it through, then hand it on"
    )


def _host(path: str | None) -> "Host":
    if path is not None:
        from envbuild.host.load import load_host

        return load_host(path)
    from envbuild.host.detect import this_machine

    return this_machine()


def _image(name: str | None) -> "ImageFacts | None":
    if name is None:
        return None
    if Path(name).is_file():
        from envbuild.io import files
        from envbuild.values.codec import load
        from envbuild.values.image import ImageFacts

        return load(ImageFacts, files.read(name), name)
    from envbuild.host.image import image_facts

    return image_facts(name)


def _names(logs: list[str]) -> tuple[str, ...]:
    return tuple("standard input" if log == "-" else log for log in logs)


def _read(logs: list[str], host: "Host") -> "tuple[Seen, ...]":
    """The known texts of the logs, and of what the machine itself said while it was looked at.

    Raises:
        InputError: a log that cannot be read.
    """
    from io import BytesIO

    from envbuild.advice.signatures import Signatures
    from envbuild.matrix.load import load_errors

    own = {probe.name: probe.says for probe in host.probes if not probe.ok}
    own["kernel log"] = "\n".join(host.kernel.log)
    own = {name: text for name, text in own.items() if text}
    if not logs and not own:
        return ()
    signatures = Signatures(load_errors().errors)
    found: list[Seen] = []
    for log, name in zip(logs, _names(logs), strict=True):
        with nullcontext(sys.stdin.buffer) if log == "-" else _opened(log) as stream:
            try:
                found += signatures.scan(stream, name)
            except OSError as e:
                raise _unreadable(log, e) from e
    for name, text in own.items():
        found += signatures.scan(BytesIO(text.encode("utf-8", "replace")), name)
    return tuple(found)


def _opened(path: str) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except (OSError, ValueError) as e:
        raise _unreadable(path, e) from e


def _unreadable(path: str, e: Exception) -> InputError:
    what = f"--log {path} cannot be read: {getattr(e, 'strerror', None) or e}"
    return InputError(what, fix="name a file, or - for standard input")


def lines(diagnosis: "Diagnosis") -> "list[str]":
    """The findings for people: what, why, the steps with their checks, the source."""
    out = [line for finding in diagnosis.findings for line in _finding(finding)]
    if all(finding.severity == "info" for finding in diagnosis.findings):
        out.insert(0, f"{show.paint('ok', 'green')}    nothing is known to be wrong")
    return out


def _finding(finding: "Finding") -> "list[str]":
    head = show.paint(f"{finding.severity:<6}", _COLOURS[finding.severity])
    out = [f"{head}{show.line(finding.says)}   [{finding.id}]"]
    if finding.why:
        out.append(f"      {show.clean(finding.why)}")
    for number, step in enumerate(finding.steps, 1):
        do = show.command(step.argv) if step.argv else step.text
        out.append(f"   {number}. {show.clean(do)}")
        out += [f"      {show.clean(step.why)}"] if step.why else []
        out += [f"      check: {show.clean(step.check)}"] if step.check else []
    return [*out, show.paint(f"      {finding.source}", "dim")] if finding.source else out
