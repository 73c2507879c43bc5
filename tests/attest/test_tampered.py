"""Every byte of what lies in a registry, or in a file of statements, is changed: it is noticed.

Made: the registry (`tests.io.registry`), the image, and a plan and a lock that it is labelled with.
"""

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envbuild.attest import dsse, fetch, publish, statement, verify
from envbuild.attest.policy import Policy
from envbuild.attest.provenance import provenance
from envbuild.attest.sbom import sbom
from envbuild.attest.verify import About, Found, Read
from envbuild.errors import EnvbuildError, MachineError, StaleError
from envbuild.io import oci, referrers
from envbuild.io.net import Net
from envbuild.values.codec import digest, replace
from envbuild.values.verification import Verification
from tests.attest import built
from tests.attest.made import KEY, certificate
from tests.io.referring import MANIFEST
from tests.io.registry import NAME, Registry, running
from tests.lock.server import sha
from tests.render import locks, plans

PLAN, LOCK = plans.WHEELS, locks.WHEELS
NOW = datetime(2026, 12, 2, tzinfo=timezone.utc)
ALL = {
    statement.CERTIFICATE, statement.TEST_RESULT, statement.PLAN, statement.LOCK,
    statement.SBOM, statement.PROVENANCE,
}  # fmt: skip


class Place(NamedTuple):
    """Something that is stored: in which table, under which name."""

    table: str
    name: str


class Full(NamedTuple):
    """A registry with an image and all that can be said of it, and what is counted there."""

    registry: Registry
    ref: str
    counted: dict[str, bytes]
    places: tuple[Place, ...]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Full]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, running() as registry:
        patch.setenv("DOCKER_CONFIG", str(home))
        patch.setenv("NETRC", str(home / "netrc"))
        patch.setattr("envbuild.io.http.time.sleep", lambda _: None)
        patch.setattr("envbuild.io.listing.SETTLE", 0.0)
        ref = f"{registry.host}/{NAME}:1"
        image = oci.resolve(served(registry, ref), "linux/amd64", Net())
        made = publish.signed(certificate(digest=image.digest), said(image), KEY)
        publish.attach(ref, image, made, Net())
        counted = {one.evidence.kind: one.predicate for one in answer(ref)[1]}
        assert counted.keys() == ALL
        manifests = tuple(Place("manifests", name) for name in registry.manifests)
        blobs = tuple(Place("blobs", name) for name in registry.blobs)
        yield Full(registry, ref, counted, manifests + blobs)


def served(registry: Registry, ref: str) -> str:
    labels = dict(built.image(PLAN, LOCK).labels) | {"envbuild.cc": "9.0"}
    config = json.dumps(
        {"architecture": "amd64", "os": "linux", "config": {"Labels": labels}}
    ).encode()
    registry.blobs[sha(config)] = config
    described = {"mediaType": "x/y", "digest": sha(config), "size": len(config)}
    document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": []}
    data = registry.put("1", document, MANIFEST)
    registry.put(sha(data), data, MANIFEST)
    return ref


def said(image: oci.Manifest) -> tuple[publish.Said, ...]:
    """Plan, lock, SBOM and provenance of an image."""
    of = replace(built.image(PLAN, LOCK), config=image.config)
    return (
        (statement.PLAN, PLAN),
        (statement.LOCK, LOCK),
        (statement.SBOM, sbom(PLAN, LOCK, of, built.inside(LOCK))),
        (statement.PROVENANCE, provenance(PLAN, LOCK, of, "docker", "28.5.2")),
    )


def answer(ref: str) -> tuple[Verification, tuple[Read, ...]]:
    """The verification, and what counts in it."""
    about, found = fetch.about(ref, "linux/amd64", Net())
    return judged(about, found)


