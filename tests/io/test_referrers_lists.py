"""Lists of referrers, whoever wrote them, and what is fetched by them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from envbuild.errors import InputError, MachineError, StaleError
from envbuild.io import oci, referrers
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
from tests.io.registry import INDEX, NAME, Handler, Registry
from tests.lock.server import sha


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
