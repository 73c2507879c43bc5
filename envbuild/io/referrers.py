"""What is attached to an image in its registry (OCI referrers): added, listed, fetched."""

import re
from typing import Annotated, NamedTuple, Protocol

import msgspec
import requests

from envbuild.errors import InputError, MachineError, StaleError
from envbuild.io import http, listing, oci, push
from envbuild.io.net import Net
from envbuild.io.registry import HUB, Repository

ENVELOPE = "application/vnd.dsse.envelope.v1+json"
STATEMENT = "application/vnd.in-toto+json"
PREDICATE = "in-toto.io/predicate-type"
_TITLE = "org.opencontainers.image.title"
_CREATED = "org.opencontainers.image.created"
_EMPTY = "application/vnd.oci.empty.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
#: Bytes of an envelope, and of the manifest and config of an artifact.
LARGEST, LARGEST_MANIFEST = 32 << 20, 256 << 10

_WORD = re.compile(r"[A-Za-z][A-Za-z-]{1,30}", re.ASCII)

_Size = Annotated[int, msgspec.Meta(ge=0)]


class Subject(Protocol):
    """What something is attached to, as its descriptor says; an `oci.Manifest` is one."""

    @property
    def digest(self) -> str:
        """``sha256:...`` of the platform manifest."""

    @property
    def size(self) -> int:
        """Its length in bytes."""

    @property
    def media_type(self) -> str:
        """What kind of manifest it is."""


class Referrer(NamedTuple):
    """An artifact that refers to an image, as its registry lists it; nothing of it is proven.

    Attributes:
        digest: of the artifact's manifest.
        artifact_type: media type of what it is.
        predicate: type of the statement in it; empty where the list does not say.
        size: of the artifact's manifest, in bytes.
        subject: digest of the image's manifest, in whose list it is.
    """

    digest: str
    artifact_type: str
    predicate: str
    size: int
    subject: str


class _Part(msgspec.Struct):
    digest: oci.Digest
    size: _Size


class _Artifact(msgspec.Struct):
    config: _Part
    layers: tuple[_Part, ...]
    subject: _Part | None = None


def attach(
    reference: oci.Reference,
    subject: Subject,
    envelope: bytes,
    *,
    predicate: str,
    net: Net,
    created: str | None = None,
) -> str:
    """Attach an envelope to an image; the digest of the manifest of what was attached.

    Equal arguments give equal bytes, and what is attached already is not written again.

    Args:
        reference: the image as it is named, before mirrors (`oci.parse`).
        subject: its platform manifest.
        envelope: DSSE, at most `LARGEST` bytes.
        predicate: type of the statement in it.
        net: how the registry is reached.
        created: RFC 3339 time for the annotation, None = without.

    Raises:
        InputError: the envelope is too long, or the image is read through a mirror.
        MachineError: the registry does not answer, does not take it, or holds something else
            where the list should be; other writers do not let us into the list.
        StaleError: the registry says that it stored something else.
    """
    if reference.registry == HUB and net.registry_mirror is not None:
        what = f"{HUB}/{reference.repository} is read through a mirror, which takes no attachments"
        raise InputError(what, fix="push the image to a registry of yours, or drop the mirror")
    if len(envelope) > LARGEST:
        what = f"an envelope of {len(envelope)} bytes is not attached: {LARGEST} are the most"
        raise InputError(what, fix="attach less at a time")
    title = _title(predicate, envelope)
    annotations = {PREDICATE: predicate} | ({_CREATED: created} if created else {})
    data = msgspec.json.encode(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "artifactType": STATEMENT,
            "config": _descriptor(_EMPTY, b"{}"),
            "layers": [_descriptor(ENVELOPE, envelope) | {"annotations": {_TITLE: title}}],
            "subject": {
                "mediaType": subject.media_type,
                "digest": _sha256(subject.digest),
                "size": subject.size,
            },
            "annotations": annotations,
        }
    )
    digest = push.digest_of(data)
    repository = Repository(reference, net, "pull,push")
    if push.status(repository, "manifests", digest, _MANIFEST) != 200:
        push.blob(repository, b"{}")
        push.blob(repository, envelope)
        response = push.manifest(repository, digest, data, _MANIFEST, again=True)
        if response.headers.get("OCI-Subject") == subject.digest:
            return digest
    listed = listing.by_api(repository, subject.digest)
    if listed is None or digest not in {entry.digest for entry in listed}:
        entry = listing.Entry(
            media_type=_MANIFEST,
            digest=digest,
            size=len(data),
            artifact_type=STATEMENT,
            annotations=annotations,
        )
        listing.enlist(repository, subject.digest, entry)
    return digest


