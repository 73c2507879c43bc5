"""What a failed build or a refusal means: which exit code, which lines say so, what to do."""

import re
import shlex
import textwrap

from envbuild.errors import (
    BuildError,
    EnvbuildError,
    ImageError,
    InputError,
    MachineError,
    StaleError,
)
from envbuild.io import unfetched
from envbuild.io.unfetched import Sign

_SHOWN = 8
_WIDTH = 120


# Texts of pip, curl and OpenSSL, and of Go.
_CLOCK = Sign(
    r"certificate is not yet valid|certificate has expired",
    MachineError,
    "a certificate is over or not yet valid, or the clock of the engine's machine is wrong",
    "compare its clock with another (date -u; a VM's may have stood still); if it is right, tell "
    "who runs the server",
)

# First match wins; the texts are those of BuildKit, buildah, apt and pip, each seen in a real run.
_SIGNS = (
    Sign(
        r"no space left on device|No space left on device|disk quota exceeded",
        MachineError,
        "the disk is full",
        "free some space (docker builder prune, podman system prune) and run it again",
    ),
    Sign(
        r"network mode .* not supported",
        InputError,
        "it knows no such network for its steps",
        "--network host, none, or leave it out",
    ),
    Sign(
        r"DO NOT MATCH THE HASHES",
        StaleError,
        "a wheel has another hash than the lock",
        "run it again: one that was cut on the way looks the same; if it stays so, find out why "
        "the index serves other bytes; if that is right: envbuild lock",
    ),
    # The key that NVIDIA signs with since April 2022, so never one that our own lists lack.
    Sign(
        r"NO_PUBKEY A4B469963BF863CC",
        StaleError,
        "the base has a list of NVIDIA's repository that is older than the repository's key",
        "take a newer base, or remove the old list (/etc/apt/sources.list.d/cuda*.list) first",
    ),
    Sign(
        r"nvidia-smi: (?:command )?not found|libcuda\.so\.1: cannot open shared object"
        r"|no CUDA-capable device is detected|Found no NVIDIA driver",
        BuildError,
        "a step looks for a GPU, and there is none at build time",
        "take that out of the Dockerfile: envbuild certify looks at the GPU, in a container",
    ),
    _CLOCK,
    # An archive that is out of reach lacks every version, and says both.
    *unfetched.SIGNS,
    Sign(
        r"E: Version '[^']*' for '[^']*' was not found|Hash Sum mismatch"
        r"|File has unexpected size|E: Failed to fetch \S+  404 |computed checksums? did NOT match",
        StaleError,
        "the archive no longer serves what the lock names",
        "lock it again: envbuild lock",
    ),
    Sign(
        r"REFUSED: ",
        StaleError,
        "an archive of the toolkit must not be unpacked",
        "take another mirror, and tell who runs this one",
    ),
    Sign(
        r"E: The repository '[^']*' does not have a Release file",
        MachineError,
        "a repository is not where it should be",
        "check --toolkit-mirror and --apt-mirror",
    ),
    Sign(
        r"Cannot connect to the Docker daemon|error reading from server: EOF"
        r"|Unavailable.* EOF|transport is closing|connection reset by peer",
        MachineError,
        "the engine went away",
        "start it again, then run the same command: finished steps are kept",
    ),
    Sign(
        r"failed to resolve source metadata|failed to do request|manifest unknown|access denied"
        r"|failed to create LLB definition: (?!dockerfile parse)"
        r"|initializing source docker://|failed to load metadata|failed to authorize",
        MachineError,
        "the base image cannot be had",
        "check the network, --registry-mirror and the digest in envbuild.lock",
    ),
    Sign(
        r"version `GLIBC_\S+' not found \(required by (?:\S*/)?(?:runc|crun|containerd-shim\S*)\)",
        MachineError,
        "the engine's own runtime was made for a newer system and does not start here",
        "install the engine from the packages of this system, or use another one: --engine local",
    ),
    Sign(
        r"running container: from \S+ creating container|OCI permission denied",
        MachineError,
        "the engine cannot start containers on this machine",
        "use another engine: --engine docker, or --engine local",
    ),
    Sign(
        r"failed to create endpoint|failed to set up container networking|network \S+ not found",
        MachineError,
        "the engine has no network for build steps",
        "restart the engine, or give --network host",
    ),
)


def failure(engine: str, log: str, *, offline: bool = False) -> EnvbuildError:
    """What a failed build means, with the lines that say so.

    Args:
        engine: docker or podman.
        log: the engine's combined output.
        offline: its steps had no network.
    """
    from envbuild.advice.built import explained
    from envbuild.lock.repository import refusal

    step, said = evidence(log)
    text = "\n".join(said)
    for sign in _SIGNS:
        if (line := sign.line(text)) is not None:
            what = f"the build with {engine} stopped: {sign.says}"
            barred = offline and sign is unfetched.NETWORK
            fix = "run it once without --offline" if barred else sign.fix
            return sign.kind(what, why=line, fix=fix)
    if unsigned := refusal(text):
        return unsigned
    if told := explained(text):
        what = f"the build with {engine} stopped: {told.says}"
        fix = "; ".join(step.text or shlex.join(step.argv) for step in told.steps)
        return BuildError(what, why=told.why, fix=fix)
    what = f"the build with {engine} failed" + (f" in {_brief(step)}" if step else "")
    why = "\n      ".join(said[-_SHOWN:])
    return BuildError(what, why=why, fix="mend that step, then run it again: others are kept")


