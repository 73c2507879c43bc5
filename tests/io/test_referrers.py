"""Attaching, listing and fetching against a made registry: each fault, and answers of any kind."""

import base64
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envbuild.errors import EnvbuildError, InputError, MachineError, StaleError
from envbuild.io import http, listing, oci, referrers, trace
from envbuild.io.net import Net
from tests.io.registry import INDEX, NAME, ROOT, Handler, Registry, running
from tests.lock.server import sha

ENVELOPE = b'{"payload": "e30="}'
PREDICATE = "https://slsa.dev/provenance/v1"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
SUBJECT = oci.Manifest(oci.parse("x"), sha(b"image"), sha(b"config"), (), 5, MANIFEST)
TAG = SUBJECT.digest.replace(":", "-")


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("envbuild.io.http.time.sleep", lambda _: None)
    with running() as registry:
        yield registry


def reference(registry: Registry) -> oci.Reference:
    return oci.parse(f"{registry.host}/{NAME}:1")


def attach(registry: Registry, envelope: bytes = ENVELOPE, created: str | None = None) -> str:
    return referrers.attach(
        reference(registry), SUBJECT, envelope, predicate=PREDICATE, net=Net(), created=created
    )


def listed(registry: Registry) -> tuple[referrers.Referrer, ...]:
    return referrers.referrers(reference(registry), SUBJECT.digest, Net())


def fetched(registry: Registry) -> list[bytes]:
    return [referrers.fetch(reference(registry), one, Net()) for one in listed(registry)]


def tagged(registry: Registry) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(registry.manifests[TAG][1])["manifests"]
    return entries


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


def test_pages_without_end(registry: Registry) -> None:
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
    assert registry.count("GET") == listing.MOST_PAGES


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


def faulty(
    method: str, part: str, answer: Callable[[Handler], None], times: int = 1000
) -> Callable[[Handler], bool]:
    """A fault for the first requests of a kind."""
    left = [times]

    def fault(one: Handler) -> bool:
        if one.command != method or part not in one.path or not left[0]:
            return False
        left[0] -= 1
        one.body()
        answer(one)
        return True

    return fault


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


@pytest.mark.parametrize(
    "other",
    [
        {"mediaType": MANIFEST, "config": {}, "layers": []},
        {"config": {}, "layers": []},
        {"mediaType": "application/vnd.docker.distribution.manifest.list.v2+json", "manifests": []},
        {"mediaType": MANIFEST, "manifests": []},
        {"manifests": {}},
        {"manifests": [{"digest": "../x", "size": 1, "mediaType": ""}]},
        [],
        b"hello",
    ],
    ids=repr,
)
def test_another_thing_under_the_tag_stays(registry: Registry, other: object) -> None:
    before = registry.put(TAG, other)
    with pytest.raises(MachineError, match="not an index"):
        attach(registry)
    with pytest.raises(MachineError, match="not an index"):
        listed(registry)
    assert registry.manifests[TAG] == (INDEX, before)


def test_entries_of_others_stay_as_they_were_written(registry: Registry) -> None:
    theirs: dict[str, Any] = {
        "mediaType": "application/x",
        "digest": "sha512:" + "0" * 128,
        "size": 3,
        "data": "e30=",
        "platform": {"os": "any", "future": [1.50, None]},
    }
    registry.put(TAG, {"manifests": [theirs], "annotations": {"a": "b"}})
    ours = attach(registry)
    assert tagged(registry)[0] == theirs
    assert b'{"os": "any", "future": [1.5, null]}' in registry.manifests[TAG][1]
    assert json.loads(registry.manifests[TAG][1])["annotations"] == {"a": "b"}
    assert [one.digest for one in listed(registry)] == [ours], "what cannot be checked"


def test_a_list_of_nothing_may_be_null(registry: Registry) -> None:
    registry.put(TAG, {"mediaType": INDEX, "manifests": None})
    assert listed(registry) == ()
    assert [one.digest for one in listed(registry)] == []
    attach(registry)
    assert len(tagged(registry)) == 1


def test_what_another_writer_drops_comes_back(registry: Registry) -> None:
    first = attach(registry)
    drops = [2]

    def rival(one: Handler) -> bool:
        """It read before we wrote, and writes after us: ours is lost, and the first one, too."""
        if one.command == "PUT" and TAG in one.path and drops[0]:
            drops[0] -= 1
            one.body()
            entry = {"mediaType": MANIFEST, "digest": sha(b"%d" % drops[0]), "size": 1}
            registry.put(TAG, {"manifests": [entry]})
            one.answer(201)
            return True
        return False

    registry.fault = rival
    second = attach(registry, b"second")
    found = {entry["digest"] for entry in tagged(registry)}
    assert found == {first, second, sha(b"0"), sha(b"1")}


