"""Docker's command line: which client reaches BuildKit, which daemon, and what to tell it."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from envbuild.engines.staging import Order, Staged
from envbuild.host import cdi, containers, look
from envbuild.io import dockerconfig, proc
from envbuild.values.host import EngineFacts

_PATIENCE = {"ENVBUILD_PROBE_TIMEOUT": "20"}


class Export(NamedTuple):
    """An OCI archive in which no time is later than a given one, in place of the daemon's store.

    Attributes:
        file: where it is written.
        epoch: SOURCE_DATE_EPOCH, seconds.
        fresh: every step runs again, whatever is cached.
    """

    file: Path
    epoch: int
    fresh: bool = False

    def flags(self) -> list[str]:
        """As buildx spells it, one entry an argument."""
        # One field of a list with commas; quoted, it may hold one.
        file = str(self.file).replace('"', '""')
        output = f'type=oci,"dest={file}",rewrite-timestamp=true'
        argv = ["--output", output, "--build-arg", f"SOURCE_DATE_EPOCH={self.epoch}"]
        return argv + ["--no-cache"] * self.fresh


def clients() -> tuple[str, ...]:
    """Every docker client here; the first on PATH may not be the one that can build."""
    return containers.docker_clis(look.here())


def probe() -> EngineFacts | None:
    """The client to use, and what its daemon says: one with buildx, else one that holds BuildKit.

    More patient than ``detect``: a busy daemon is still the one to build with.
    """
    here = look.here(_PATIENCE | dict(os.environ))
    asked: dict[tuple[str, ...], proc.Completed] = {}

    def once(argv: Sequence[str], env: Mapping[str, str], limit: float) -> proc.Completed:
        if tuple(argv) not in asked:
            asked[tuple(argv)] = here.runner(argv, env, limit)
        return asked[tuple(argv)]

    mine = dataclasses.replace(here, runner=once)
    found: dict[str | None, str] = {}
    for cli in containers.docker_clis(mine):
        kind = containers.buildkit(mine, cli)
        found.setdefault(kind, cli)
        if kind == "buildx":
            break
    for kind in ("buildx", "DOCKER_BUILDKIT", None):
        if kind in found:
            return containers.docker(mine, found[kind], cdi.probe(mine)[0])
    return None


def endpoint(cli: str | None) -> str:
    """The daemon that a client would speak to; the SDK does not read docker's contexts."""
    if host := os.environ.get("DOCKER_HOST"):
        return host
    if cli and dockerconfig.context():
        argv = (cli, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
        done = proc.run(argv, timeout=20)
        if done.rc == 0 and "://" in done.out:
            return done.out.strip()
    return "unix:///var/run/docker.sock"


def variables(client: EngineFacts) -> dict[str, str]:
    """What a build needs in its environment, whichever client runs it."""
    if client.buildkit == "DOCKER_BUILDKIT":
        return {"DOCKER_BUILDKIT": "1"}
    # An attestation would turn the image into an index; provenance is written apart. A variable,
    # since a buildx that knows no attestations takes no flag about them.
    return {"BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}


def environment(client: EngineFacts, endpoint: str) -> Mapping[str, str]:
    """Variables of the build process: the daemon that our API calls reach, no other builder."""
    own = {k: v for k, v in os.environ.items() if k not in {"BUILDX_BUILDER", "DOCKER_CONTEXT"}}
    return own | variables(client) | {"DOCKER_HOST": endpoint}


def command(
    client: EngineFacts, staged: Staged, work: Path, order: Order, export: Export | None = None
) -> tuple[str, ...]:
    """The build command, one entry an argument.

    Args:
        client: from `probe`.
        staged: the context on disk.
        work: private folder for the files that the client writes (image id, metadata).
        order: what is to be built.
        export: the image goes to a file, None = to the daemon's store; buildx alone can.
    """
    if client.buildkit == "buildx":
        # The builder of the daemon itself: others see neither its images nor our local base.
        argv = [str(client.cli), "buildx", "build", "--builder", "default"]
        argv += export.flags() if export else ["--load"]
        argv += ["--metadata-file", str(work / "metadata.json")]
    else:
        argv = [str(client.cli), "build"]
    argv += ["--progress", "plain", "--iidfile", str(work / "iid")]
    argv += ["--file", str(staged.dockerfile)]
    argv += order.flags()
    for name, path in staged.secrets:
        argv += ["--secret", f"id={name},src={path}"]
    for variable in order.unset:
        # Named here, docker's config no longer gives it a text.
        argv += ["--build-arg", f"{variable.upper()}=", "--build-arg", f"{variable}="]
    return (*argv, str(staged.context))
