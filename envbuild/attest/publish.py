"""Sign what is known of an image, and attach it where the image is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envbuild.attest import dsse, statement
from envbuild.certify.subject import repository
from envbuild.errors import InputError
from envbuild.io.net import Net
from envbuild.values.certificate import Certificate, Subject
from envbuild.values.codec import digest
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Said = tuple[str, object]
"""A predicate: its type, and the value or its JSON."""


def attachable(image: Image) -> None:
    """Refuse before anything runs what could not be attached after it.

    Raises:
        InputError: no registry is known to have the image.
    """
    if not image.manifest:
        what = f"{image.ref} is in no registry that is known here: nothing can be attached to it"
        raise InputError(what, fix="push it, and certify it by the name it has there")


def built_from(image: Image, plan: Plan | None, lock: Lock | None) -> Iterator[Said]:
    """Plan and lock, as far as the image's own labels say that it was built from them."""
    for kind, value, label in (
        (statement.PLAN, plan, "envbuild.plan"),
        (statement.LOCK, lock, "envbuild.lock"),
    ):
        if value is not None and image.labels.get(label) == digest(value):
            yield kind, value


def signed(
    certificate: Certificate, more: "tuple[Said, ...]", key: "Ed25519PrivateKey"
) -> tuple[bytes, ...]:
    """An envelope a statement: the certificate, which suites passed, and what else is known.

    Raises:
        InputError: it is a replay, or about no image that others could have.
    """
    first = statement.of_certificate(certificate)
    subject = certificate.subject
    rest = (about(subject, kind, value) for kind, value in more)
    return tuple(dsse.sign(payload, key) for payload in (*first, *rest))


def about(subject: Subject, kind: str, value: object) -> bytes:
    """A statement about what was certified."""
    return statement.statement(subject.name, subject.digest or "", kind, value)


def attach(image: Image, envelopes: tuple[bytes, ...], net: Net) -> None:
    """Attach envelopes to an image in its registry.

    Args:
        image: one that `attachable` took.
        envelopes: from `signed`.
        net: how the registry is reached.

    Raises:
        MachineError: the registry does not take it.
        StaleError: it has another image under that digest.
    """
    from envbuild.io import oci, referrers

    place = oci.parse(f"{repository(image.ref)}@{image.manifest}")
    subject = oci.resolve(f"{repository(image.ref)}@{image.manifest}", image.platform, net)
    for envelope in envelopes:
        kind = statement.read(dsse.opened(envelope, image.ref), image.ref).predicate_type
        referrers.attach(place, subject, envelope, predicate=kind, net=net)
