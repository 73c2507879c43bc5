"""Registries: what a reference means, and that nothing unchecked gets through."""

import base64
import json
import socket
from pathlib import Path

import pytest

from envbuild.errors import InputError, MachineError, StaleError
from envbuild.io import oci
from envbuild.io.net import Net, checked
from tests.lock.server import Answer, Server, layer, push, sha

AMD = "linux/amd64"


def mirror(server: Server, prefix: str = "") -> Net:
    return Net(registry_mirror=f"{server.host}{prefix}")


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag"),
    [
        ("debian", "docker.io", "library/debian", "latest"),
        ("debian:trixie", "docker.io", "library/debian", "trixie"),
        ("docker.io/nvidia/cuda:12.9.1-devel", "docker.io", "nvidia/cuda", "12.9.1-devel"),
        ("localhost:5000/a/b", "localhost:5000", "a/b", "latest"),
        ("nvcr.io/nvidia/l4t-jetpack:r36.4.0", "nvcr.io", "nvidia/l4t-jetpack", "r36.4.0"),
    ],
)
def test_parse(text: str, registry: str, repository: str, tag: str) -> None:
    assert oci.parse(text) == oci.Reference(registry, repository, tag, None)


def test_parse_takes_tag_and_digest() -> None:
    parsed = oci.parse(f"debian:trixie@{sha(b'')}")
    assert (parsed.tag, parsed.digest) == ("trixie", sha(b""))


@pytest.mark.parametrize("text", ["", "a b", "debian@sha256:12", "-x", "debian:"])
def test_parse_refuses(text: str) -> None:
    with pytest.raises(InputError):
        oci.parse(text)


def test_only_the_hubs_images_come_from_the_mirror() -> None:
    net = Net(registry_mirror="mirror.example/hub")
    assert oci.at_mirror(oci.parse("debian"), net)[:2] == ("mirror.example", "hub/library/debian")
    assert oci.at_mirror(oci.parse("nvcr.io/a/b"), net)[:2] == ("nvcr.io", "a/b")


def test_a_plain_manifest(server: Server) -> None:
    digest = push(server, "library/debian", "trixie", layer({"a": b"1"}))
    assert oci.resolve("debian:trixie", AMD, mirror(server)).digest == digest


def test_an_index_gives_the_platforms_own_manifest(server: Server) -> None:
    platforms = (AMD, "linux/arm64")
    arm = push(server, "library/debian", "trixie", layer({}), platforms=platforms, index=True)
    assert oci.resolve("debian:trixie", "linux/arm64", mirror(server)).digest == arm
    assert oci.resolve("debian:trixie", AMD, mirror(server)).digest != arm


def test_a_pinned_reference_is_asked_by_digest(server: Server) -> None:
    digest = push(server, "library/debian", "trixie", layer({}))
    push(server, "library/debian", "trixie", layer({"moved": b"on"}))
    assert oci.resolve(f"debian:trixie@{digest}", AMD, mirror(server)).digest == digest


@pytest.mark.parametrize("index", [True, False])
def test_another_platform_is_named(server: Server, index: bool) -> None:
    push(server, "library/debian", "trixie", layer({}), index=index)
    with pytest.raises(MachineError, match="not there for linux/arm64") as error:
        oci.resolve("debian:trixie", "linux/arm64", mirror(server))
    assert "linux/amd64" in str(error.value)


def test_other_bytes_than_the_digest(server: Server) -> None:
    digest = push(server, "library/debian", "trixie", layer({}))
    server.put(f"/v2/library/debian/manifests/{digest}", {"config": 1})
    with pytest.raises(StaleError, match="sent other bytes"):
        oci.resolve(f"debian@{digest}", AMD, mirror(server))


def test_other_bytes_behind_an_index(server: Server) -> None:
    digest = push(server, "library/debian", "trixie", layer({}), index=True)
    server.put(f"/v2/library/debian/manifests/{digest}", b"{}")
    with pytest.raises(StaleError):
        oci.resolve("debian:trixie", AMD, mirror(server))


