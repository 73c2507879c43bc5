"""A test result is that of the certificate it names, and of no other."""

import hashlib
import json
from typing import Any

import pytest

from envbuild.attest import dsse, publish, result, statement, verify
from envbuild.attest.policy import Policy
from envbuild.attest.verify import Found
from envbuild.values.certificate import Certificate
from envbuild.values.codec import replace
from envbuild.values.verification import Verification
from tests.attest.made import ABOUT, FINISHED, KEY, MANIFEST, certificate, of_gpu
from tests.attest.test_verify import NOW

ONE, OTHER = certificate(), of_gpu("9.0", "GPU-other")
FAILED = replace(certificate("h200-local-frameworks.seen.json", "numba"), finished=FINISHED)


def envelopes(made: Certificate) -> tuple[bytes, bytes]:
    """The certificate, and its test result."""
    whole, short = publish.signed(made, (), KEY)
    return whole.envelope, short.envelope


def answer(*found: bytes) -> Verification:
    pieces = [Found(f"{i}", data, named=True) for i, data in enumerate(found)]
    read = [verify.read(one, (KEY.public_key(),), ABOUT) for one in pieces]
    return verify.verify(read, about=ABOUT, policy=Policy(), now=NOW)


def predicate(envelope: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(dsse.opened(envelope, "x"))["predicate"]
    return found


def signed(predicate: object) -> bytes:
    made = statement.statement("x", MANIFEST, statement.TEST_RESULT, json.dumps(predicate).encode())
    return dsse.sign(made, KEY)


def test_it_names_the_statement_that_it_was_made_from() -> None:
    whole, short = envelopes(ONE)
    digest = hashlib.sha256(dsse.opened(whole, "x")).hexdigest()
    part = {"name": "certificate", "digest": {"sha256": digest}}
    assert part in predicate(short)["configuration"]
    assert answer(whole, short).passed


def test_of_two_certificates_each_has_its_own() -> None:
    (one, first), (other, second) = envelopes(ONE), envelopes(OTHER)
    assert answer(one, first, other, second).passed
    found = answer(one, second)
    assert "its certificate, " in found.reasons[0]
    assert "is not among what counts" in found.reasons[0]


@pytest.mark.parametrize(
    "change",
    [
        {"result": "FAILED"},
        {"passedTests": ["smoke.sums"]},
        {"failedTests": ["smoke.sums"]},
        {"warnedTests": ["smoke.sums"]},
    ],
)
def test_what_the_certificate_does_not_say(change: dict[str, object]) -> None:
    whole, short = envelopes(ONE)
    assert "its certificate differs" in answer(whole, signed(predicate(short) | change)).reasons[0]


def test_its_machine_is_that_of_the_certificate() -> None:
    whole, short = envelopes(ONE)
    made = predicate(short)
    machine, named = made["configuration"]
    more = {"later": "releases say more"}
    added = machine | {"annotations": machine["annotations"] | more}
    assert answer(whole, signed(made | {"configuration": [added, named, {"name": "x"}]})).passed
    for changed in (
        [machine | {"annotations": machine["annotations"] | {"cc": "12.0"}}, named],
        [machine | {"annotations": {}}, named],
        [named],
        [machine, named, machine],
    ):
        found = answer(whole, signed(made | {"configuration": changed}))
        assert "its certificate differs" in found.reasons[0], changed


def test_a_pass_beside_a_certificate_that_fails() -> None:
    whole, short = envelopes(FAILED)
    assert predicate(short)["result"] == "FAILED"
    mixed = predicate(short) | {"result": "PASSED"}
    assert "its certificate differs" in answer(whole, signed(mixed)).reasons[1]


def test_one_of_an_older_release_names_none_and_is_taken() -> None:
    whole, short = envelopes(ONE)
    made = predicate(short)
    old = made | {"configuration": made["configuration"][:1]}
    assert result.read(json.dumps(old).encode(), "x").certificate is None
    assert answer(whole, signed(old)).passed


@pytest.mark.parametrize(
    "text", ["[]", "7", '{"result":"FINE","configuration":[]}', '{"result":1}']
)
def test_nonsense_is_no_test_result(text: str) -> None:
    whole, _ = envelopes(ONE)
    assert "holds no test result" in answer(whole, signed(json.loads(text))).reasons[0]
