"""What a failed build means: which exit code, which lines say so, what to do."""

import re
from typing import NamedTuple

from envbuild.errors import BuildError, EnvbuildError, MachineError, StaleError


class _Sign(NamedTuple):
    pattern: str
    kind: type[EnvbuildError]
    says: str
    fix: str


# First match wins; the texts are those of BuildKit, buildah, apt and pip, each seen in a real run.
_SIGNS = (
    _Sign(
        r"no space left on device|No space left on device|disk quota exceeded",
        MachineError,
        "the disk is full",
        "free some space (docker builder prune, podman system prune) and run it again",
    ),
    _Sign(
        r"DO NOT MATCH THE HASHES",
        StaleError,
        "a wheel has another hash than the lock",
        "find out why the index serves other bytes; if that is right: envbuild lock",
    ),
    _Sign(
        r"E: Version '[^']*' for '[^']*' was not found|Hash Sum mismatch",
        StaleError,
        "the archive no longer serves what the lock names",
        "lock it again: envbuild lock",
    ),
    _Sign(
        r"Cannot connect to the Docker daemon|error reading from server: EOF"
        r"|Unavailable.* EOF|transport is closing|connection reset by peer",
        MachineError,
        "the engine went away",
        "start it again, then run the same command: finished steps are kept",
    ),
    _Sign(
        r"failed to resolve source metadata|failed to do request|manifest unknown|access denied"
        r"|initializing source docker://|failed to load metadata|failed to authorize",
        MachineError,
        "the base image cannot be had",
        "check the network, --registry-mirror and the digest in envbuild.lock",
    ),
    _Sign(
        r"running container: from \S+ creating container|OCI permission denied",
        MachineError,
        "the engine cannot start containers on this machine",
        "use another engine: --engine docker, or --engine local",
    ),
    _Sign(
        r"failed to create endpoint|failed to set up container networking|network \S+ not found",
        MachineError,
        "the engine has no network for build steps",
        "restart the engine, or give --network host",
    ),
    _Sign(
        r"Temporary failure resolving|Could not resolve host|Temporary failure in name resolution"
        r"|Could not connect to|Failed to establish a new connection|CERTIFICATE_VERIFY_FAILED"
        r"|Network is unreachable|certificate verify failed|Could not handshake",
        MachineError,
        "a step could not reach the network",
        "check --network, --apt-mirror, --index-url and --ca-cert",
    ),
)


def failure(engine: str, log: str) -> EnvbuildError:
    """What a failed build means, with the lines that say so.

    Args:
        engine: docker or podman.
        log: the engine's combined output.
    """
    for sign in _SIGNS:
        if hit := re.search(rf"(?m)^.*(?:{sign.pattern}).*$", log):
            what = f"the build with {engine} stopped: {sign.says}"
            return sign.kind(what, why=_bare(hit.group(0)), fix=sign.fix)
    what = f"the build with {engine} failed"
    return BuildError(what, why="\n      ".join(useful_lines(log)), fix="mend the step named above")


def useful_lines(log: str, count: int = 8) -> tuple[str, ...]:
    """The last lines that say what went wrong: the failing step, and what its command printed."""
    lines = [line for line in map(_bare, log.splitlines()) if line.strip("- ")]
    # BuildKit ends with the failing step once more, and its last output.
    steps = [i for i, line in enumerate(lines) if line.startswith("> [")]
    return tuple(lines[steps[-1] :][:count] if steps else lines[-count:])


def _bare(line: str) -> str:
    """A line of progress without BuildKit's step number and time."""
    return re.sub(r"^#\d+ (?:\d+\.\d+ )?", "", line.strip())
