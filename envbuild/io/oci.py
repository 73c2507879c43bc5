"""Registries (distribution API v2): resolve a reference, fetch blobs, check every digest."""

import hashlib
import re
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import msgspec
import requests

from envbuild.errors import InputError, MachineError, StaleError
from envbuild.io import http
from envbuild.io.net import Net
from envbuild.io.registry import HUB, Repository
from envbuild.io.registry import Reference as Reference

_DOCKER = "application/vnd.docker.distribution.manifest"
_OCI = "application/vnd.oci.image"
_INDEXES = (f"{_OCI}.index.v1+json", f"{_DOCKER}.list.v2+json")
#: Media types of a platform manifest.
MANIFESTS = (f"{_OCI}.manifest.v1+json", f"{_DOCKER}.v2+json")
_REFERENCE = re.compile(
    r"(?P<name>((\[[0-9a-fA-F:]+\]|[a-zA-Z0-9][a-zA-Z0-9.-]*)(:\d+)?/)?"
    r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*)*)"
    r"(:(?P<tag>\w[\w.-]{0,127}))?(@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)


#: A digest that we can check.
Digest = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]


class _Platform(msgspec.Struct):
    os: str = ""
    architecture: str = ""

    def __str__(self) -> str:
        return f"{self.os}/{self.architecture}"


class _Descriptor(msgspec.Struct, rename="camel"):
    digest: Digest
    media_type: str = ""
    platform: _Platform | None = None


class _Document(msgspec.Struct, rename="camel"):
    """An index (``manifests``) or a manifest of one platform."""

    media_type: str = ""
    manifests: tuple[_Descriptor, ...] | None = None
    config: _Descriptor | None = None
    layers: tuple[_Descriptor, ...] | None = None


class Manifest(NamedTuple):
    """A platform manifest, checked: its digest, its config and its layers, bottom first.

    ``size`` is its own in bytes; with ``media_type`` and ``digest`` it can be a subject.
    """

    reference: Reference
    digest: str
    config: str
    layers: tuple[tuple[str, str], ...]
    size: int
    media_type: str


class _Answer(NamedTuple):
    """A manifest or index as it came: read, and what a descriptor of it says."""

    document: _Document
    digest: str
    size: int
    media_type: str


def parse(ref: str) -> Reference:
    """The parts of a reference, docker.io and ``library/`` filled in.

    Raises:
        InputError: it is not one.
    """
    match = _REFERENCE.fullmatch(ref)
    if match is None:
        what = f"{ref!r} is not an image reference"
        fix = (
            "write registry/repository:tag, or repository@sha256:..., the repository in lower case"
        )
        raise InputError(what, fix=fix)
    first, slash, rest = match["name"].partition("/")
    if not slash or not (set(first) & {".", ":", "["} or first == "localhost"):
        first, rest = HUB, match["name"]
    if first == HUB and "/" not in rest:
        rest = f"library/{rest}"
    return Reference(first, rest, match["tag"] or "latest", match["digest"])


def at_mirror(reference: Reference, net: Net) -> Reference:
    """Where the reference is fetched: docker.io's repositories from the mirror, if there is one."""
    if net.registry_mirror is None or reference.registry != HUB:
        return reference
    host, _, prefix = net.registry_mirror.strip("/").partition("/")
    path = f"{prefix}/{reference.repository}" if prefix else reference.repository
    return reference._replace(registry=host, repository=path)


def resolve(ref: str, platform: str, net: Net) -> Manifest:
    """The manifest of one platform (``linux/amd64``), through an index where there is one.

    Raises:
        InputError: not a reference.
        MachineError: the registry does not answer, or does not have it for this platform.
        StaleError: what came is not what its digest says.
    """
    wanted = at_mirror(parse(ref), net)
    answer = _manifest(wanted, net)
    if answer.document.manifests is not None:
        digest = _choose(answer.document.manifests, platform, ref)
        answer = _manifest(wanted._replace(digest=digest), net)
    else:
        _check_platform(wanted, answer.document, platform, net)
    config, found = _parts(answer.document, wanted)
    layers = tuple((layer.media_type, layer.digest) for layer in found)
    _, digest, size, kind = answer
    return Manifest(wanted, digest, config.digest, layers, size, kind)