def test_other_bytes_in_a_layer(server: Server) -> None:
    data = layer({"a": b"1"})
    push(server, "library/debian", "trixie", data)
    server.put(f"/v2/library/debian/blobs/{sha(data)}", data + b"x")
    manifest = oci.resolve("debian:trixie", AMD, mirror(server))
    with pytest.raises(StaleError):
        list(oci.blob(manifest.reference, sha(data), mirror(server)))


def test_a_missing_image_is_exit_4(server: Server) -> None:
    with pytest.raises(MachineError, match="answered 404") as error:
        oci.resolve("debian:nope", AMD, mirror(server))
    assert error.value.exit_code == 4


def test_nobody_listens() -> None:
    with pytest.raises(MachineError, match="does not answer") as error:
        oci.resolve("debian:trixie", AMD, Net(registry_mirror="127.0.0.1:1"))
    assert "refused" in str(error.value)


@pytest.mark.parametrize(
    "config", ["[]", '"x"', '{"auths": []}', '{"credHelpers": 3}', '{"auths": {"x": 3}}']
)
def test_a_docker_config_may_be_anything(server: Server, tmp_path: Path, config: str) -> None:
    guarded(server, "Basic eDp4", 'Basic realm="x"')
    path = tmp_path / "docker" / "config.json"
    path.parent.mkdir()
    path.write_text(config)
    with pytest.raises(MachineError):
        oci.resolve("debian:trixie", AMD, mirror(server))


def test_something_else_is_no_manifest(server: Server) -> None:
    server.put("/v2/library/debian/manifests/trixie", b"hello")
    with pytest.raises(MachineError, match="not an image manifest"):
        oci.resolve("debian:trixie", AMD, mirror(server))


def test_a_registry_that_stumbles_is_asked_again(server: Server) -> None:
    server.put("/v2/library/debian/manifests/trixie", b"busy", status=503)
    with pytest.raises(MachineError, match="answered 503"):
        oci.resolve("debian:trixie", AMD, mirror(server))
    assert len(server.asked) == 3


def test_a_server_that_hangs_up_in_the_middle_is_asked_again(server: Server) -> None:
    push(server, "library/debian", "trixie", layer({"a": b"1"}))
    path = "/v2/library/debian/manifests/trixie"
    server.answers[path] = server.answers[path]._replace(headers={"Content-Length": "100000"})
    with pytest.raises(MachineError, match="does not answer"):
        oci.resolve("debian:trixie", AMD, mirror(server))
    assert len(server.asked) == 3


def test_a_header_that_is_none_is_the_servers_fault(server: Server) -> None:
    headers = {"Content-Length": "1, 2"}
    server.put("/v2/library/debian/manifests/trixie", b"{}", headers=headers)
    with pytest.raises(MachineError, match="does not answer"):
        oci.resolve("debian:trixie", AMD, mirror(server))


def test_a_server_that_says_nothing_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envbuild.io.http.TIMEOUT", (1.0, 0.2))
    with socket.create_server(("127.0.0.1", 0)) as mute:
        host = f"127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(MachineError, match="does not answer") as error:
            oci.resolve("debian:trixie", AMD, Net(registry_mirror=host))
        assert "timed out" in error.value.why.lower()
        mute.accept()[0].close()
        mute.settimeout(0.1)
        with pytest.raises(TimeoutError):
            mute.accept()


@pytest.mark.parametrize("status", [400, 403, 404, 418, 429, 500, 599])
def test_every_refusal_names_host_and_status(server: Server, status: int) -> None:
    server.put("/v2/library/debian/manifests/trixie", b"no", status=status)
    with pytest.raises(MachineError, match=f"{server.host} answered {status}") as error:
        oci.resolve("debian:trixie", AMD, mirror(server))
    assert error.value.fix


