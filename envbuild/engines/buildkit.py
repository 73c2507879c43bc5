"""BuildKit through docker's command line: which client can reach it, and what to tell it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from envbuild.engines.staging import Order, Staged
from envbuild.host import cdi, containers, look
from envbuild.io import proc
from envbuild.values.host import EngineFacts

_PATIENCE = {"ENVBUILD_PROBE_TIMEOUT": "20"}


def probe() -> tuple[EngineFacts, ...]:
    """Every docker client here: whether its daemon answers, how it reaches BuildKit.

    More patient than ``detect``: a busy daemon is still the one to build with.
    """
    here = look.here(_PATIENCE | dict(os.environ))
    specs = cdi.probe(here)[0]
    return tuple(containers.docker(here, cli, specs) for cli in containers.docker_clis(here))


def best(found: Sequence[EngineFacts]) -> EngineFacts | None:
    """The client to build with: buildx wherever it stands, else BuildKit inside the client."""
    for builder in ("buildx", "DOCKER_BUILDKIT"):
        for client in found:
            if client.buildkit == builder:
                return client
    return None


def environment(client: EngineFacts, endpoint: str) -> Mapping[str, str]:
    """Variables of the build process: the daemon that our API calls reach, no other builder."""
    chosen = {k: v for k, v in os.environ.items() if k not in {"BUILDX_BUILDER", "DOCKER_CONTEXT"}}
    chosen["DOCKER_HOST"] = endpoint
    if client.buildkit == "DOCKER_BUILDKIT":
        chosen["DOCKER_BUILDKIT"] = "1"
    return chosen


def _options(client: EngineFacts) -> str:
    """The help text of buildx: what it does not name, it does not take."""
    return proc.run((str(client.cli), "buildx", "build", "--help"), timeout=20).out


def command(client: EngineFacts, staged: Staged, work: Path, order: Order) -> tuple[str, ...]:
    """The build command, one entry an argument.

    Args:
        client: from `best`.
        staged: the context on disk.
        work: private folder for the files that the client writes (image id, metadata).
        order: what is to be built.
    """
    if client.buildkit == "buildx":
        # The builder of the daemon itself: others see neither its images nor our local base.
        argv = [str(client.cli), "buildx", "build", "--builder", "default", "--load"]
        argv += ["--metadata-file", str(work / "metadata.json")]
        if "--provenance" in _options(client):
            # An attestation would turn the image into an index; provenance is written apart.
            argv.append("--provenance=false")
    else:
        argv = [str(client.cli), "build"]
    argv += ["--progress", "plain", "--iidfile", str(work / "iid")]
    argv += ["--file", str(staged.dockerfile)]
    argv += order.flags()
    for name, path in staged.secrets:
        argv += ["--secret", f"id={name},src={path}"]
    return (*argv, str(staged.context))