def document(manifest: Manifest, net: Net) -> bytes:
    """The manifest itself, byte for byte.

    Raises:
        MachineError: the registry does not answer, or no longer has it.
        StaleError: it sends other bytes.
    """
    repository = Repository(manifest.reference, net)
    headers = {"Accept": manifest.media_type}
    url = repository.url(f"manifests/{manifest.digest}")
    data: bytes = repository.ask("GET", url, headers=headers).content
    _compare(manifest.digest, hashlib.sha256(data).hexdigest(), manifest.reference)
    return data


def blob(reference: Reference, digest: str, net: Net) -> Iterator[bytes]:
    """The bytes of a blob in pieces; the digest is checked when the last one was read.

    Raises:
        MachineError: it is not there, or the connection broke.
        StaleError: its bytes are not what the digest says.
    """
    repository = Repository(reference, net)
    response = repository.ask("GET", repository.url(f"blobs/{digest}"), stream=True)
    seen = hashlib.sha256()
    try:
        for piece in http.pieces(response):
            seen.update(piece)
            yield piece
    except requests.exceptions.RequestException as e:
        what = f"{reference.registry} broke off while sending {digest[:19]}"
        raise MachineError(what, fix="run it again") from e
    _compare(digest, seen.hexdigest(), reference)


def _manifest(reference: Reference, net: Net) -> _Answer:
    repository = Repository(reference, net)
    url = repository.url(f"manifests/{reference.digest or reference.tag}")
    headers = {"Accept": ", ".join(_INDEXES + MANIFESTS)}
    response = repository.ask("GET", url, headers=headers)
    seen = hashlib.sha256(response.content).hexdigest()
    _compare(reference.digest or f"sha256:{seen}", seen, reference)
    document = http.decoded(response, _Document, "an image manifest")
    if document.manifests is None:
        _parts(document, reference)
    # The digest covers what the document says of itself; the header is for one that says nothing.
    header = response.headers.get("Content-Type", "")
    kind = document.media_type or (header if header in MANIFESTS else MANIFESTS[0])
    return _Answer(document, f"sha256:{seen}", len(response.content), kind)


def _parts(
    document: _Document, reference: Reference
) -> tuple[_Descriptor, tuple[_Descriptor, ...]]:
    """Config and layers of a platform's manifest."""
    if document.config is None or document.layers is None:
        name = reference.digest or reference.tag
        what = f"{reference.registry}/{reference.repository}:{name} is not an image manifest"
        raise MachineError(what, fix="check the registry; schema 1 images are not supported")
    return document.config, document.layers


def _compare(digest: str, seen: str, reference: Reference) -> None:
    if digest != f"sha256:{seen}":
        what = f"{reference.registry}/{reference.repository} sent other bytes than {digest}"
        raise StaleError(
            what, why=f"they are sha256:{seen}", fix="do not use this registry; try another one"
        )


def _choose(listed: tuple[_Descriptor, ...], platform: str, ref: str) -> str:
    """The digest of the platform's manifest in an index; attestations are of no platform."""
    found = {str(entry.platform): entry.digest for entry in reversed(listed) if entry.platform}
    if platform not in found:
        raise _other_platform(ref, platform, ", ".join(sorted(found)))
    return found[platform]


def _check_platform(reference: Reference, document: _Document, platform: str, net: Net) -> None:
    config, _ = _parts(document, reference)
    data = b"".join(blob(reference, config.digest, net))
    try:
        has = str(msgspec.json.decode(data, type=_Platform))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        has = "a config that cannot be read"
    if has != platform:
        name = f"{reference.repository}:{reference.tag}"
        raise _other_platform(name, platform, has)


def _other_platform(ref: str, platform: str, has: str) -> MachineError:
    what = f"{ref} is not there for {platform}"
    return MachineError(what, why=f"the registry has {has}", fix="choose another base or --arch")
