"""From evidence to an answer: who signed, what it is about, what it says, and what is missing."""

import json
from datetime import datetime, timedelta, timezone
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuild.attest import dsse, statement, verify
from envbuild.attest.policy import Policy
from envbuild.attest.verify import About, Found
from envbuild.values.certificate import Certificate, Subject
from envbuild.values.codec import Pairs, digest, dump, replace
from envbuild.values.verification import Verification
from tests.attest.made import (
    ABOUT,
    CONFIG,
    FINISHED,
    KEY,
    MANIFEST,
    OTHER,
    certificate,
    of_gpu,
    signed,
)
from tests.planner.ask import ask

LATER, ELSE = "2026-12-01T13:00:00Z", "sha256:" + "e" * 64
NOW = datetime(2026, 12, 2, tzinfo=timezone.utc)
TRUST = (KEY.public_key(),)
SMOKE = Policy()


def answer(
    *found: Found, about: About = ABOUT, policy: Policy = SMOKE, now: datetime = NOW
) -> Verification:
    read = [verify.read(one, TRUST, about) for one in found]
    return verify.verify(read, about=about, policy=policy, now=now)


def of(cc: str, **fields: object) -> Certificate:
    """The same certificate from a GPU of another capability; promised are both."""
    return replace(of_gpu(cc, cc=("9.0", "12.0")), **fields)


def test_a_signed_certificate_of_this_image_verifies_it() -> None:
    found = answer(signed(certificate()))
    assert (found.passed, found.reasons, found.missing) == (True, (), ())
    assert found.digest == MANIFEST
    assert found.evidence[0].key == dsse.key_id(TRUST[0])


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (Policy(require=("fast",)), "suite fast did not run"),
        (Policy(driver_min="590"), "does not reach 590"),
        (Policy(driver_min="580.159.05"), "does not reach 580.159.05"),
        (Policy(driver_min="580.159.04.1"), "does not reach 580.159.04.1"),
        (Policy(max_age="11h"), "older than 11h"),
        (Policy(cc=("8.6",)), "no certificate is from a GPU of cc 8.6"),
    ],
)
def test_a_policy_that_is_not_met_says_why(policy: Policy, reason: str) -> None:
    found = answer(signed(certificate()), policy=policy)
    said = (*found.reasons, *(p for one in found.evidence for p in one.problems))
    assert not found.passed
    assert any(reason in one for one in said), said


@pytest.mark.parametrize(
    "policy",
    [
        Policy(driver_min="580"),
        Policy(driver_min="580.159.04"),
        Policy(driver_min="580.159.4.0"),
        Policy(max_age="1d"),
        Policy(cc=("9.0",)),
        Policy(require=("toolchain", "smoke")),
    ],
)
def test_a_policy_that_is_met(policy: Policy) -> None:
    assert answer(signed(certificate()), policy=policy).passed


def test_a_certificate_from_the_future_is_a_wrong_clock() -> None:
    early = datetime(2026, 12, 1, 11, tzinfo=timezone.utc)
    found = answer(signed(certificate()), now=early)
    assert "a clock is wrong" in found.evidence[0].problems[0]


def test_what_a_stranger_attached_is_passed_over_and_named() -> None:
    stranger = signed(certificate(), OTHER)
    assert answer(stranger, signed(certificate())).passed
    alone = answer(stranger)
    assert alone.reasons == ("no certificate counts",)
    assert "not signed by a trusted key" in alone.evidence[0].problems[0]


def test_a_file_that_is_named_must_count() -> None:
    stranger = signed(certificate(), OTHER, named=True)
    found = answer(stranger, signed(certificate()))
    assert not found.passed
    assert "not signed by a trusted key" in found.reasons[0]


def test_evidence_of_another_image_is_none_of_this_one() -> None:
    other = About("registry.example/other:1", ("sha256:" + "c" * 64,))
    found = answer(signed(certificate()), about=other)
    assert "it is about sha256:aaaa" in found.evidence[0].problems[0]
    assert not found.passed


@pytest.mark.parametrize("kind", ["prefix", "rootfs"])
def test_a_folder_is_no_image(kind: Literal["prefix", "rootfs"]) -> None:
    made = replace(certificate(), subject=Subject(kind=kind, name="/srv", digest=MANIFEST))
    said = statement.statement("app", MANIFEST, statement.CERTIFICATE, made)
    found = answer(Found("x", dsse.sign(said, KEY), named=False))
    assert f"it is about a {kind}, which is no image" in found.evidence[0].problems


def test_an_unpushed_image_is_known_by_its_config() -> None:
    assert answer(signed(certificate(digest=CONFIG))).passed


def test_a_statement_and_its_certificate_name_one_image() -> None:
    made = statement.statement("app", MANIFEST, statement.CERTIFICATE, certificate(digest=CONFIG))
    found = answer(Found("x", dsse.sign(made, KEY), named=False))
    assert "its certificate another image" in found.evidence[0].problems[0]


def test_a_certificate_that_does_not_add_up_does_not_count() -> None:
    found = answer(signed(replace(certificate(), exit=8)))
    assert "is called pass (exit 8)" in found.evidence[0].problems[0]


