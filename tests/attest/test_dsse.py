"""Envelopes: made here, opened by another implementation; and every byte counts."""

import base64
import json
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from envbuild.attest import dsse
from envbuild.errors import EnvbuildError, InputError, StaleError

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
PAYLOAD = b'{"_type":"https://in-toto.io/Statement/v1"}'
ENVELOPE = dsse.sign(PAYLOAD, KEY)


def trusted(*keys: Ed25519PrivateKey) -> tuple[Ed25519PublicKey, ...]:
    return tuple(key.public_key() for key in keys)


def test_what_was_signed_comes_back_with_the_key_that_signed() -> None:
    assert dsse.sign(PAYLOAD, KEY) == ENVELOPE
    found = dsse.verified(ENVELOPE, trusted(OTHER, KEY), "x")
    assert found == (PAYLOAD, dsse.key_id(KEY.public_key()))
    assert dsse.opened(ENVELOPE, "x") == PAYLOAD


def test_the_encoding_is_that_of_the_specification() -> None:
    """The example of the DSSE protocol: PAE of "hello world"."""
    signed = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert dsse._signed("http://example.com/HelloWorld", b"hello world") == signed


@pytest.mark.parametrize("keys", [(), (OTHER,)])
def test_a_key_that_nobody_trusts_proves_nothing(keys: tuple[Ed25519PrivateKey, ...]) -> None:
    with pytest.raises(StaleError, match="not signed by a trusted key"):
        dsse.verified(ENVELOPE, trusted(*keys), "x")


def test_a_key_id_proves_nothing() -> None:
    made = json.loads(dsse.sign(PAYLOAD, OTHER))
    made["signatures"][0]["keyid"] = dsse.key_id(KEY.public_key())
    with pytest.raises(StaleError):
        dsse.verified(json.dumps(made).encode(), trusted(KEY), "x")


def test_one_good_signature_of_several_is_enough() -> None:
    made = json.loads(dsse.sign(PAYLOAD, OTHER))
    made["signatures"] += json.loads(ENVELOPE)["signatures"]
    assert dsse.verified(json.dumps(made).encode(), trusted(KEY), "x")[0] == PAYLOAD


def test_signatures_without_end_are_not_tried() -> None:
    made = json.loads(ENVELOPE)
    made["signatures"] = (
        json.loads(dsse.sign(PAYLOAD, OTHER))["signatures"] * 31 + made["signatures"]
    )
    assert dsse.verified(json.dumps(made).encode(), trusted(KEY), "x")[0] == PAYLOAD
    made["signatures"] *= 2
    with pytest.raises(InputError, match="no signed statement") as found:
        dsse.verified(json.dumps(made).encode(), trusted(KEY), "x")
    assert "more than 32 signatures" in found.value.why


@given(st.integers(0, len(ENVELOPE) - 1), st.integers(1, 255))
def test_no_byte_can_be_changed_without_notice(place: int, change: int) -> None:
    """But in what is not signed (the key's id, JSON's form): then the payload is the same."""
    made = bytearray(ENVELOPE)
    made[place] ^= change
    try:
        found, _ = dsse.verified(bytes(made), trusted(KEY), "x")
    except EnvbuildError:
        return
    assert found == PAYLOAD


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{}", b"[]", b"null", b"\xff", b"[" * 5000,
        b'{"payload":"!","payloadType":"application/vnd.in-toto+json","signatures":[]}',
        b'{"payload":"e30=","payloadType":"text/plain","signatures":[]}',
        b'{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"%"}]}',
    ],
)  # fmt: skip
def test_what_is_no_envelope_is_said(text: bytes) -> None:
    with pytest.raises((InputError, StaleError)):
        dsse.verified(text, trusted(KEY), "a.jsonl:1")


def test_keys_of_openssl(tmp_path: Path) -> None:
    key, public = tmp_path / "key.pem", tmp_path / "key.pub"
    openssl("genpkey", "-algorithm", "ed25519", "-out", str(key))
    openssl("pkey", "-in", str(key), "-pubout", "-out", str(public))
    envelope = dsse.sign(PAYLOAD, dsse.signing_key(key.read_bytes(), "key.pem"))
    trust = dsse.trusted_key(public.read_bytes(), "key.pub")
    assert dsse.verified(envelope, (trust,), "x")[0] == PAYLOAD
    # The signature, checked by openssl alone.
    (tmp_path / "signed").write_bytes(dsse._signed(dsse.STATEMENT, PAYLOAD))
    made = json.loads(envelope)["signatures"][0]["sig"]
    (tmp_path / "sig").write_bytes(base64.b64decode(made))
    openssl(
        "pkeyutl", "-verify", "-pubin", "-inkey", str(public), "-rawin",
        "-in", str(tmp_path / "signed"), "-sigfile", str(tmp_path / "sig"),
    )  # fmt: skip


def test_other_keys_are_refused(tmp_path: Path) -> None:
    rsa, locked = tmp_path / "rsa.pem", tmp_path / "locked.pem"
    openssl("genpkey", "-algorithm", "rsa", "-out", str(rsa))
    openssl("genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:x", "-out", str(locked))
    with pytest.raises(InputError, match="another kind than ed25519"):
        dsse.signing_key(rsa.read_bytes(), "rsa.pem")
    for pem in (locked.read_bytes(), b"", b"nonsense"):
        with pytest.raises(InputError, match="no private key without a password"):
            dsse.signing_key(pem, "k")
    with pytest.raises(InputError, match="is a private key"):
        dsse.trusted_key(rsa.read_bytes(), "rsa.pem")
    with pytest.raises(InputError, match="no public key"):
        dsse.trusted_key(b"nonsense", "k")


def openssl(*words: str) -> None:
    subprocess.run(("openssl", *words), check=True, capture_output=True)
