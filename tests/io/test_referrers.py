"""Attaching against a made registry: what it is sent, and each fault on the way."""

import json

import pytest

from envbuild.errors import MachineError, StaleError
from envbuild.io import http, listing, referrers
from envbuild.io.net import Net
from tests.io.referring import (
    ENVELOPE,
    MANIFEST,
    PREDICATE,
    SUBJECT,
    TAG,
    attach,
    faulty,
    fetched,
    listed,
    reference,
    tagged,
)
from tests.io.registry import INDEX, ROOT, Handler, Registry
from tests.lock.server import sha


@pytest.mark.parametrize("api", [True, False], ids=["api", "tag"])
def test_what_is_attached_is_listed_and_fetched(registry: Registry, api: bool) -> None:
    registry.api = api
    first, second = attach(registry), attach(registry, b'{"other": 1}')
    assert [one.digest for one in listed(registry)] == [first, second]
    assert listed(registry)[0] == referrers.Referrer(
        first,
        referrers.STATEMENT,
        PREDICATE,
        len(registry.manifests[first][1]),
        SUBJECT.digest,
    )
    assert fetched(registry) == [ENVELOPE, b'{"other": 1}']
    assert (TAG in registry.manifests) == (not api)


def test_the_manifest_is_what_the_specification_says(registry: Registry) -> None:
    manifest = json.loads(registry.manifests[attach(registry)][1])
    assert manifest == {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": "application/vnd.in-toto+json",
        "config": {
            "mediaType": "application/vnd.oci.empty.v1+json",
            "digest": sha(b"{}"),
            "size": 2,
        },
        "layers": [
            {
                "mediaType": "application/vnd.dsse.envelope.v1+json",
                "digest": sha(ENVELOPE),
                "size": len(ENVELOPE),
                "annotations": {
                    "org.opencontainers.image.title": (
                        f"provenance-{sha(ENVELOPE)[7:19]}.intoto.jsonl"
                    )
                },
            }
        ],
        "subject": {"mediaType": MANIFEST, "digest": SUBJECT.digest, "size": 5},
        "annotations": {"in-toto.io/predicate-type": PREDICATE},
    }
    dated = json.loads(registry.manifests[attach(registry, created="2026-12-02T00:00:00Z")][1])
    assert dated["annotations"]["org.opencontainers.image.created"] == "2026-12-02T00:00:00Z"
    assert tagged(registry)[0]["annotations"] == manifest["annotations"]


@pytest.mark.parametrize("api", [True, False], ids=["api", "tag"])
def test_attaching_again_writes_nothing(registry: Registry, api: bool) -> None:
    registry.api = api
    first = attach(registry)
    registry.asked.clear()
    assert attach(registry) == first
    assert {method for method, _ in registry.asked} <= {"HEAD", "GET"}
    assert len(listed(registry)) == 1


def test_nothing_attached_is_no_error(registry: Registry) -> None:
    assert listed(registry) == ()
    registry.api = True
    assert listed(registry) == ()


def test_api_and_tag_are_merged(registry: Registry) -> None:
    old = attach(registry)
    registry.api = True
    new = attach(registry, b"new")
    # The first is in both lists now.
    assert {one.digest for one in listed(registry)} == {old, new}
    assert len(listed(registry)) == 2


def test_pages_are_followed(registry: Registry) -> None:
    registry.api, registry.page = True, 2
    made = [attach(registry, b"%d" % n) for n in range(5)]
    assert [one.digest for one in listed(registry)] == made
    assert registry.count("GET", "?last=") == 2


@pytest.mark.parametrize(
    ("predicate", "kind"),
    [
        ("urn:envbuild:certificate:1", "certificate"),
        ("https://in-toto.io/attestation/test-result/v0.1", "test-result"),
        ("urn:envbuild:lock:1", "lock"),
        ("https://slsa.dev/provenance/v1", "provenance"),
        ("https://spdx.dev/Document", "document"),
        ("../../\x1b[2J/..", "statement"),
        ("", "statement"),
    ],
)
def test_a_file_has_a_name_of_its_own_by_what_it_says(
    registry: Registry, predicate: str, kind: str
) -> None:
    for data in (b"1", b"2"):
        digest = referrers.attach(
            reference(registry), SUBJECT, data, predicate=predicate, net=Net()
        )
        [layer] = json.loads(registry.manifests[digest][1])["layers"]
        title = layer["annotations"]["org.opencontainers.image.title"]
        assert title == f"{kind}-{sha(data)[7:19]}.intoto.jsonl"


@pytest.mark.parametrize(("bytes_", "pages"), [(listing.LARGEST_LIST, listing.MOST_PAGES), (99, 6)])
def test_pages_without_end(
    registry: Registry, bytes_: int, pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "LARGEST_LIST", bytes_)
    registry.api = True

    def endless(one: Handler) -> bool:
        if "referrers" not in one.path:
            return False
        page = json.dumps({"manifests": []}).encode()
        one.answer(200, page, Content_Type=INDEX, Link=f'<{one.path}>; rel="next"')
        return True

    registry.fault = endless
    with pytest.raises(MachineError, match="too much"):
        listed(registry)
    assert registry.count("GET") == pages