def referrers(reference: oci.Reference, digest: str, net: Net) -> tuple[Referrer, ...]:
    """What refers to an image: of the referrers API, then of the fallback tag; none is no error.

    Entries whose digest is of another kind than sha256 are left out: they could not be checked.

    Args:
        reference: the image as it is named.
        digest: of its platform manifest.
        net: mirrors apply.

    Raises:
        MachineError: the registry does not answer, or not with such a list.
    """
    repository = Repository(oci.at_mirror(reference, net), net)
    entries = listing.by_api(repository, _sha256(digest)) or ()
    tagged = listing.by_tag(repository, digest)
    entries += tagged.entries if tagged else ()
    found = {entry.digest: _referrer(entry, digest) for entry in reversed(entries)}
    return tuple(one for one in reversed(found.values()) if one.digest.startswith("sha256:"))


def fetch(reference: oci.Reference, referrer: Referrer, net: Net, most: int | None = None) -> bytes:
    """The one file of an artifact; every digest and size on the way to it is checked.

    Args:
        reference: the image as it is named.
        referrer: from `referrers` of this image.
        net: mirrors apply.
        most: bytes of the file, never more than `LARGEST`.

    Raises:
        MachineError: it is not there, is too long, or is not an artifact with one file.
        StaleError: something is not what its digest or size says, or belongs to another image.
    """
    repository = Repository(oci.at_mirror(reference, net), net)
    listed = _Part(digest=referrer.digest, size=referrer.size)
    response = _content(repository, "manifests", listed, LARGEST_MANIFEST)
    artifact = http.decoded(response, _Artifact, "the manifest of an artifact")
    of = artifact.subject.digest if artifact.subject else "no image at all"
    if of != referrer.subject:
        what = f"{referrer.digest[:19]} is listed for {referrer.subject[:19]} and is not of it"
        raise StaleError(what, why=f"it is of {of}", fix="do not trust it")
    if len(artifact.layers) != 1:
        what = f"{referrer.digest[:19]} holds {len(artifact.layers)} files, not one envelope"
        raise MachineError(what, fix="it was not made by envbuild: use the tool that made it")
    _content(repository, "blobs", artifact.config, LARGEST_MANIFEST)
    most = LARGEST if most is None else min(most, LARGEST)
    return _content(repository, "blobs", artifact.layers[0], most).content


def _content(repository: Repository, kind: str, part: _Part, most: int) -> requests.Response:
    """An answer whose body is what its descriptor says."""
    if part.size > most:
        what = f"{part.digest[:19]} has {part.size} bytes: at most {most} are read"
        raise MachineError(what, fix="do not trust it")
    url = repository.url(f"{kind}/{part.digest}")
    headers = {"Accept": _MANIFEST if kind == "manifests" else "*/*"}
    response = repository.ask("GET", url, most=most, headers=headers)
    seen = push.digest_of(response.content)
    if seen != part.digest or len(response.content) != part.size:
        what = f"{repository.reference.registry} sent other bytes than {part.digest[:19]}"
        why = f"they are {len(response.content)} and {seen[:19]}, not {part.size}"
        raise StaleError(what, why=why, fix="do not trust it")
    return response


def _title(predicate: str, envelope: bytes) -> str:
    """The name that clients write the file under: what it says, and which of several it is."""
    words = [word.lower() for word in re.split("[/:]", predicate) if _WORD.fullmatch(word)]
    kind = words[-1] if words else "statement"
    return f"{kind}-{push.digest_of(envelope)[7:19]}.intoto.jsonl"


def _descriptor(kind: str, data: bytes) -> dict[str, object]:
    return {"mediaType": kind, "digest": push.digest_of(data), "size": len(data)}


def _referrer(entry: listing.Entry, subject: str) -> Referrer:
    predicate = (entry.annotations or {}).get(PREDICATE, "")
    return Referrer(entry.digest, entry.artifact_type or "", predicate, entry.size, subject)


def _sha256(digest: str) -> str:
    if re.fullmatch(r"sha256:[0-9a-f]{64}", digest) is None:
        what = f"{digest!r} is not the digest of a manifest"
        raise InputError(what, fix="give sha256:... of the platform's own manifest")
    return digest
