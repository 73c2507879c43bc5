"""DSSE envelopes: a payload signed with an ed25519 key, together with what kind of payload it is.

Format: https://github.com/secure-systems-lab/dsse/blob/master/envelope.md. A key id is a hint and
proves nothing: signatures are tried against every key that the reader trusts.
"""

import base64
import hashlib
from typing import TYPE_CHECKING

import msgspec

from envbuild.errors import InputError, StaleError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

STATEMENT = "application/vnd.in-toto+json"
"""The kind of payload that a statement is."""

_LONGEST, _MOST = 32 << 20, 32  # bytes; signatures of one envelope


class _Signature(msgspec.Struct, frozen=True):
    sig: str
    keyid: str = ""


class _Envelope(msgspec.Struct, frozen=True, rename="camel"):
    payload: str
    payload_type: str
    signatures: tuple[_Signature, ...]


def signing_key(pem: bytes, name: str) -> "Ed25519PrivateKey":
    """The private key in a PEM file.

    Raises:
        InputError: it is encrypted, of another kind, or no key.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm) as e:
        fix = "make one: openssl genpkey -algorithm ed25519 -out key.pem"
        what = f"{name} is no private key without a password"
        raise InputError(what, fix=fix) from e
    if not isinstance(key, Ed25519PrivateKey):
        fix = "make one: openssl genpkey -algorithm ed25519 -out key.pem"
        what = f"{name} is a key of another kind than ed25519"
        raise InputError(what, fix=fix)
    return key


def trusted_key(pem: bytes, name: str) -> "Ed25519PublicKey":
    """The public key in a PEM file.

    Raises:
        InputError: it is private, of another kind, or no key.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    fix = "write it: openssl pkey -in key.pem -pubout -out key.pub"
    if b"PRIVATE KEY" in pem:
        what = f"{name} is a private key, and the public one is needed to verify"
        raise InputError(what, fix=f"keep it secret; {fix}")
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as e:
        what = f"{name} is no public key"
        raise InputError(what, fix=fix) from e
    if not isinstance(key, Ed25519PublicKey):
        what = f"{name} is a key of another kind than ed25519"
        raise InputError(what, fix=fix)
    return key


def key_id(key: "Ed25519PublicKey") -> str:
    """SHA-256 (hex) of the key as SubjectPublicKeyInfo, DER."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return hashlib.sha256(
        key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    ).hexdigest()


def sign(payload: bytes, key: "Ed25519PrivateKey") -> bytes:
    """The envelope of a statement, one line of JSON; equal input, equal bytes."""
    signature = key.sign(_signed(STATEMENT, payload))
    envelope = _Envelope(
        payload=_text(payload),
        payload_type=STATEMENT,
        signatures=(_Signature(sig=_text(signature), keyid=key_id(key.public_key())),),
    )
    return msgspec.json.encode(envelope)


def opened(envelope: bytes, name: str) -> bytes:
    """The payload of an envelope, whoever signed it.

    Raises:
        InputError: it is no envelope of a statement.
    """
    return _bytes(_read(envelope, name).payload, name)


def verified(envelope: bytes, keys: "tuple[Ed25519PublicKey, ...]", name: str) -> tuple[bytes, str]:
    """The payload, once one of the trusted keys signed it, and that key's id.

    Raises:
        InputError: it is no envelope of a statement.
        StaleError: none of the keys signed these bytes.
    """
    from cryptography.exceptions import InvalidSignature

    read = _read(envelope, name)
    payload = _bytes(read.payload, name)
    signed = _signed(read.payload_type, payload)
    for signature in read.signatures:
        raw = _bytes(signature.sig, name)
        for key in keys:
            try:
                key.verify(raw, signed)
            except InvalidSignature:
                continue
            return payload, key_id(key)
    trusted = ", ".join(key_id(key)[:16] for key in keys) or "none"
    what = f"{name} is not signed by a trusted key"
    raise StaleError(
        what,
        why=f"trusted: {trusted}",
        fix="ask whoever made it for the public key; else do not use what it is about",
    )


def _read(envelope: bytes, name: str) -> _Envelope:
    what = f"{name} is no signed statement"
    fix = "envbuild certify --sign KEY writes them, one a line"
    if len(envelope) > _LONGEST:
        raise InputError(what, why=f"it is longer than {_LONGEST >> 20} MiB", fix=fix)
    try:
        read = msgspec.json.decode(envelope, type=_Envelope)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
        raise InputError(what, why=str(e), fix=fix) from e
    if len(read.signatures) > _MOST:
        raise InputError(what, why=f"it has more than {_MOST} signatures", fix=fix)
    if read.payload_type != STATEMENT:
        raise InputError(what, why=f"its payload is of type {read.payload_type[:80]!r}", fix=fix)
    return read


def _signed(kind: str, payload: bytes) -> bytes:
    """Pre-authentication encoding: what a signature is over."""
    name = kind.encode()
    return b" ".join((b"DSSEv1", b"%d" % len(name), name, b"%d" % len(payload), payload))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str, name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as e:
        what = f"{name} holds what is not base64"
        raise InputError(what, fix="fetch it again") from e
