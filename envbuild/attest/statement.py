"""In-toto statements: what is said (the predicate) of which image (the subject), as bytes to sign.

Form: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from typing import Literal, TypeVar

import msgspec

from envbuild.errors import InputError
from envbuild.values.certificate import Certificate
from envbuild.values.codec import dump_line

CERTIFICATE = "urn:envbuild:certificate:1"
"""The certificate itself: every figure with its terms, its limit and its bounds."""
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
"""Which suites passed, for policy engines that know no figures."""
PLAN = "urn:envbuild:plan:1"
LOCK = "urn:envbuild:lock:1"
PROVENANCE = "https://slsa.dev/provenance/v1"
SBOM = "https://spdx.dev/Document"
LISTED = "urn:envbuild:sbom:1:"
"""What the namespace of an SBOM of ours begins with; the image's config digest follows."""

T = TypeVar("T")
_TYPE = "https://in-toto.io/Statement/v1"


class About(msgspec.Struct, frozen=True):
    """A subject: its name, and its digests by algorithm (hex)."""

    name: str
    digest: dict[str, str]


class Statement(msgspec.Struct, frozen=True, rename="camel"):
    """A statement as read; ``predicate`` is left to who knows its type."""

    type: Literal["https://in-toto.io/Statement/v1"] = msgspec.field(name="_type")
    subject: tuple[About, ...]
    predicate_type: str
    predicate: msgspec.Raw

    @property
    def digest(self) -> str | None:
        """``sha256:...`` of the one subject that our statements have."""
        named = [about.digest.get("sha256") for about in self.subject]
        return f"sha256:{named[0]}" if len(named) == 1 and named[0] else None


def statement(name: str, digest: str, kind: str, predicate: object) -> bytes:
    """A statement about one image; equal input, equal bytes.

    Args:
        name: repository, without tag.
        digest: ``sha256:...`` of its platform manifest or, unpushed, its config.
        kind: predicate type.
        predicate: any value, or JSON that is made already (``bytes``).
    """
    raw = predicate if isinstance(predicate, bytes) else dump_line(predicate)
    made = {
        "_type": _TYPE,
        "subject": [{"name": name, "digest": {"sha256": digest.removeprefix("sha256:")}}],
        "predicateType": kind,
        "predicate": msgspec.Raw(raw),
    }
    return msgspec.json.encode(made)


def subject_of(certificate: Certificate) -> tuple[str, str]:
    """Name and digest of the image that a certificate is about.

    Raises:
        InputError: it is a replay, or about no image that others could have.
    """
    subject = certificate.subject
    if certificate.recorded != "run":
        raise InputError("a replay certifies nothing", fix="envbuild certify IMAGE --sign KEY")
    if subject.digest is None or subject.kind not in {"manifest", "config"}:
        what = f"{subject.name} is no image: nobody else can have what was certified"
        raise InputError(what, fix="sign the certificate of an image")
    return subject.name, subject.digest


def read(payload: bytes, name: str) -> Statement:
    """The statement in a payload.

    Raises:
        InputError: it is none.
    """
    return decoded(payload, Statement, f"{name} holds no in-toto statement")


def decoded(data: bytes, kind: type[T], what: str) -> T:
    """What was signed, as a value of its kind.

    Raises:
        InputError: it is none, with the text ``what``.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
        raise InputError(what, why=str(e), fix="fetch it again, from who made it") from e