def test_writers_that_never_let_us_in(registry: Registry) -> None:
    registry.put(TAG, {"manifests": []})
    registry.fault = faulty("PUT", TAG, lambda one: one.answer(201))
    with pytest.raises(MachineError, match="others keep writing"):
        attach(registry)


def test_entries_whose_manifests_are_gone_do_not_block(registry: Registry) -> None:
    first, second = attach(registry), attach(registry, b"second")
    del registry.manifests[first]

    def checks(one: Handler) -> bool:
        """As docker's registry 2.8 does."""
        if one.command != "PUT" or TAG not in one.path:
            return False
        data = one.body()
        names = [entry["digest"] for entry in json.loads(data)["manifests"]]
        known = all(name in registry.manifests for name in names)
        if known:
            registry.put(TAG, data)
        one.answer(201 if known else 400)
        return True

    registry.fault = checks
    third = attach(registry, b"third")
    assert [entry["digest"] for entry in tagged(registry)] == [second, third]


def test_a_web_page_is_no_referrers_api(registry: Registry) -> None:
    page = b"<!DOCTYPE html><html></html>"
    registry.fault = faulty("GET", "referrers", lambda one: one.answer(200, page))
    attach(registry)
    assert fetched(registry) == [ENVELOPE]


@pytest.mark.parametrize("status", [429, 500, 403])
def test_a_list_that_cannot_be_had_is_not_an_empty_one(registry: Registry, status: int) -> None:
    registry.fault = faulty("GET", "referrers", lambda one: one.answer(status))
    with pytest.raises(MachineError, match=f"answered {status}"):
        listed(registry)


def test_the_hub_is_read_from_its_mirror_and_not_written_through_it(registry: Registry) -> None:
    net = Net(registry_mirror=registry.host)
    attach(registry)
    hub = oci.parse(f"docker.io/{NAME}")
    found = referrers.referrers(hub, SUBJECT.digest, net)
    assert referrers.fetch(hub, found[0], net) == ENVELOPE
    registry.asked.clear()
    with pytest.raises(InputError, match="through a mirror") as error:
        referrers.attach(hub, SUBJECT, ENVELOPE, predicate=PREDICATE, net=net)
    assert registry.asked == []
    assert registry.host not in str(error.value)


def test_offline_asks_nobody(registry: Registry) -> None:
    net = Net(offline=True)
    with pytest.raises(MachineError, match="--offline"):
        referrers.attach(reference(registry), SUBJECT, b"", predicate=PREDICATE, net=net)
    with pytest.raises(MachineError, match="--offline"):
        referrers.referrers(reference(registry), SUBJECT.digest, net)
    assert registry.asked == []


def test_an_envelope_that_is_too_long(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referrers, "LARGEST", 5)
    with pytest.raises(InputError, match="6 bytes"):
        attach(registry, b"123456")
    monkeypatch.setattr(referrers, "LARGEST", 6)
    attach(registry, b"123456")
    monkeypatch.setattr(referrers, "LARGEST", 5)
    with pytest.raises(MachineError, match="6 bytes"):
        fetched(registry)


@pytest.mark.parametrize("digest", ["", "sha256:1", "../x", "sha256:" + "A" * 64])
def test_a_subject_is_a_digest(registry: Registry, digest: str) -> None:
    with pytest.raises(InputError):
        referrers.referrers(reference(registry), digest, Net())
    wrong = SUBJECT._replace(digest=digest)
    with pytest.raises(InputError):
        referrers.attach(reference(registry), wrong, b"", predicate="", net=Net())


