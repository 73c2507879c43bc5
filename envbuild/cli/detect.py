"""``envbuild detect``: what this machine is, for people or as a record that ``--host`` replays."""

from typing import Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import OutputFlags, expand
from envbuild.values.host import EngineFacts, Gpu, Host, Tool

Rows = list[tuple[str, str]]


@expand
def command(
    flags: OutputFlags,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the record to a file.")
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Show a recorded host instead of this one.")
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Leave out uuids and home folders.")
    ] = False,
) -> int:
    """Show what this machine is; record it with --json or -o."""
    facts = _recorded(host) if host is not None else _now(record=flags.json or output is not None)
    if redact:
        from envbuild.host.redact import redact as redacted

        facts = redacted(facts)
    if output is not None:
        from envbuild.io import files
        from envbuild.values.codec import dump

        files.write(output, dump(facts))
        show.note(f"written to {output}; replay it with --host {output}")
    if flags.json:
        show.json(facts)
    elif output is None:
        for label, text in table(facts):
            show.result(f"{show.paint(f'{label:<9}', 'bold')} {show.clean(text)}")
    return 0


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


def table(host: Host) -> Rows:
    """The host as labelled lines; what is not there is said, not left out."""
    rows: Rows = [("gpu", _gpu(gpu)) for gpu in host.gpus] or [("gpu", "none found")]
    rows.append(("driver", _driver(host)))
    name = _words(host.os.name or host.platform, host.os.id and f"({host.os.id})")
    kernel = host.os.kernel and f"kernel {host.os.kernel}"
    glibc = host.os.glibc and f"glibc {host.os.glibc}"
    rows.append(("system", _commas(name, kernel, glibc, host.os.arch)))
    if host.wsl:
        rows.append(("wsl", _words(f"WSL {host.wsl.generation}", host.wsl.version)))
    if host.jetson:
        rows.append(("jetson", _words(host.jetson.model, host.jetson.l4t)))
    if host.inside_container:
        rows.append(("inside", f"this is a container ({host.inside_container})"))
    rows.append(("compiler", " · ".join(map(_tool, host.compilers)) or "none on PATH"))
    rows += [
        ("toolkit", _words("CUDA", t.version, t.path, f"({t.source})")) for t in host.toolkits
    ] or [("toolkit", "no CUDA toolkit found")]
    rows += [("engine", _engine(e)) for e in host.engines] or [
        ("engine", "no docker, podman or apptainer: the local engine needs none")
    ]
    if host.container_toolkit:
        rows.append(("ctk", _words("NVIDIA container toolkit", host.container_toolkit.version)))
    rows += [("cdi", _words(c.path, c.version, f"({len(c.devices)} devices)")) for c in host.cdi]
    if host.python:
        rows.append(("python", _words(host.python.version, host.python.path)))
    rows += [("env", f"{name}={value}") for name, value in host.env]
    rows += [("failed", f"{p.name}: {p.says}") for p in host.probes if not p.ok]
    if host.kind != "detected" and host.recorded:
        rows.append((host.kind, host.recorded))
    return rows


def _words(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)


def _commas(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)


def _gpu(gpu: Gpu) -> str:
    return _commas(
        gpu.name or "unnamed",
        f"cc {gpu.cc}" if gpu.cc else "cc not known",
        f"{gpu.memory_mib} MiB" if gpu.memory_mib else None,
        f"MIG on, {len(gpu.mig.instances)} instances" if gpu.mig and gpu.mig.enabled else None,
        _words(gpu.pci_bus, gpu.pci_id and f"({gpu.pci_id})"),
        gpu.uuid,
        gpu.source and f"from {gpu.source}",
    )


def _driver(host: Host) -> str:
    driver = host.driver
    if driver is None:
        return "part of L4T, version not known" if host.jetson else "none loaded"
    return _commas(
        driver.version or "version not known",
        f"up to CUDA {driver.cuda}" if driver.cuda else "CUDA level not known",
        driver.module and f"{driver.module} kernel module",
        driver.source and f"from {driver.source}",
    )


def _tool(tool: Tool) -> str:
    return _words(tool.name, tool.version or "(version not known)")


def _engine(engine: EngineFacts) -> str:
    head = _words(engine.name, engine.version, engine.cli)
    if not engine.answers:
        return f"{head}: does not answer: {engine.says or 'no reason given'}"
    return _commas(
        head,
        f"BuildKit: {engine.buildkit or 'not with this client'}"
        if engine.name == "docker"
        else None,
        f"GPU access: {', '.join(engine.access) or 'none'}",
        "rootless" if engine.rootless else None,
    )
