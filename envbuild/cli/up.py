"""``envbuild up``: from a request to a certificate, each stage only when its inputs changed."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import NetFlags, OutputFlags, RequestFlags, expand, suites

if TYPE_CHECKING:
    from envbuild.engines.find import Found
    from envbuild.io.workspace import Workspace
    from envbuild.values.certificate import Certificate
    from envbuild.values.host import Host
    from envbuild.values.lock import Lock
    from envbuild.values.plan import Plan


@expand
def command(
    *,
    request: RequestFlags,
    net: NetFlags,
    output: OutputFlags,
    source: Annotated[str | None, typer.Argument(help="Plan file or envbuild.yaml.")] = None,
    or_cc: Annotated[
        str | None,
        typer.Option("--or-cc", help="Declare this cc where the machine has no GPU to detect."),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", help="Suites that must pass; default: smoke with a GPU here."),
    ] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="docker, podman or local.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", "-t", help="Name of the image.")] = None,
    target: Annotated[str, typer.Option("--target", help="Stage: devel or runtime.")] = "",
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the exact commands; do nothing.")
    ] = False,
) -> int:
    """Plan, lock, build and certify; run it again after an interruption and it goes on."""
    from envbuild import build, up
    from envbuild.cli.source import plan_from
    from envbuild.engines.find import find
    from envbuild.host.detect import this_machine
    from envbuild.io import workspace
    from envbuild.values.finding import Step

    wanted, space = net.net(), workspace.here()
    plan = plan_from(source, _with_fallback(request, source, or_cc))
    found = find(engine, need_build=True, progress=show.note)
    plan = build.fitted(found.engine, plan)
    policy = up.policy(plan, suites(require))
    _show_plan(plan, this_machine(), found)
    name = build.tag_of(plan, target, tag)
    if dry_run:
        lock = build.known_lock(space, plan, say=show.note)
        if lock is None:
            show.note(build.NOT_LOCKED)
        context = build.rendered(plan, lock, None)
        named = () if found.engine.name == "local" else (name,)
        argv = ("envbuild", "certify", *named, "--require", ",".join(policy.suites))
        built = found.engine.build_steps(context, name, wanted, target)
        show.steps([*built, Step(why=f"certify it: {policy.why}", argv=argv)], as_json=output.json)
        return 0
    with space.held(say=show.note):
        started = time.monotonic()
        lock = build.locked(space, plan, wanted, found.engine, say=show.note)
        _line("lock", _lock_says(lock), space.path(build.LOCK) if lock else None, started)
        context = build.rendered(plan, lock, space)
        started = time.monotonic()
        image = build.built(space, context, name, wanted, found.engine, target=target)
        _line("build", image.ref, None, started)
        show.note(f"certify   {', '.join(policy.suites)}: {policy.why}")
        certificate = up.certified(
            space, found.engine, image, plan=plan, lock=lock, suites=policy.suites, say=show.note
        )
    _report(certificate, space, junit, as_json=output.json)
    return certificate.exit


def _with_fallback(flags: RequestFlags, source: str | None, or_cc: str | None) -> RequestFlags:
    from envbuild.host.detect import this_machine
    from envbuild.values.codec import replace

    if source or or_cc is None or flags.cc or flags.gpu or flags.host:
        return flags
    if any(gpu.cc for gpu in this_machine().gpus):
        return flags
    show.note(f"no NVIDIA GPU is detected here: building for cc {or_cc}, declared (--or-cc)")
    return replace(flags, cc=[or_cc])


def _show_plan(plan: "Plan", host: "Host", found: "Found") -> None:
    gpus = ", ".join(f"{gpu.name or 'GPU'} ({gpu.cc or 'cc unknown'})" for gpu in host.gpus)
    driver = host.driver.version if host.driver else None
    says = [gpus or "no NVIDIA GPU", f"driver {driver}" if driver else "no driver"]
    _line("host", ", ".join([*says, host.os.name or "unknown system", found.why]), None, None)
    place = ""
    if found.engine.name != "local":
        compiler = plan.host_compiler
        place = f" on {plan.image.os}" if plan.image.os else ""
        place += f", {compiler.name} {compiler.version}" if compiler and compiler.version else ""
    here = any(finding.id == "toolkit-here" for finding in plan.findings)
    targets = " ".join(f"sm_{name}" for name in plan.promise) or "no compiler"
    origin = "the toolkit here" if here else plan.toolkit_source
    text = f"CUDA {plan.cuda} from {origin}{place}, {targets}"
    _line("plan", f"{plan.outcome}  {text}", None, None)
    for finding in plan.findings:
        if finding.severity == "warn":
            show.warn(finding.says)


def _lock_says(lock: "Lock | None") -> str:
    if lock is None:
        return "nothing to fetch: a toolkit that is here fits"
    parts = [f"{lock.base.ref}@{lock.base.digest[:19]}…"] if lock.base else []
    parts += [f"{len(lock.apt)} packages"] if lock.apt else []
    parts += [f"{len(lock.wheels)} wheels"] if lock.wheels else []
    return ", ".join(parts)


def _line(stage: str, text: str, file: Path | None, started: float | None) -> None:
    tail = f"  → {file}" if file else ""
    tail += f"  {time.monotonic() - started:.1f} s" if started is not None else ""
    show.note(f"{stage:<9} {text}{tail}")


def _report(
    certificate: "Certificate", space: "Workspace", junit: Path | None, *, as_json: bool
) -> None:
    from envbuild.cli.reports import Reports, show_all

    saved = f"{space.path('certificate.json')} (unsigned)"
    show_all(certificate, saved, Reports(junit, json=as_json), None)