def judged(about: About, found: tuple[Found, ...]) -> tuple[Verification, tuple[Read, ...]]:
    read = [verify.read(one, (KEY.public_key(),), about) for one in found]
    made = verify.verify(read, about=about, policy=Policy(), now=NOW)
    good = {one.source for one in made.evidence if not one.problems}
    return made, tuple(one for one in read if one.evidence.source in good)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_byte_that_a_registry_has_can_be_changed(full: Full, data: st.DataObject) -> None:
    """It is an error of ours, is not verified, or says of the image what was said before."""
    place = data.draw(st.sampled_from(full.places))
    table: dict[str, object] = getattr(full.registry, place.table)
    before = table[place.name]
    whole = before[1] if isinstance(before, tuple) else before
    assert isinstance(whole, bytes)
    made = bytearray(whole)
    made[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    table[place.name] = (before[0], bytes(made)) if isinstance(before, tuple) else bytes(made)
    try:
        found, counted = answer(full.ref)
    except (MachineError, StaleError):
        return
    else:
        for one in counted:
            assert one.predicate == full.counted[one.evidence.kind]
        kinds = {one.evidence.kind for one in counted}
        # By the content of a file nothing is changed, but by the list it can be taken away.
        assert found.passed == (statement.CERTIFICATE in kinds)
    finally:
        table[place.name] = before


def test_untouched_all_of_it_counts(full: Full) -> None:
    found, counted = answer(full.ref)
    assert found.passed
    assert {one.evidence.kind for one in counted} == ALL


@pytest.fixture(scope="module")
def lines() -> dict[str, bytes]:
    of = oci.Manifest(oci.parse("x"), "sha256:" + "a" * 64, built.CONFIG, (), 1, MANIFEST)
    made = publish.signed(certificate(digest=of.digest), said(of), KEY)
    assert {one.kind for one in made} == ALL
    return {one.kind: one.envelope for one in made}


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_no_byte_of_a_statement_can_be_changed(
    lines: dict[str, bytes], data: st.DataObject
) -> None:
    """Of each kind, inside the payload and outside it."""
    whole = lines[data.draw(st.sampled_from(sorted(ALL)))]
    made = bytearray(whole)
    made[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        payload, _ = dsse.verified(bytes(made), (KEY.public_key(),), "x")
    except EnvbuildError:
        return
    assert payload == dsse.opened(whole, "x")


@pytest.mark.parametrize("kind", sorted(ALL))
def test_the_first_and_the_last_bytes_are_among_them(lines: dict[str, bytes], kind: str) -> None:
    """What chance may miss: both ends of the payload and of the signature."""
    whole = lines[kind]
    assert judged_alone(whole)
    payload, sig = whole.index(b'"payload":"') + 11, whole.index(b'"sig":"') + 7
    ends = (payload, whole.index(b'"', payload) - 4, sig, whole.index(b'"', sig) - 4)
    for place in (i + k for i in ends for k in range(3)):
        made = bytearray(whole)
        made[place] = ord("A") if made[place] != ord("A") else ord("B")
        assert not judged_alone(bytes(made)), (kind, place)


def judged_alone(envelope: bytes) -> bool:
    one = verify.read(Found("x", envelope, named=True), (KEY.public_key(),), About())
    return not one.evidence.problems


def test_plan_lock_provenance_and_sbom_are_of_this_image(full: Full) -> None:
    """Signed by who is trusted and about this image; made from another: a mix of two."""
    image = oci.resolve(full.ref, "linux/amd64", Net())
    plan = plans.DISTRO
    lock = replace(locks.DISTRO, plan=digest(plan))
    of = built.image(plan, lock)
    other = (
        (statement.PLAN, plan),
        (statement.LOCK, lock),
        (statement.SBOM, sbom(plan, lock, of, built.inside(lock))),
        (statement.PROVENANCE, provenance(plan, lock, of, "docker", "28.5.2")),
    )
    about = fetch.about(full.ref, "linux/amd64", Net())[0]
    made = publish.signed(certificate(digest=image.digest), other, KEY)
    pieces = tuple(Found(one.kind, one.envelope, named=True) for one in made)
    found, counted = judged(about, pieces)
    assert {one.evidence.kind for one in counted} == {statement.CERTIFICATE, statement.TEST_RESULT}
    said = " ".join(found.reasons)
    for word in ("another plan", "another lock", "what is in another image"):
        assert word in said
    # Of an image that is not named nothing else is known.
    assert judged(About(), pieces)[0].passed


def test_what_is_attached_can_be_taken_away_and_that_is_said(full: Full) -> None:
    tag = next(place.name for place in full.places if place.name.startswith("sha256-"))
    before = full.registry.manifests[tag]
    full.registry.put(tag, {"mediaType": before[0], "manifests": []})
    try:
        assert answer(full.ref)[0].reasons == ("there is no certificate",)
    finally:
        full.registry.manifests[tag] = before
    assert referrers.referrers(
        oci.parse(full.ref), oci.resolve(full.ref, "linux/amd64", Net()).digest, Net()
    )