def test_the_folder_of_the_lock_is_ones_own(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"envbuild-attach-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MachineError, match="somebody else"):
        attach(registry)
    assert list((tmp_path / "elsewhere").iterdir()) == []


# What is fetched is what its digests say.


@pytest.mark.parametrize("kind", ["manifest", "config", "envelope"])
@pytest.mark.parametrize("how", ["changed", "longer", "shorter", "gone"])
def test_tampering_is_found(registry: Registry, kind: str, how: str) -> None:
    digest = attach(registry)
    where = {"config": sha(b"{}"), "envelope": sha(ENVELOPE)}.get(kind, digest)
    good = registry.manifests[digest][1] if kind == "manifest" else registry.blobs[where]
    bad = {"changed": good[:-1] + b" ", "longer": good + b" ", "shorter": good[:-1]}.get(how)
    if kind == "manifest":
        del registry.manifests[where]
        registry.manifests |= {} if bad is None else {where: (MANIFEST, bad)}
    else:
        del registry.blobs[where]
        registry.blobs |= {} if bad is None else {where: bad}
    with pytest.raises(MachineError if how == "gone" else StaleError):
        fetched(registry)


def artifact(registry: Registry, **changes: object) -> referrers.Referrer:
    """An artifact that is listed, with other fields than ours."""
    manifest = json.loads(registry.manifests[attach(registry)][1]) | changes
    data = json.dumps({k: v for k, v in manifest.items() if v is not ...}).encode()
    registry.put(sha(data), data, MANIFEST)
    return referrers.Referrer(sha(data), "", "", len(data), SUBJECT.digest)


@pytest.mark.parametrize("subject", [..., None, {"digest": sha(b"other"), "size": 5}])
def test_an_artifact_of_another_image(registry: Registry, subject: object) -> None:
    with pytest.raises(StaleError, match="is not of it"):
        referrers.fetch(reference(registry), artifact(registry, subject=subject), Net())


@pytest.mark.parametrize("layers", [[], [{"digest": sha(b"{}"), "size": 2}] * 2])
def test_an_artifact_without_one_envelope(registry: Registry, layers: object) -> None:
    with pytest.raises(MachineError, match="not one envelope"):
        referrers.fetch(reference(registry), artifact(registry, layers=layers), Net())


@pytest.mark.parametrize("size", [1 << 40, len(ENVELOPE) + 1, 0])
def test_a_size_that_lies(registry: Registry, size: int) -> None:
    layer = {"digest": sha(ENVELOPE), "size": size}
    registry.blobs[sha(ENVELOPE)] = ENVELOPE
    one = artifact(registry, layers=[layer])
    with pytest.raises((MachineError, StaleError)):
        referrers.fetch(reference(registry), one, Net())
    with pytest.raises((MachineError, StaleError)):
        referrers.fetch(reference(registry), one._replace(size=1 << 40), Net())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["manifests", "digest", "size", "annotations", "artifactType", "mediaType",
                 "config", "layers", "subject", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)  # fmt: skip
ENTRY = st.fixed_dictionaries(
    {"digest": st.just(sha(b"{}")) | st.text(max_size=80), "size": st.integers(-1, 5) | JSON},
    optional={"mediaType": st.text(max_size=9) | JSON, "annotations": JSON, "artifactType": JSON},
)
INDEXES = st.fixed_dictionaries({"manifests": st.lists(ENTRY, max_size=3) | JSON})
BODIES = st.binary(max_size=99) | (JSON | INDEXES).map(lambda value: json.dumps(value).encode())
HEADERS = st.dictionaries(
    st.sampled_from(["Content_Type", "Link", "Location", "Docker_Content_Digest", "OCI_Subject"]),
    st.sampled_from([INDEX, '<x>; rel="next"', f"<{ROOT}referrers/x>; rel=next", "<", "http://["])
    | st.text(st.characters(codec="latin-1", exclude_categories=["C"]), max_size=20),
)
WHATEVER = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@WHATEVER
@given(data=st.data())
def test_a_registry_may_answer_anything(registry: Registry, data: st.DataObject) -> None:
    answers = data.draw(
        st.lists(st.tuples(st.sampled_from([200, 201, 202, 404, 400]), BODIES, HEADERS), min_size=1)
    )
    turn = [0]

    def anything(one: Handler) -> bool:
        status, body, headers = answers[turn[0] % len(answers)]
        turn[0] += 1
        one.body()
        one.answer(status, body, **headers)
        return True

    registry.fault = anything
    only_our_errors(attach, registry)
    only_our_errors(fetched, registry)


def only_our_errors(act: Callable[[Registry], object], registry: Registry) -> None:
    try:
        act(registry)
    except EnvbuildError as e:
        assert e.what  # noqa: PT017
        assert e.exit_code in {4, 7}  # noqa: PT017


@WHATEVER
@given(body=BODIES)
def test_an_index_is_read_or_refused_and_never_overwritten(registry: Registry, body: bytes) -> None:
    registry.put(TAG, body)
    try:
        before = {one.digest for one in listed(registry)}
        attach(registry)
    except MachineError:
        assert registry.manifests[TAG][1] == body
    else:
        assert {one.digest for one in listed(registry)} >= before
        written = json.loads(registry.manifests[TAG][1])
        assert [
            e for e in json.loads(body)["manifests"] or () if e not in written["manifests"]
        ] == []


@WHATEVER
@given(body=BODIES | st.just(b"[" * 100_000))
def test_a_manifest_is_read_or_refused(registry: Registry, body: bytes) -> None:
    registry.put(sha(body), body, MANIFEST)
    one = referrers.Referrer(sha(body), "", "", len(body), SUBJECT.digest)
    with pytest.raises((MachineError, StaleError)):
        referrers.fetch(reference(registry), one, Net())


# Logins.


def docker_login(tmp_path: Path, host: str) -> str:
    plain = base64.b64encode(b"me:pa55word").decode()
    config = tmp_path / "docker" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"auths": {host: {"auth": plain}}}))
    return plain