def test_offline_asks_nobody(server: Server) -> None:
    with pytest.raises(MachineError, match="--offline"):
        oci.resolve("debian", AMD, Net(registry_mirror=server.host, offline=True))
    assert server.asked == []


def guarded(server: Server, needs: str, challenge: str) -> str:
    digest = push(server, "library/debian", "trixie", layer({}))
    for path in list(server.answers):
        server.answers[path] = server.answers[path]._replace(needs=needs)
    server.answers["challenge"] = Answer(b"", headers={"WWW-Authenticate": challenge})
    return digest


def test_a_token_is_fetched_where_the_registry_says(server: Server) -> None:
    realm = f'Bearer realm="http://{server.host}/token",service="reg"'
    digest = guarded(server, "Bearer t0ken", realm)
    server.put("/token", {"token": "t0ken"})
    assert oci.resolve("debian:trixie", AMD, mirror(server)).digest == digest
    assert any("scope=repository%3Alibrary%2Fdebian%3Apull" in path for path, _ in server.asked)


def test_credentials_are_dockers(server: Server, tmp_path: Path) -> None:
    plain = base64.b64encode(b"me:secret").decode()
    digest = guarded(server, f"Basic {plain}", 'Basic realm="x"')
    with pytest.raises(MachineError, match="wants a login"):
        oci.resolve("debian:trixie", AMD, mirror(server))
    config = tmp_path / "docker" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"auths": {server.host: {"auth": plain}}}))
    assert oci.resolve("debian:trixie", AMD, mirror(server)).digest == digest


HEX = sha(b"x")
MANIFEST = {"config": {"digest": HEX}, "layers": []}


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b"[" * 100_000,
        {},
        {"manifests": 3},
        {"manifests": [3]},
        {"manifests": [{"digest": "../../x"}]},
        {"manifests": [], "config": {}},
        MANIFEST | {"config": None},
        MANIFEST | {"config": {"digest": 5}},
        MANIFEST | {"config": {"digest": "sha256:../x"}},
        MANIFEST | {"layers": None},
        MANIFEST | {"layers": [{}]},
        MANIFEST | {"layers": [{"digest": "md5:1"}]},
    ],
    ids=repr,
)
def test_a_registry_may_answer_anything(server: Server, document: object) -> None:
    server.put("/v2/library/debian/manifests/trixie", document)
    with pytest.raises(MachineError):
        oci.resolve("debian:trixie", AMD, mirror(server))


@pytest.mark.parametrize("config", [b"", b"[]", b"\xff", b'{"os": 1}', b'{"os": "linux"}'])
def test_a_config_may_be_anything(server: Server, config: bytes) -> None:
    digest = sha(config)
    server.put(f"/v2/library/debian/blobs/{digest}", config)
    server.put("/v2/library/debian/manifests/trixie", MANIFEST | {"config": {"digest": digest}})
    with pytest.raises(MachineError, match="not there for linux/amd64"):
        oci.resolve("debian:trixie", AMD, mirror(server))


@pytest.mark.parametrize("answer", [b"<html>", {}, {"token": 3}, {"token": "a\nHost: evil"}, []])
def test_a_token_may_be_anything(server: Server, answer: object) -> None:
    guarded(server, "Bearer t0ken", f'Bearer realm="http://{server.host}/token"')
    server.put("/token", answer)
    with pytest.raises(MachineError):
        oci.resolve("debian:trixie", AMD, mirror(server))


@pytest.mark.parametrize("host", ["a..b", "[", "x" * 300, "127.0.0.1:99999", "127.0.0.1:1:2", "é"])
def test_a_mirror_that_is_no_host_is_one_clear_error(host: str) -> None:
    with pytest.raises((InputError, MachineError)) as error:
        oci.resolve("debian:trixie", AMD, checked(Net(registry_mirror=host)))
    assert error.value.fix