def _brief(step: str) -> str:
    """A step as one line that can be read: without its mounts, and no longer than that."""
    return textwrap.shorten(re.sub(r"--mount=\S+", "", step), _WIDTH, placeholder=" …")


def evidence(log: str) -> tuple[str, tuple[str, ...]]:
    """The step that failed, and what it and the engine said about it.

    Lines that only quote the Dockerfile are left out: a command that mentions an error is none.
    """
    lines = log.splitlines()
    numbers = [m.group(1) for line in lines if (m := re.match(r"#(\d+) (?:ERROR|CANCELED)", line))]
    mark = f"#{numbers[-1]} " if numbers else None
    step, said = "", list[str]()
    for line in lines:
        text = line.strip()
        if mark and text.startswith(mark):
            text = text.removeprefix(mark)
            if text.startswith("["):
                step = text
            elif hit := re.match(r"\d+\.\d+ (.*)|(ERROR: .*)", text):
                said.append(hit.group(1) or hit.group(2) or "")
        elif hit := re.match(r"(?:\[\d+/\d+\] )?STEP \d+/\d+: (.*)", text):
            step, said = hit.group(1), []
        elif not mark or re.match(r"ERROR: |failed to ", text):
            # A log that is cut before its end still has the numbers of BuildKit's steps.
            said.append(re.sub(r"^#\d+ \d+\.\d+ ", "", text))
    said = [_unquoted(line.replace(f'"{step}"', "")) for line in said]
    return step, tuple(line for line in said if line.strip("- "))


def _unquoted(line: str) -> str:
    """The line without the command, or the piece of the Dockerfile, that it quotes."""
    line = re.sub(r'(process) ".*"(?= did)|(executor failed running) \[.*\](?=:)', r"\1\2", line)
    return "" if re.match(r"#\d+ |\d+ \||> \[|-+$", line) else line


_REFUSALS = (
    (_CLOCK.pattern, _CLOCK.fix),
    (
        r"unresolvable CDI devices|CDI device",
        "no CDI spec names this device: nvidia-ctk cdi list shows them, cdi generate writes one",
    ),
    (
        r"could not select device driver|AMD CDI spec|no known GPU vendor",
        "install the NVIDIA Container Toolkit and register it here, or write a CDI spec",
    ),
    (
        r"[Uu]nknown (or invalid )?runtime",
        "nvidia-ctk runtime configure, then restart the daemon",
    ),
    (r"no space left on device", "free some space"),
    (
        r"\b429\b|[Tt]oo [Mm]any [Rr]equests|toomanyrequests",
        "the registry counts requests: wait, log in, or take a mirror (--registry-mirror)",
    ),
    (
        r"\b50[0-9] [A-Z]|unexpected EOF|short read|byte range request",
        "the registry broke off: try again; what came is kept",
    ),
    (
        r"manifest unknown|not found|denied|[Uu]nauthorized|\b403 Forbidden",
        "check the name, the digest, the mirror and your login",
    ),
    (
        r"connection refused|no such host|i/o timeout|TLS|tls|x509|Temporary failure",
        "check the network, --registry-mirror and the registry's certificate",
    ),
)


_OTHER_BYTES = (
    r"manifest verification failed|unexpected commit digest|does not match provided manifest digest"
    r"|layer verification failed|Digest did not match"
)


def refused(engine: str, text: str) -> EnvbuildError:
    """An engine's refusal, with what to do where the text is known.

    Other bytes than a digest names are no machine's fault: something differs from its record.
    """
    text = " ".join(text.split())
    if re.search(_OTHER_BYTES, text):
        what = f"{engine} was sent other bytes than the digest names: {text}"
        return StaleError(what, fix="mistrust the mirror; if it is right, lock again")
    fix = next(
        (fix for pattern, fix in _REFUSALS if re.search(pattern, text)), "mend that, try again"
    )
    what = f"{engine} refused: {text}"
    return MachineError(what, fix=fix)


# A start that fails for what the image says of itself: the same on every machine.
_IMAGE = (
    (
        r"unable to find (?:user|group) .*",
        "it has no user or group of the name that it asks for",
        "add it in the Dockerfile before USER, or give numbers there (USER 1000:1000)",
    ),
    (
        r"uids and gids must be in range .*",
        "the number of its user cannot be one",
        "mend USER in its Dockerfile",
    ),
    (
        r"work(?:ing )?dir.*not a directory|[Cc]annot mkdir: .* is not a directory|chdir to cwd .*",
        "its working folder cannot be entered",
        "mend WORKDIR in its Dockerfile",
    ),
    (
        r"cannot be mounted because it is (?:inside|not of type) .*",
        "one of its volumes lies where no volume can be",
        "mend VOLUME in its Dockerfile",
    ),
    (
        r"argument list too long",
        "its environment is too large for a command to start",
        "shorten ENV in its Dockerfile",
    ),
)


def not_run(engine: str, ref: str, text: str) -> EnvbuildError:
    """Why a container of an image did not start: the image's own fault, else the engine's refusal.

    Args:
        engine: docker or podman.
        ref: the image.
        text: what the engine said.
    """
    text = " ".join(text.split())
    for pattern, says, fix in _IMAGE:
        if hit := re.search(pattern, text):
            return ImageError(f"{ref} cannot be started: {says}", why=hit.group(0), fix=fix)
    return refused(engine, text)
