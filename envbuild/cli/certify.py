"""``envbuild certify``: prove an image, as it is, on this machine."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import reports, show, signing
from envbuild.cli.options import OutputFlags, PullFlags, capabilities, expand, suites
from envbuild.errors import InputError, InterruptedByUser, MachineError, StaleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from envbuild.certify.seen import Seen
    from envbuild.engines.find import Found
    from envbuild.io.net import Net
    from envbuild.io.workspace import Workspace
    from envbuild.values.certificate import Certificate
    from envbuild.values.image import Image
    from envbuild.values.lock import Lock
    from envbuild.values.plan import Plan


@expand
def command(
    *,
    net: PullFlags,
    output: OutputFlags,
    image: Annotated[
        str | None, typer.Argument(help="Image, or local prefix; default: the one built here.")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", help="Suites that must pass [smoke]; see the README for all."),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", help="Suites to run beside them, which decide nothing."),
    ] = None,
    cc: Annotated[
        list[str] | None,
        typer.Option("--cc", help="Certify for these instead of what the image promises."),
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", help="docker, podman, apptainer, local.")
    ] = None,
    rootfs: Annotated[
        str | None,
        typer.Option("--rootfs", help="A folder with a whole system as the image (podman)."),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", help="With --rootfs: NAME=VALUE that an image would set."),
    ] = None,
    plan: Annotated[str | None, typer.Option("--plan", help="Plan it was built from.")] = None,
    lock: Annotated[str | None, typer.Option("--lock", help="Lock to compare it with.")] = None,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML.")] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write one page with plots (extra `report`)."),
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option("--markdown", help="Write Markdown for a CI summary; - prints it instead."),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option("--compare", help="Older certificate; what fell behind it is not exit 0."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The certificate [.envbuild/certificate.json]."),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option("--sign", help="Sign it with this ed25519 key (PEM): FILE.intoto.jsonl."),
    ] = None,
    attach: Annotated[
        bool, typer.Option("--attach", help="Attach what is signed to the image's registry.")
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option("--record", help="Also keep everything observed, to be judged again."),
    ] = None,
    observed: Annotated[
        Path | None,
        typer.Option("--observed", help="Judge what --record kept; nothing runs, no certificate."),
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="With --observed: a recorded host instead.")
    ] = None,
    image_facts: Annotated[
        Path | None,
        typer.Option("--image-facts", help="With --observed: what the image is, instead."),
    ] = None,
    calibrate: Annotated[
        Path | None,
        typer.Option("--calibrate", help="Write rates that no row knows, as measured, for review."),
    ] = None,
    device: Annotated[str | None, typer.Option("--device", help="GPU to use, by uuid.")] = None,
    node: Annotated[
        str | None,
        typer.Option("--node", help="Name of this machine in it; '' names none [host name]."),
    ] = None,
    faults: Annotated[
        bool,
        typer.Option("--faults", help="Let a kernel fault, too; the machine's log keeps that."),
    ] = False,
    trusted: Annotated[
        bool,
        typer.Option(
            "--trusted",
            help="Not built here: give it a GPU, though the toolkit has holes or is not known.",
        ),
    ] = False,
    access: Annotated[
        str | None, typer.Option("--access", help="GPU access: cdi, gpus, nvidia-runtime, native.")
    ] = None,
) -> int:
    """Prove an image: toolchain, and on the GPU that its kernels run right.

    The exit code is the verdict: 0 certified, 4 this machine cannot show it, 6 the image fails,
    8 inconclusive, 9 the suite proved nothing. The certificate is written whenever its probes ran,
    and after an interruption (130), too, with what was seen before.
    With --compare a core check of a required suite that fell behind is 6 where the image owns it,
    4 where the machine does, and 8 where it can no longer be compared.
    """
    from envbuild.attest import publish
    from envbuild.certify import run
    from envbuild.host.detect import this_machine
    from envbuild.io import files, workspace
    from envbuild.values.codec import dump, replace

    running = {
        "IMAGE": image, "--also": also, "--cc": cc, "--engine": engine, "--rootfs": rootfs,
        "--env": env, "--record": record, "--device": device, "--access": access,
        "--faults": faults, "--trusted": trusted, "--node": node,
    }  # fmt: skip
    _no_idle_flag(observed, running, {"--host": host, "--image-facts": image_facts})
    if require is not None and not suites(require):
        raise InputError("--require names no suite", fix="--require smoke, or leave it out")
    wanted = reports.Reports(junit, html, markdown, compare, output.json)
    old = reports.ready(wanted)
    signer = signing.signer(sign, attach=attach, no_image=bool(observed or rootfs))
    if observed:
        certificate = _replayed(
            observed,
            host=host,
            image_facts=image_facts,
            plan=plan,
            lock=lock,
            require=suites(require) or ("smoke",),
        )
        if out:
            files.write(out, dump(certificate))
        if calibrate:
            _calibrate(certificate, calibrate)
        return reports.show_all(certificate, None, wanted, old)
    node = signing.node(node)
    space = workspace.here()
    target = out or space.path("certificate.json")
    proof = target.with_suffix(".intoto.jsonl") if signer else None
    _can_write(path for path in (target, proof, record, calibrate, *wanted.files) if path)
    policy = run.Policy(
        require=suites(require) or ("smoke",),
        also=_beside(also, require, measured=calibrate is not None),
        cc=capabilities(cc),
        device=device,
        access=access,
        faults=faults,
        trusted=trusted,
    )
    if rootfs or env:
        found, subject, ours = _folder(rootfs, env or [], image or engine)
    else:
        found, subject, ours = _image(image, engine, space, net.net())
        policy = replace(policy, trusted=trusted or (ours and _noted(subject)))
    show.note(f"engine    {found.why}")
    place = signing.place(found, subject, net.net(), attach=attach) if signer else None
    machine = this_machine()
    reports.refuse_other(old, machine)
    seen = run.observations(
        found.engine,
        subject,
        plan=(built := _plan(plan, space if ours else None)),
        lock=(fixed := _lock(lock, space if ours else None)),
        host=machine,
        policy=policy,
        say=show.note,
    )
    certificate = run.state(seen, policy.require, node=node)
    with contextlib.nullcontext() if out else space.held():
        files.write(target, dump(certificate))
    if signer and proof and not seen.interrupted:
        more = publish.known(found.engine, subject, built, fixed)
        signing.publish(
            publish.signed(certificate, more, signer), proof, subject.ref, place, net.net()
        )
    if record:
        files.write(record, dump(seen))
    if calibrate:
        _calibrate(certificate, calibrate)
    code = reports.show_all(certificate, _saved(target, proof, seen), wanted, old)
    if seen.interrupted:
        what, why = "certify was interrupted", f"what it had seen by then is kept in {target}"
        raise InterruptedByUser(what, why=why, fix="run it again for the rest")
    return code


def _saved(target: Path, proof: Path | None, seen: "Seen") -> str:
    return f"{target} (unsigned)" if proof is None or seen.interrupted else f"{proof} (signed)"


def _no_idle_flag(
    observed: Path | None, running: "Mapping[str, object]", replaced: "Mapping[str, object]"
) -> None:
    """Refuse what would have no effect: who gave it would believe that it had.

    Raises:
        InputError: a flag of a run stands beside --observed, or one of a replay without it.
    """
    idle = [name for name, value in (running if observed else replaced).items() if value]
    if idle and observed:
        what = f"with --observed nothing runs: {', '.join(idle)} would have no effect"
        raise InputError(what, fix="leave it out, or leave out --observed to run")
    if idle:
        what = f"{' and '.join(idle)}: that replaces what was observed elsewhere"
        raise InputError(what, fix="give --observed FILE too (envbuild certify --record FILE)")


def _calibrate(certificate: "Certificate", path: Path) -> None:
    """Write the rates that were measured and no row knows."""
    from envbuild.certify.calibrate import overlay
    from envbuild.io import files

    text = overlay(certificate)
    if text is None:
        show.note(f"calibrate every rate that was measured is known: {path} is not written")
        return
    files.write(path, text.encode())
    show.note(f"calibrate {path}: review it, then name its folder in ENVBUILD_MATRICES")


def _replayed(
    observed: Path,
    *,
    host: str | None,
    image_facts: Path | None,
    plan: str | None,
    lock: str | None,
    require: tuple[str, ...],
) -> "Certificate":
    """The verdict of recorded observations, with another host or image in their place."""
    from envbuild.certify.replay import replay
    from envbuild.certify.run import state
    from envbuild.certify.seen import Seen
    from envbuild.io import files
    from envbuild.matrix.load import load as load_matrices
    from envbuild.values.codec import load
    from envbuild.values.host import Host
    from envbuild.values.image import ImageFacts

    seen = replay(
        load(Seen, files.read(observed), str(observed)),
        host=load(Host, files.read(host), host) if host else None,
        facts=load(ImageFacts, files.read(image_facts), str(image_facts)) if image_facts else None,
        plan=_plan(plan, None),
        lock=_lock(lock, None),
        require=require,
        matrices=load_matrices(),
    )
    return state(seen, require, replayed=True)


def _can_write(paths: "Iterable[Path]") -> None:
    """Refuse before anything runs, not after minutes of it.

    Raises:
        MachineError: one of the files cannot be written.
    """
    import os

    for path in paths:
        folder = next(one for one in path.absolute().parents if one.exists())
        if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            what = f"{path} cannot be written"
            raise MachineError(what, fix="choose another place")


def _image(
    ref: str | None, engine: str | None, space: "Workspace", net: "Net"
) -> "tuple[Found, Image, bool]":
    """The engine, the image as that engine has it, and whether it was built here, by any name."""
    from envbuild.certify.subject import repository
    from envbuild.engines.find import holding
    from envbuild.engines.names import mirrored
    from envbuild.values.codec import replace
    from envbuild.values.image import Image

    built = space.load(Image, "image.json")
    if ref is None and built is None:
        what = f"no image is named, and {space.root} holds none"
        raise InputError(what, fix="envbuild certify IMAGE, or build one: envbuild up")
    name = ref or (built.ref if built else "")
    found = holding(name, engine)
    have = found.engine.inspect(name)
    if ref is None and not (have and built and have.config == built.config):
        what = f"{name} was built here, and {found.engine.name} has "
        what += "another image under this name" if have else "it no longer"
        raise StaleError(what, fix="build it again: envbuild build; or name the image to certify")
    subject = have or found.engine.pull(name, net)
    ours = built is not None and subject.config == built.config
    if ours and built is not None:
        subject = replace(subject, builder=built.builder)
    if subject.manifest and "@" not in name and mirrored(name, net):
        # Only a mirror says that this tag is this digest: the user must say so himself.
        what = f"{name} is not pinned, and a mirror answers for it"
        pinned = f"{repository(name)}@{subject.manifest}"
        raise InputError(what, fix=f"say which one you mean: envbuild certify {pinned}")
    return found, subject, ours


def _noted(image: "Image") -> bool:
    """Whether this user built it: a workspace from elsewhere can say anything of itself."""
    from envbuild.io import ours

    return ours.built(image.config)


def _folder(rootfs: str | None, env: list[str], other: str | None) -> "tuple[Found, Image, bool]":
    """A root filesystem in an image's place, on podman."""
    from envbuild.engines.find import Found
    from envbuild.engines.rootfs import RootfsEngine
    from envbuild.values.codec import Pairs

    named = [text.partition("=") for text in env]
    if rootfs is None or other or not all(name and equals for name, equals, _ in named):
        what = "--rootfs FOLDER stands for an image and is run by podman, with --env NAME=VALUE"
        raise InputError(what, fix="envbuild certify --rootfs /srv/system --env PATH=/usr/bin:/bin")
    engine = RootfsEngine(Pairs(tuple((name, value) for name, _, value in named)))
    facts = engine.probe()
    if not facts.answers:
        what = "podman does not answer"
        raise MachineError(
            what, why=facts.says, fix="a root filesystem is run by podman: install it"
        )
    image = engine.inspect(rootfs)
    return Found(engine, facts, f"podman {facts.version} (a root filesystem)"), image, False


def _plan(path: str | None, space: "Workspace | None") -> "Plan | None":
    from envbuild.io import files
    from envbuild.values.codec import load
    from envbuild.values.plan import Plan

    if path is not None:
        return load(Plan, files.read(path), path)
    return space.load(Plan, "plan.json") if space else None


def _lock(path: str | None, space: "Workspace | None") -> "Lock | None":
    from envbuild.io import files
    from envbuild.values.codec import load
    from envbuild.values.lock import Lock

    if path is not None:
        return load(Lock, files.read(path), path)
    return space.load(Lock, "envbuild.lock") if space else None


def _beside(
    also: list[str] | None, require: list[str] | None, *, measured: bool
) -> tuple[str, ...]:
    """Suites that decide nothing; what is to be measured is in `fast`."""
    fast = ("fast",) if measured and "fast" not in suites(require) else ()
    return tuple(dict.fromkeys((*suites(also), *fast)))