@pytest.fixture
def said() -> Iterator[list[str]]:
    """All that ``-v`` would show."""
    lines: list[str] = []
    trace.to(lines.append)
    yield lines
    trace.to(None)


def test_basic(registry: Registry, tmp_path: Path, said: list[str]) -> None:
    plain = docker_login(tmp_path, registry.host)
    registry.login, registry.challenge = f"Basic {plain}", 'Basic realm="x"'
    attach(registry)
    assert fetched(registry) == [ENVELOPE]
    assert "pa55word" not in "".join(said)
    assert plain not in "".join(said)
    assert registry.logins.count(None) == 3, "once an errand: attach, list, fetch"


def token(registry: Registry, answer: str = "t0ken") -> Callable[[Handler], bool]:
    body = json.dumps({"token": answer}).encode()
    registry.login = "Bearer t0ken"
    registry.challenge = f'Bearer realm="http://{registry.host}/token",service="it"'
    return faulty("GET", "/token", lambda one: one.answer(200, body))


def test_bearer_is_asked_for_what_is_needed(
    registry: Registry, tmp_path: Path, said: list[str]
) -> None:
    plain = docker_login(tmp_path, registry.host)
    registry.fault = token(registry)
    attach(registry)
    assert registry.count("GET", "/token?") == 1
    assert registry.count("GET", "scope=repository%3Ame%2Fimage%3Apull%2Cpush") == 1
    at = [path.startswith("/token") for _, path in registry.asked].index(True)
    assert registry.logins[at] == f"Basic {plain}"
    registry.asked.clear()
    assert len(listed(registry)) == 1
    assert registry.count("GET", "image%3Apull") == 1
    assert registry.count("GET", "push") == 0
    assert not any(word in line for line in said for word in ("t0ken", "pa55word", plain, "s3cret"))


def test_a_netrc_does_not_replace_the_token(registry: Registry, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password pa55word\n")
    netrc.chmod(0o600)
    registry.fault = token(registry)
    attach(registry)
    assert fetched(registry) == [ENVELOPE]


def test_who_may_not_push_is_told_so(registry: Registry, tmp_path: Path) -> None:
    plain = docker_login(tmp_path, registry.host)
    registry.fault = token(registry, "of-a-reader")
    with pytest.raises(MachineError, match="answered 401") as error:
        attach(registry)
    assert "docker login" in str(error.value)
    assert not any(word in str(error.value) for word in ("of-a-reader", "pa55word", plain))


def test_another_host_learns_no_login(registry: Registry, tmp_path: Path) -> None:
    plain = docker_login(tmp_path, registry.host)
    registry.login, registry.challenge = f"Basic {plain}", 'Basic realm="x"'
    with running() as other:
        registry.location = f"http://{other.host}/upload"
        other.fault = faulty("PUT", "", lambda one: one.answer(201))
        attach(registry)
        assert other.count("PUT") == 2
        assert set(other.logins) == {None}


@pytest.mark.parametrize(
    "realm", ["http://[", "http://a..b/t", "x", "https://", "http://127.0.0.1:1"]
)
def test_a_realm_may_be_anything(registry: Registry, tmp_path: Path, realm: str) -> None:
    docker_login(tmp_path, registry.host)
    registry.login, registry.challenge = "Bearer x", f'Bearer realm="{realm}"'
    with pytest.raises(EnvbuildError) as error:
        attach(registry)
    assert "pa55word" not in str(error.value)
