"""An image and its evidence are a stranger's: no field makes a line, a code or a verdict."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from envbuild.attest import dsse, publish, statement
from envbuild.cli.app import run
from envbuild.io import oci, referrers
from envbuild.io.net import Net
from envbuild.values.codec import dump_line
from tests.attest.made import KEY, OTHER, certificate
from tests.io.referring import MANIFEST
from tests.io.registry import NAME, Registry, running
from tests.lock.server import sha

Cap = pytest.CaptureFixture[str]
EVIL = (
    "\x1b[2J\x1b]0;title\x07\r\nVERIFIED  smoke, cc 9.0\n::add-path::/tmp\u202e\u2028{{7*7}}$(id)"
)
# Fields of a certificate that say something to people, and from which nothing follows.
WORDS = {"node", "engine", "engine_version", "access", "tool"}
LABELS = ("image ", "digest ", "evidence ", "promised ", "reason ", "NOT VERIFIED", "VERIFIED ")


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setattr("envbuild.io.http.time.sleep", lambda _: None)
    monkeypatch.setattr("envbuild.io.listing.SETTLE", 0.0)
    monkeypatch.chdir(tmp_path)
    public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key.pub").write_bytes(public)
    with running() as registry:
        yield registry


def served(registry: Registry, **labels: str) -> oci.Manifest:
    """An image with such labels in the registry, as `verify` finds it."""
    config = json.dumps(
        {"architecture": "amd64", "os": "linux", "config": {"Labels": labels}}
    ).encode()
    registry.blobs[sha(config)] = config
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": EVIL, "digest": sha(config), "size": len(config)},
        "layers": [],
    }
    data = registry.put("1", document, MANIFEST)
    registry.put(sha(data), data, MANIFEST)
    return oci.resolve(name(registry), "linux/amd64", Net())


def name(registry: Registry) -> str:
    return f"{registry.host}/{NAME}:1"


def attach(registry: Registry, image: oci.Manifest, envelope: bytes, kind: str = EVIL) -> None:
    referrers.attach(oci.parse(name(registry)), image, envelope, predicate=kind, net=Net())


def verify(registry: Registry, capfd: Cap, *words: str) -> tuple[int, list[str]]:
    """Exit code, and the lines of standard output: each is one of ours, and the last one counts."""
    capfd.readouterr()
    argv = ["verify", name(registry), "--platform", "linux/amd64", *words]
    code = run(argv if "--unsigned" in words else [*argv, "--key", "key.pub"])
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    assert "bug in envbuild" not in err
    for text in (out, err):
        assert all(c == "\n" or c.isprintable() for c in text), repr(text)
        assert not any(line.startswith("::") for line in text.splitlines())
    lines = out.splitlines()
    assert all(line.startswith(LABELS) for line in lines), lines
    assert not any(line.startswith("VERIFIED") for line in lines[:-1])
    return code, lines


def test_labels_of_an_image(registry: Registry, capfd: Cap) -> None:
    keys = ("envbuild.cc", "envbuild.plan", "envbuild.lock", "envbuild.stage")
    served(registry, **dict.fromkeys(keys, EVIL))
    code, lines = verify(registry, capfd)
    assert (code, lines[-1]) == (7, "NOT VERIFIED")


def statements(image: oci.Manifest) -> dict[str, dict[str, Any]]:
    """A statement that is right, and one for each of its fields with nonsense in it."""
    right = json.loads(statement.statement("x", image.digest, statement.CERTIFICATE, of(image)))
    found: dict[str, dict[str, Any]] = {}
    for field in right:
        found[field] = right | {field: EVIL}
        found[f"no {field}"] = {k: v for k, v in right.items() if k != field}
    digests: tuple[object, ...] = (EVIL, "", "0" * 63, "../" * 30, None, 7)
    for number, hexed in enumerate(digests):
        subject = [{"name": EVIL, "digest": {"sha256": hexed}}]
        found[f"digest {number}"] = right | {"subject": subject}
    found["two subjects"] = right | {"subject": right["subject"] * 2}
    for field in right["predicate"]:
        found[f"predicate.{field}"] = right | {"predicate": right["predicate"] | {field: EVIL}}
    return found


def of(image: oci.Manifest) -> object:
    return certificate(digest=image.digest)


def enveloped(payload: bytes, **fields: object) -> bytes:
    """An envelope whose signature is nobody's."""
    text = {
        "payloadType": dsse.STATEMENT,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": EVIL, "sig": base64.b64encode(b"0" * 64).decode()}],
    }
    return json.dumps(text | fields).encode()


def test_each_field_of_a_statement_that_nobody_signed(registry: Registry, capfd: Cap) -> None:
    """``--unsigned`` asks for no signature: all that is left is what the bytes say themselves."""
    image = served(registry)
    for case, made in statements(image).items():
        before = dict(registry.manifests)
        attach(registry, image, enveloped(json.dumps(made).encode()))
        code, lines = verify(registry, capfd, "--unsigned")
        words = case.removeprefix("predicate.") in WORDS
        assert (code, lines[-1][:12]) == ((0, "VERIFIED  sm") if words else (7, "NOT VERIFIED")), (
            case
        )
        registry.manifests = before


def test_each_field_of_an_envelope(registry: Registry, capfd: Cap) -> None:
    image = served(registry)
    good = json.loads(publish.signed(certificate(digest=image.digest), (), KEY)[0].envelope)
    spoilt: list[bytes] = [b"", b"null", b"\xff", b"[" * 100_000, EVIL.encode(), b'{"payload":1}']
    nonsense: tuple[object, ...] = (EVIL, "", None, [], [EVIL], {"sig": EVIL}, [{"sig": EVIL}])
    spoilt += [json.dumps(good | {f: value}).encode() for f in good for value in nonsense]
    for envelope in spoilt:
        before = dict(registry.manifests)
        attach(registry, image, envelope)
        code, lines = verify(registry, capfd)
        assert (code, lines[-1]) == (7, "NOT VERIFIED"), envelope
        registry.manifests = before


def test_what_a_stranger_attaches_without_end_is_not_all_fetched(
    registry: Registry, capfd: Cap, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = served(registry)
    attach(registry, image, publish.signed(certificate(digest=image.digest), (), KEY)[0].envelope)
    for number in range(9):
        attach(registry, image, b"%d" % number * 50_000)
    assert verify(registry, capfd)[0] == 0
    monkeypatch.setattr("envbuild.attest.fetch.MOST", 200_000)
    registry.asked.clear()
    code, lines = verify(registry, capfd)
    assert (code, lines[-1]) == (0, "VERIFIED  smoke, cc 9.0")
    sent = [
        registry.blobs[path.rpartition("/")[2]] for _, path in registry.asked if "/blobs/" in path
    ]
    assert sum(map(len, sent)) < 201_000
    assert any("bytes: at most" in line for line in lines)


def test_a_stranger_among_friends_changes_nothing(registry: Registry, capfd: Cap) -> None:
    """The control: what a trusted key signed counts, whatever lies beside it."""
    image = served(registry)
    right = publish.signed(certificate(digest=image.digest), (), KEY)[0].envelope
    attach(registry, image, right)
    foreign = publish.signed(certificate(digest=image.digest), (), OTHER)[0].envelope
    for envelope in (foreign, enveloped(dump_line({"_type": EVIL})), EVIL.encode()):
        attach(registry, image, envelope)
    code, lines = verify(registry, capfd)
    assert (code, lines[-1]) == (0, "VERIFIED  smoke, cc 9.0")
    assert sum("does not count" in line for line in lines) == 3
