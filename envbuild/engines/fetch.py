"""How an image comes to an engine, and which digests of it are proven."""

import json
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Protocol, cast

from envbuild.engines import bundled, names
from envbuild.errors import MachineError
from envbuild.io.net import Net
from envbuild.io.workspace import private_folder
from envbuild.values.finding import Step
from envbuild.values.image import BuildContext, Image


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

    def take(self, file: Path) -> None:
        """Take the images of an archive into the store, under the names that it gives them."""


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
        if net.bundle:
            _from_bundle(store, ref, Path(net.bundle))
        elif net.offline or names.mirrored(ref, net):
            pull(store, ref, net, context.platform or names.platform_here())
        digest = names.digest_of(ref)
        if digest and store.inspect(names.local_base(digest)):
            found[ref] = names.local_base(digest)
    return found


def _from_bundle(store: Store, ref: str, folder: Path) -> None:
    """Bring a base from a bundle, unless the engine has it already."""
    if store.inspect(names.local_base(names.digest_of(ref) or "")) is None:
        with private_folder() as work:
            bundled.image(folder, ref, work / "base.tar")
            store.take(work / "base.tar")


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
