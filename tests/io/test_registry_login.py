"""Logins at a made registry: who learns them, and what for."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envbuild.errors import EnvbuildError, MachineError
from envbuild.io import trace
from tests.io.referring import ENVELOPE, attach, faulty, fetched, listed
from tests.io.registry import Handler, Registry, running


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
