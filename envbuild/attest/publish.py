"""Sign what is known of an image, and attach it where the image is."""

from typing import TYPE_CHECKING, NamedTuple

from envbuild.attest import dsse, result, statement
from envbuild.certify.subject import repository
from envbuild.engines.base import Engine
from envbuild.errors import InputError, StaleError
from envbuild.io.net import Net
from envbuild.values.certificate import Certificate
from envbuild.values.codec import digest
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from envbuild.io import oci

Said = tuple[str, object]
"""A predicate: its type, and the value or its JSON."""


class Signed(NamedTuple):
    """An envelope, and the type of the predicate in it."""

    kind: str
    envelope: bytes


def in_registry(image: Image, net: Net) -> "oci.Manifest":
    """The image's manifest in its registry: asked for before anything runs, needed after it.

    Raises:
        InputError: the image has no name in a registry.
        MachineError: its registry does not answer, or does not have it.
        StaleError: it has another image under that name.
    """
    from envbuild.engines import names
    from envbuild.io import oci

    if names.archive(image.ref):
        what = f"{image.ref} is a file: nothing can be attached to it"
        fix = "push it (skopeo copy oci-archive:FILE docker://NAME), and certify NAME@sha256:..."
        raise InputError(what, fix=fix)
    name = f"{repository(image.ref)}@{image.manifest}" if image.manifest else image.ref
    found = oci.resolve(name, image.platform, net)
    if found.config != image.config:
        what = f"{name} is another image in its registry than here"
        raise StaleError(what, fix="push it again, or pull it, and certify that")
    return found


def known(engine: Engine, image: Image, plan: Plan | None, lock: Lock | None) -> tuple[Said, ...]:
    """What is known of an image beside its certificate.

    Plan and lock are named where its labels say that it was built from them; with both, what is in
    it, and how it was made where it is known which engine did that.

    Args:
        engine: what has the image; it is asked for the packages inside.
        image: as the engine has it, with its builder.
        plan: of its workspace, or named by the user.
        lock: the same.

    Raises:
        MachineError: the engine cannot look inside.
    """
    from envbuild.attest import packages
    from envbuild.attest.provenance import provenance
    from envbuild.attest.sbom import sbom

    said: list[Said] = []
    for kind, value, label in (
        (statement.PLAN, plan, "envbuild.plan"),
        (statement.LOCK, lock, "envbuild.lock"),
    ):
        if value is not None and image.labels.get(label) == digest(value):
            said.append((kind, value))
    if plan is None or lock is None or len(said) < 2:
        return tuple(said)
    said.append((statement.SBOM, sbom(plan, lock, image, packages.packages(engine, image.ref))))
    if image.builder:
        name, version = (*image.builder, None)[:2]
        said.append((statement.PROVENANCE, provenance(plan, lock, image, name or "", version)))
    return tuple(said)


def signed(
    certificate: Certificate, more: tuple[Said, ...], key: "Ed25519PrivateKey"
) -> tuple[Signed, ...]:
    """What is said, each signed: the certificate, which suites passed, and what else is known.

    Raises:
        InputError: it is a replay, or about no image that others could have.
    """
    subject = statement.subject_of(certificate)
    own = result.statements(certificate)
    others = ((kind, statement.statement(*subject, kind, value)) for kind, value in more)
    return tuple(Signed(kind, dsse.sign(payload, key)) for kind, payload in (*own, *others))


def attach(ref: str, manifest: "oci.Manifest", made: tuple[Signed, ...], net: Net) -> None:
    """Attach what was signed to an image in its registry.

    Args:
        ref: its name there.
        manifest: from `in_registry`.
        made: from `signed`.
        net: how the registry is reached.

    Raises:
        InputError: the image is read through a mirror.
        MachineError: the registry does not take them.
    """
    from envbuild.io import oci, referrers

    for one in made:
        referrers.attach(oci.parse(ref), manifest, one.envelope, predicate=one.kind, net=net)
