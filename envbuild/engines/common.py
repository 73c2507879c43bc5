"""What docker and podman share about containers: GPU flags, owners, how a start failed."""

import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, cast

from envbuild.engines import names
from envbuild.errors import EnvbuildError, MachineError, StaleError
from envbuild.io.net import Net
from envbuild.values.codec import Pairs
from envbuild.values.finding import Step
from envbuild.values.image import BuildContext, Image

OWNER = "envbuild.owner"
ACCESS = {
    "docker": ("cdi", "gpus", "nvidia-runtime", "none"),
    "podman": ("cdi", "nvidia-runtime", "none"),
}


# Where SELinux is on, a confined container may touch neither our mounts nor a CDI device node.
UNCONFINED = ("--security-opt", "label=disable")


def show_progress(line: str) -> None:
    """The engine's own progress, as it comes, on stderr."""
    print(line, file=sys.stderr, flush=True)


def gpu_flags(engine: str, access: str, devices: Sequence[str] = ()) -> tuple[str, ...]:
    """Command-line flags that bring the GPU in, one entry an argument.

    Args:
        engine: docker or podman.
        access: cdi, gpus, nvidia-runtime or none.
        devices: uuids or indexes; empty = all.

    Raises:
        MachineError: this engine has no such way; running without the GPU would hide that.
    """
    if access not in ACCESS[engine]:
        what = f"{engine} has no GPU access mode {access!r}"
        raise MachineError(what, fix=f"one of {', '.join(ACCESS[engine])}")
    wanted = tuple(devices) or ("all",)
    if access == "cdi":
        named = (part for name in wanted for part in ("--device", f"nvidia.com/gpu={name}"))
        return (*named, *(UNCONFINED if engine == "podman" else ()))
    if access == "gpus":
        # Docker reads a comma as its own separator unless the whole value is quoted.
        return ("--gpus", "all" if wanted == ("all",) else f'"device={",".join(wanted)}"')
    if access == "nvidia-runtime":
        return ("--runtime", "nvidia", "--env", f"NVIDIA_VISIBLE_DEVICES={','.join(wanted)}")
    return ()


def pull_steps(client: str, context: BuildContext, net: Net) -> tuple[Step, ...]:
    """The commands that bring a build's bases from the mirror under the names it uses."""
    found = []
    for ref in context.bases:
        if source := names.mirrored(ref, net):
            digest = names.digest_of(ref)
            name = names.local_base(digest) if digest else ref
            found.append(Step(why="the base, from the mirror", argv=(client, "pull", source)))
            found.append(Step(why="under a local name", argv=(client, "tag", source, name)))
    return tuple(found)


class Store(Protocol):
    """What fetching an image takes of an engine."""

    name: str

    def inspect(self, ref: str) -> Image | None:
        """The image if the engine has it."""

    def fetch(self, source: str, net: Net) -> None:
        """Bring the image from where ``source`` says."""

    def tag(self, source: str, name: str) -> None:
        """Give an image another name."""


def pull(store: Store, ref: str, net: Net, platform: str) -> Image:
    """Fetch an image through the mirror, checked by digest; it then runs under ``ref``.

    The registry is asked for the manifest of the platform, so that the digest of an index is
    never taken for an image's.

    Raises:
        MachineError: the registry does not answer or lacks it, or nothing may be fetched.
        StaleError: what came is not what its digest says.
    """
    digest = names.digest_of(ref)
    image = store.inspect(ref)
    if image and (net.offline or (digest and image.manifest)):
        return image
    if net.offline:
        what = f"{ref} is not here, and --offline fetches nothing"
        raise MachineError(what, fix="pull it while there is a network")
    from envbuild.io import oci

    place, manifest, *_ = oci.resolve(ref, platform, net)
    source = f"{place.registry}/{place.repository}@{manifest}"
    store.fetch(source, net)
    store.tag(source, names.local_base(manifest))
    if digest is None:
        store.tag(source, ref)
    elif digest != manifest:
        store.tag(source, names.local_index(digest))
    if (image := store.inspect(ref)) is None:
        what = f"{store.name} pulled {source} and does not show it as {ref}"
        raise MachineError(what, fix="pull it by hand and look")
    return image


def local_bases(store: Store, context: BuildContext, net: Net) -> dict[str, str]:
    """Bring what a mirror serves; each base that the engine knows by a local name, with it."""
    found: dict[str, str] = {}
    for ref in context.bases:
        if net.offline or names.mirrored(ref, net):
            pull(store, ref, net, context.platform or native_platform())
        digest = names.digest_of(ref)
        if digest and store.inspect(names.local_base(digest)):
            found[ref] = names.local_base(digest)
    return found