@pytest.mark.parametrize("api", [True, False], ids=["api", "tag"])
def test_more_than_anybody_attaches(
    registry: Registry, api: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.api, registry.page = api, 1000
    entry = {"mediaType": MANIFEST, "size": 1}
    entries = [entry | {"digest": sha(b"%d" % n)} for n in range(listing.MOST + 1)]
    monkeypatch.setattr(registry, "referrers", lambda _: entries)
    registry.put(TAG, {"manifests": entries})
    with pytest.raises(MachineError, match="too much"):
        listed(registry)
    registry.api = False
    registry.put(TAG, {"manifests": entries[:-1]})
    with pytest.raises(MachineError, match="too much"):
        attach(registry)
    assert len(tagged(registry)) == listing.MOST


@pytest.mark.parametrize(
    "location",
    [
        "http://{host}" + ROOT + "blobs/uploads/{id}",
        "http://{host}" + ROOT + "blobs/uploads/{id}?a=b&c=%2F",
        ROOT + "blobs/uploads/{id}?_state=x",
        "u1?x=y",
    ],
)
def test_where_to_upload_to(registry: Registry, location: str) -> None:
    registry.location = location
    attach(registry)
    assert fetched(registry) == [ENVELOPE]
    query = location.partition("?")[2]
    assert registry.count("PUT", f"u1?{query}&digest=" if query else "u1?digest=") == 2


@pytest.mark.parametrize(
    "location",
    [
        "ftp://127.0.0.1/x",
        "file:///etc/passwd",
        "http://example.org/x",
        "http://user:secret@127.0.0.1/x",
        "http://[::1/x",
        "http://127.0.0.1:99999/x",
        "https:///x",
        "https://" + "a" * 300,
        "//a..b/x",
    ],
)
def test_where_nothing_is_uploaded_to(registry: Registry, location: str) -> None:
    registry.location = location
    with pytest.raises(MachineError, match="leads to an address") as error:
        attach(registry)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("status", [200, 201, 202])
def test_an_upload_that_leads_nowhere(registry: Registry, status: int) -> None:
    registry.fault = faulty("POST", "", lambda one: one.answer(status))
    with pytest.raises(MachineError, match=f"answered {status} and does not say where"):
        attach(registry)
    assert registry.manifests == {}


def hang_up(one: Handler) -> None:
    one.close_connection = True
    one.connection.shutdown(2)


STUMBLES = {
    "dies": hang_up,
    "429": lambda one: one.answer(429),
    "500": lambda one: one.answer(500),
}


@pytest.mark.parametrize("stumble", STUMBLES)
@pytest.mark.parametrize(
    ("method", "part"),
    [("HEAD", ""), ("POST", ""), ("PUT", "uploads"), ("PUT", "sha256:"), ("PUT", "sha256-")],
    ids=["head", "begin", "upload", "manifest", "index"],
)
def test_a_registry_that_stumbles(registry: Registry, stumble: str, method: str, part: str) -> None:
    part = f"manifests/{part}" if part.startswith("sha256") else part
    registry.fault = faulty(method, part, STUMBLES[stumble], times=1)
    attach(registry)
    assert fetched(registry) == [ENVELOPE]

    registry.fault = faulty(method, part, STUMBLES[stumble])
    with pytest.raises(http.StumbleError) as error:
        attach(registry, b"more")
    assert error.value.exit_code == 4
    assert "s3cret" not in str(error.value)
    registry.fault = lambda _: False
    assert fetched(registry) == [ENVELOPE], "nothing half-done is listed"
    attach(registry, b"more")
    assert fetched(registry) == [ENVELOPE, b"more"]


def test_it_dies_in_the_middle_of_an_upload(registry: Registry) -> None:
    def cut(one: Handler) -> bool:
        if one.command != "PUT" or int(one.headers["Content-Length"]) < 1000:
            return False
        one.rfile.read(1000)
        hang_up(one)
        return True

    registry.fault = cut
    with pytest.raises(MachineError, match="does not answer"):
        attach(registry, b"x" * (8 << 20))
    assert registry.count("POST") == registry.count("PUT") == 1 + 3, "each upload is begun anew"
    assert registry.manifests == {}


def test_an_upload_that_is_forgotten_is_begun_anew(registry: Registry) -> None:
    registry.fault = faulty("PUT", "uploads", lambda one: one.answer(404), times=2)
    attach(registry)
    assert fetched(registry) == [ENVELOPE]


def test_an_index_is_not_blindly_put_twice(registry: Registry) -> None:
    # It was stored, and the answer got lost: between then and now another writer may have come.
    def stored(one: Handler) -> bool:
        if one.command != "PUT" or "sha256-" not in one.path:
            return False
        registry.put(TAG, one.body())
        hang_up(one)
        return True

    registry.fault = stored
    attach(registry)
    assert registry.count("PUT", "sha256-") == 1


@pytest.mark.parametrize("part", ["uploads", "manifests/sha256:", "manifests/sha256-"])
def test_it_stored_something_else(registry: Registry, part: str) -> None:
    wrong = sha(b"something else")
    registry.fault = faulty("PUT", part, lambda one: one.answer(201, Docker_Content_Digest=wrong))
    with pytest.raises(StaleError, match="stored something else"):
        attach(registry)


@pytest.mark.parametrize("status", [302, 307, 400, 403, 413])
def test_what_is_refused_is_one_error(registry: Registry, status: int) -> None:
    registry.fault = faulty("PUT", "manifests", lambda one: one.answer(status, Location="/"))
    with pytest.raises(MachineError, match=f"answered {status}"):
        attach(registry)
    assert registry.count("PUT", "manifests") == 1