def test_each_promised_capability_needs_its_certificate() -> None:
    both = ABOUT._replace(labels=Pairs({"envbuild.cc": "9.0,12.0"}))
    one = answer(signed(of("9.0")), about=both)
    assert (one.missing, one.passed) == (("12.0",), False)
    assert answer(signed(of("9.0")), signed(of("12.0")), about=both).passed
    # A policy that names one asks for no more.
    assert answer(signed(of("9.0")), about=both, policy=Policy(cc=("9.0",))).passed


def test_a_newer_failure_of_the_image_ends_an_older_pass() -> None:
    later = failing(certificate(), LATER)
    found = answer(signed(certificate()), signed(later))
    assert any("says the image fails" in reason for reason in found.reasons)
    assert answer(signed(certificate()), signed(later, OTHER)).passed


def failing(made: Certificate, finished: str) -> Certificate:
    """It as of a run in which every check failed by the image's fault."""
    suites = tuple(
        replace(
            s,
            verdict="fail",
            checks=tuple(replace(c, verdict="fail", blame="image", reason="x") for c in s.checks),
        )
        for s in made.suites
    )
    return replace(made, suites=suites, verdict="fail", exit=6, finished=finished)


def test_of_a_pass_and_a_failure_at_one_time_the_failure_counts() -> None:
    bad = failing(certificate(), FINISHED)
    assert any(
        "says the image fails" in one for one in answer(signed(certificate()), signed(bad)).reasons
    )
    later = replace(certificate(), finished="2026-12-01T12:00:21Z")
    assert answer(signed(later), signed(bad)).passed


def test_a_failure_on_another_capability_is_of_that_one() -> None:
    bad = failing(of("12.0"), LATER)
    assert answer(signed(of("9.0")), signed(bad), policy=Policy(cc=("9.0",))).passed
    assert not answer(signed(of("9.0")), signed(of("12.0")), signed(bad)).passed


def test_a_failure_without_a_gpu_is_of_all() -> None:
    bad = failing(replace(certificate("docker-wheels-13.5.json", "toolchain")), LATER)
    found = answer(signed(certificate()), signed(bad))
    assert "newer, from no GPU, and it says the image fails" in found.reasons[0]


def test_a_failure_of_another_image_that_somebody_attached_ends_nothing() -> None:
    bad = replace(
        failing(certificate(), LATER), subject=Subject(kind="manifest", name="b", digest=ELSE)
    )
    assert answer(signed(certificate()), signed(bad)).passed
    # Nor one that does not add up.
    odd = replace(failing(certificate(), LATER), not_run=("smoke",))
    assert answer(signed(certificate()), signed(odd)).passed


def test_clocks_differ_by_minutes_and_not_by_more() -> None:
    for finished, said in (
        ("2026-12-02T00:04:00Z", ""),
        ("2026-12-02T00:06:00Z", "a clock is wrong"),
    ):
        made = replace(certificate(), finished=finished)
        for policy in (SMOKE, Policy(max_age="1h")):
            found = answer(signed(made), policy=policy)
            assert found.passed == (not said)
            assert said in " ".join(found.evidence[0].problems)
    # To the second, and not one beyond.
    for now, passed in ((NOW, True), (NOW + timedelta(seconds=1), False)):
        made = replace(certificate(), finished="2026-12-01T23:00:00Z")
        assert answer(signed(made), policy=Policy(max_age="1h"), now=now).passed is passed


def test_plan_and_lock_are_those_of_the_labels() -> None:
    plan = ask("9.0")
    made = statement.statement("app", MANIFEST, statement.PLAN, plan)
    piece = Found("x", dsse.sign(made, KEY), named=False)
    same = ABOUT._replace(labels=Pairs({"envbuild.plan": digest(plan)}))
    other = ABOUT._replace(labels=Pairs({"envbuild.plan": "sha256:" + "d" * 64}))
    assert verify.read(piece, TRUST, same).evidence.problems == ()
    assert "another plan" in verify.read(piece, TRUST, other).evidence.problems[0]


def test_an_unsigned_certificate_counts_only_where_nobody_is_asked() -> None:
    (piece,) = verify.split(dump(certificate()), "certificate.json")
    assert "not signed" in answer(piece).reasons[0]
    read = [verify.read(piece, (), ABOUT)]
    assert verify.verify(read, about=ABOUT, policy=SMOKE, now=NOW).passed


def test_nothing_is_no_certificate() -> None:
    assert answer().reasons == ("there is no certificate",)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_no_byte_of_signed_evidence_can_be_changed(data: st.DataObject) -> None:
    """A changed byte is found, or is one that says nothing (the key's id, the form of JSON)."""
    whole = signed(certificate()).data
    place = data.draw(st.integers(0, len(whole) - 1))
    made = bytearray(whole)
    made[place] ^= data.draw(st.integers(1, 255))
    found = answer(Found("x", bytes(made), named=False))
    if found.passed:
        assert msgspec.json.decode(dsse.opened(bytes(made), "x")) == json.loads(
            dsse.opened(whole, "x")
        )


@given(st.binary(max_size=200))
def test_any_bytes_are_evidence_or_refused(data: bytes) -> None:
    found = answer(Found("x", data, named=False))
    assert not found.passed
    assert found.evidence[0].problems
