"""``envbuild verify``: may this image be used? Needs no GPU and no engine."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import OutputFlags, PullFlags, capabilities, expand, suites
from envbuild.errors import EnvbuildError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from envbuild.attest.policy import Policy
    from envbuild.attest.verify import About, Found, Read
    from envbuild.values.verification import Evidence, Verification

_SHOWN = ("certificates", "plan", "lock", "provenance", "sbom")


@expand
def command(
    *,
    net: PullFlags,
    output: OutputFlags,
    targets: Annotated[
        list[str],
        typer.Argument(help="Image (or its sha256:... digest), and evidence: x.jsonl, ./x, x/."),
    ],
    key: Annotated[
        list[Path] | None, typer.Option("--key", help="Public key (PEM) of who may sign.")
    ] = None,
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Take evidence that nobody signed; names no maker.")
    ] = False,
    require: Annotated[
        list[str] | None, typer.Option("--require", help="Suites that must have passed [smoke].")
    ] = None,
    cc: Annotated[
        list[str] | None,
        typer.Option("--cc", help="Certified for these; default: all that the image promises."),
    ] = None,
    driver_min: Annotated[
        str, typer.Option("--driver-min", help="Least driver of the machines that certified.")
    ] = "",
    max_age: Annotated[
        str, typer.Option("--max-age", help="How old a certificate may be: 30d, 12h.")
    ] = "",
    platform: Annotated[
        str, typer.Option("--platform", help="Of an image for several [this machine's].")
    ] = "",
    nodes: Annotated[
        str,
        typer.Option(
            "--nodes", help="A certificate of each: a,b ('a,' for one), or a file with one a line."
        ),
    ] = "",
    shown: Annotated[
        str, typer.Option("--show", help=f"Print as JSON what counts: {', '.join(_SHOWN)}.")
    ] = "",
) -> int:
    """Check an image's certificates: who signed, what they are about, that they add up.

    The exit code is 0 where everything asked for holds, and 7 with the reason where it does not.
    """
    from datetime import datetime, timezone

    from envbuild.attest import verify

    if shown and shown not in _SHOWN:
        what = f"--show {shown!r} is not known"
        raise InputError(what, fix=f"one of {', '.join(_SHOWN)}")
    keys = _keys(key or [], unsigned=unsigned)
    policy = _policy(require, cc, driver_min, max_age)
    of_nodes = _nodes(nodes)
    about, found = _found(targets, platform, net)
    read = [verify.read(one, keys, about) for one in found]
    answer = verify.verify(
        read, about=about, policy=policy, now=datetime.now(timezone.utc), of_nodes=of_nodes
    )
    if shown:
        show.json(_shown(read, answer, shown))
    elif output.json:
        show.json(answer)
    else:
        for line in _lines(answer):
            show.result(show.line(line))
        show.result(_verdict(answer, policy, signed=bool(keys)))
    for reason in answer.reasons if shown else ():
        show.warn(show.line(reason))
    return 0 if answer.passed else 7


def _keys(files: "Sequence[Path]", *, unsigned: bool) -> "tuple[Ed25519PublicKey, ...]":
    from envbuild.attest import dsse
    from envbuild.io import files as disk

    if bool(files) == unsigned:
        what = "--key and --unsigned exclude each other" if files else "no key is trusted"
        fix = "give --key FILE of who may sign; or --unsigned, which asks nobody"
        raise InputError(what, fix=fix)
    return tuple(dsse.trusted_key(disk.read(path), str(path)) for path in files)


def _nodes(given: str) -> tuple[str, ...]:
    """The nodes that are named, or those of a file: no file is called by a name with a comma."""
    from envbuild.attest import nodes
    from envbuild.io import files

    if "," in given:
        return nodes.names(given.replace(",", "\n"), "--nodes")
    return nodes.names(files.read(given).decode("utf-8", "replace"), given) if given else ()


def _policy(
    require: list[str] | None, cc: list[str] | None, driver_min: str, max_age: str
) -> "Policy":
    from envbuild.attest.policy import Policy, age
    from envbuild.planner.ranges import numbers

    if driver_min:
        numbers(driver_min)
    if max_age:
        age(max_age)
    return Policy(
        require=suites(require) or ("smoke",),
        cc=capabilities(cc),
        driver_min=driver_min,
        max_age=max_age,
    )


def _found(targets: list[str], platform: str, net: PullFlags) -> "tuple[About, tuple[Found, ...]]":
    """The image that is asked about, and all evidence: of its registry, and in files."""
    from envbuild.attest import fetch, nodes, verify
    from envbuild.engines import names
    from envbuild.io import files

    first = next((i for i, one in enumerate(targets) if not _is_path(one)), len(targets))
    image = next(iter(targets[first:]), None)
    paths = targets[:first] + targets[first + 1 :]
    named = [(str(path), Path(one).is_dir()) for one in paths for path in nodes.evidence(one)]
    about: verify.About = verify.About()
    found: tuple[verify.Found, ...] = ()
    if image is not None:
        if Path(image).exists():
            show.note(f"{image} is the image of this name; what lies here is ./{image}")
        about, found = fetch.about(image, platform or names.platform_here(), net.net())
    pieces = (
        piece
        for one, beside in named
        for piece in (_beside(one) if beside else verify.split(files.read(one), one))
    )
    return about, (*found, *pieces)


def _beside(file: str) -> "tuple[Found, ...]":
    """A file of a folder as evidence: one that cannot be read does not hide the others."""
    from envbuild.attest import verify
    from envbuild.io import files

    try:
        return verify.split(files.read(file), file)
    except EnvbuildError as e:
        fault = ": ".join(filter(None, (e.what.removeprefix(file).strip(), e.why)))
        return (verify.Found(file, b"", True, fault=fault),)


def _is_path(word: str) -> bool:
    """Whether a word has the form of a path, which no image reference has.

    What lies in the folder is not asked: a file could be put there that takes the image's place.
    """
    return (
        word == "-"
        or word.startswith((".", "~", os.sep))
        or word.endswith(("/", os.sep, ".json", ".jsonl"))
        or Path(word).is_absolute()
    )


def _lines(answer: "Verification") -> "Iterator[str]":
    if answer.image:
        yield f"image     {answer.image}"
    if answer.digest and answer.digest != answer.image:
        yield f"digest    {answer.digest}"
    yield from (f"evidence  {_evidence(one)}" for one in answer.evidence)
    if answer.promised:
        yield f"promised  cc {', '.join(answer.promised)}"
    yield from (f"reason    {reason}" for reason in answer.reasons)


def _verdict(answer: "Verification", policy: "Policy", *, signed: bool) -> str:
    if not answer.passed:
        return show.paint("NOT VERIFIED", "red")
    cc = sorted({one.cc for one in answer.evidence if one.cc and not one.problems})
    text = f"{', '.join(policy.require)}, cc {', '.join(cc) or 'of no GPU'}"
    who = "" if signed else "; nobody signed it, so that anybody may have made it"
    return show.paint("VERIFIED", "green") + show.line(f"  {text}{who}")


def _evidence(one: "Evidence") -> str:
    kind = one.kind.rpartition("envbuild:")[2] or "unknown"
    key = f"signed by {one.key[:16]}" if one.key else "not signed"
    said = f"does not count: {'; '.join(one.problems)}" if one.problems else "counts"
    cc, node = one.cc and f"cc {one.cc}", one.node and f"node {one.node}"
    return "  ".join(filter(None, (one.source, kind, cc, node, key, said)))


def _shown(read: "list[Read]", answer: "Verification", what: str) -> object:
    """The predicates of one kind that count, as they were signed, or are in a file."""
    import msgspec

    from envbuild.attest import statement

    kinds = {
        "certificates": statement.CERTIFICATE,
        "plan": statement.PLAN,
        "lock": statement.LOCK,
        "provenance": statement.PROVENANCE,
        "sbom": statement.SBOM,
    }
    # By their order: a source is a shortened digest, which can be made to be another's.
    return [
        msgspec.Raw(one.predicate)
        for one, judged in zip(read, answer.evidence, strict=True)
        if judged.kind == kinds[what] and not judged.problems
    ]