def native_platform() -> str:
    """The platform of this machine, as images spell it."""
    from envbuild.render.view import PLATFORMS

    return PLATFORMS.get(platform.machine(), f"linux/{platform.machine()}")


def command(ref: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Image and command at the end of a ``run`` line; a command replaces the entrypoint."""
    return ("--entrypoint", argv[0], ref, *argv[1:]) if argv else (ref,)


def attached(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a client with this terminal; Ctrl-C is the container's. Its exit code.

    Raises:
        MachineError: the client cannot be started.
    """
    try:
        process = subprocess.Popen(list(argv), env={**os.environ, **env})
    except OSError as e:
        what = f"{argv[0]} cannot be started: {e}"
        raise MachineError(what, fix=f"install {argv[0]}") from e
    with process:
        while process.poll() is None:
            # The terminal sends Ctrl-C to the client, too; what it does then is the result.
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()
    return process.returncode


def not_started(text: str) -> int | None:
    """127 or 126 as a shell gives them where the image lacks the command; None = another cause."""
    if re.search(r"executable file.* not found|stat .*: no such file or directory", text):
        return 127
    if re.search(r"exec.*(permission denied|exec format error|is a directory)", text):
        return 126
    return None


_REFUSALS = (
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
        r"manifest unknown|not found|denied|unauthorized",
        "check the name, the digest, the mirror and your login",
    ),
    (
        r"connection refused|no such host|i/o timeout|TLS|tls|x509|Temporary failure",
        "check the network, --registry-mirror and the registry's certificate",
    ),
)


_OTHER_BYTES = (
    r"manifest verification failed|unexpected commit digest|does not match provided manifest digest"
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


def manifest_of(attrs: Mapping[str, Any]) -> str | None:
    """The digest of the platform manifest, where an engine's ``inspect`` proves it.

    A repository digest may be an index's. It is a manifest's if the store says so (containerd),
    or if we pulled the image by it, which our local name tells.
    """
    descriptor = attrs.get("Descriptor") or {}
    if str(descriptor.get("mediaType", "")).endswith(("manifest.v2+json", "manifest.v1+json")):
        return str(descriptor["digest"])
    for tag in attrs.get("RepoTags") or ():
        if tag.startswith(names.local_base("")):
            return "sha256:" + str(tag).rpartition(":")[2]
    return None


def env_pairs(env: Iterable[str] | None) -> Pairs:
    """An image's environment."""
    return Pairs(tuple((k, v) for k, _, v in (e.partition("=") for e in env or ())))


class _Chunks:
    """The reading half of a file over chunks of bytes, as `tarfile` wants it."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (chunk := next(self._chunks, b"")):
            self._rest += chunk
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def saved_config(chunks: Iterable[bytes], image_id: str) -> str:
    """The config digest of an image whose engine names it otherwise, from its ``save`` stream.

    Args:
        chunks: the tar, as it comes; read no further than needed.
        image_id: the engine's name for it, the digest of a manifest or of an index.

    Raises:
        MachineError: the stream ended without it.
    """
    wanted = f"blobs/sha256/{image_id.removeprefix('sha256:')}"
    stream = cast("IO[bytes]", _Chunks(iter(chunks)))
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            if member.name not in {wanted, "manifest.json"}:
                continue
            blob = tar.extractfile(member)
            data = json.load(blob) if blob else {}
            if member.name == "manifest.json":
                return "sha256:" + str(data[0]["Config"]).rpartition("/")[2].removesuffix(".json")
            if "config" in data:
                return str(data["config"]["digest"])
    what = f"the engine's copy of {image_id} holds no manifest"
    raise MachineError(what, fix="pull or build it again")


def owner() -> str:
    """Names this process among all that this machine ever started."""
    return f"{_namespace()}/{os.getpid()}/{_started(os.getpid())}"


def abandoned(token: str) -> bool:
    """Whether the process that an `owner` label names is known to be gone."""
    namespace, _, rest = token.rpartition("/")[0].rpartition("/")
    started = token.rpartition("/")[2]
    if namespace != _namespace() or not rest.isdigit() or not started:
        return False
    return _started(int(rest)) != started


def _namespace() -> str:
    """This boot and this PID namespace: a process id means nothing in another."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "unknown"


def _started(pid: int) -> str:
    """Start time of a living process in ticks since boot, empty for none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # Fields are counted from the last bracket: the program's name may hold anything.
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
