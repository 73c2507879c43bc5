"""Docker's config and credential helpers: real files and programs, each wrong in its own way."""

import base64
import json
import os
import stat
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from envbuild.engines.docker import DockerEngine
from envbuild.errors import MachineError
from envbuild.io import dockerconfig
from envbuild.io.dockerconfig import Login
from envbuild.io.net import Net
from tests.io.referring import ENVELOPE, attach, faulty, fetched
from tests.io.registry import Handler, Registry

SECRET = "s3cret-w0rd"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a config yet; helpers can be put into ``bin``."""
    for name in ("docker", "bin"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


def config(home: Path, **fields: object) -> None:
    (home / "docker").mkdir(exist_ok=True)
    (home / "docker/config.json").write_text(json.dumps(fields))


def helper(home: Path, name: str, script: str) -> None:
    file = home / "bin" / f"docker-credential-{name}"
    file.write_text(f"#!/bin/sh\nread server\necho $1 $server >> {home}/asked\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def answer(name: str, secret: str = SECRET) -> str:
    return f"echo '{json.dumps({'ServerURL': 'x', 'Username': name, 'Secret': secret})}'"


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_helper_of_the_registry_wins_over_the_store_and_the_file(home: Path) -> None:
    helper(home, "own", answer("own"))
    helper(home, "store", answer("store"))
    auths = {host: {"auth": coded("file:pw")} for host in ("a.example", "b.example")}
    config(home, auths=auths, credHelpers={"a.example": "own"}, credsStore="store")
    assert dockerconfig.login("a.example") == Login("own", SECRET)
    assert dockerconfig.login("b.example") == Login("store", SECRET)
    assert (home / "asked").read_text() == "get a.example\nget b.example\n"


@pytest.mark.parametrize("key", ["https://index.docker.io/v1/", "index.docker.io", "docker.io"])
def test_the_hub_has_one_login_under_any_of_its_names(home: Path, key: str) -> None:
    helper(home, "hub", answer("hub"))
    config(home, credHelpers={key: "hub"})
    assert dockerconfig.login("docker.io") == Login("hub", SECRET)
    assert (home / "asked").read_text() == "get https://index.docker.io/v1/\n"
    config(home, auths={key: {"auth": coded("me:pw")}})
    assert dockerconfig.login("docker.io") == Login("me", "pw")


@pytest.mark.parametrize(
    "script", ["echo credentials not found in native keychain; exit 1", answer("", "")]
)
def test_what_a_helper_does_not_know_may_be_in_the_file(home: Path, script: str) -> None:
    helper(home, "store", script)
    config(home, credsStore="store", auths={"http://a.example/v2/": {"auth": coded("me:p:w\0")}})
    assert dockerconfig.login("a.example") == Login("me", "p:w")
    assert dockerconfig.login("b.example") is None


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (f"echo {SECRET}; exit 1", "failed for a.example"),
        (f"echo error getting {SECRET} >&2; exit 3", "failed for a.example"),
        (f"echo {SECRET}", "answers something else than a login"),
        (f"echo '[\"{SECRET}\"]'", "answers something else than a login"),
        (f'echo \'{{"Username": "me", "Secret": ["{SECRET}"]}}\'', "something else than a login"),
        ("", "answers something else than a login"),
        (f"echo {SECRET}; kill -9 $$", "failed for a.example"),
        (f"echo {SECRET}; sleep 100", "does not answer for a.example"),
    ],
)
def test_a_helper_that_fails_is_said_and_what_it_prints_is_not(
    home: Path, script: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dockerconfig, "PATIENCE", 0.5)
    helper(home, "bad", script)
    config(home, credsStore="bad")
    with pytest.raises(MachineError, match=says) as error:
        dockerconfig.login("a.example")
    assert "docker-credential-bad" in str(error.value)
    assert "docker login a.example" in str(error.value)
    assert SECRET not in f"{error.value}{error.value.__cause__}"


@pytest.mark.parametrize("name", ["none", "../bin/none", "", 3, "a b", "-x;id"])
def test_a_helper_that_is_not_there(home: Path, name: object) -> None:
    config(home, credHelpers={"a.example": name}, credsStore="" if name else "absent")
    with pytest.raises(MachineError, match=r"is not there|cannot be used"):
        dockerconfig.login("a.example")


@pytest.mark.parametrize(
    "fields",
    [
        {"auths": [3]},
        {"credHelpers": ["x"]},
        {"auths": {"a.example": {"auth": f"%{SECRET}"}}},
        {"auths": {"a.example": {"auth": coded(SECRET)}}},
        {"auths": {"a.example": {"auth": [SECRET]}}},
        {"auths": {"a.example": SECRET}},
    ],
)
def test_a_config_of_another_shape_is_one_error(home: Path, fields: dict[str, object]) -> None:
    config(home, **fields)
    with pytest.raises(MachineError, match="config cannot be used") as error:
        dockerconfig.login("a.example")
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("text", ["{", "[]", "\x00", '"x"'])
def test_a_config_that_is_none(home: Path, text: str) -> None:
    (home / "docker/config.json").write_text(text)
    with pytest.raises(MachineError, match=r"docker/config\.json"):
        dockerconfig.login("a.example")
    assert dockerconfig.proxies() == {}
    assert dockerconfig.context() == ""


def test_an_entry_of_another_registry_may_be_anything(home: Path) -> None:
    config(home, auths={"b.example": 3, "a.example": {"username": "me", "password": "pw"}})
    assert dockerconfig.login("a.example") == Login("me", "pw")
    config(home, auths={"a.example": {}})
    assert dockerconfig.login("a.example") is None


def test_a_user_without_a_home_has_no_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 54321)  # pathlib asks for this user's entry
    assert dockerconfig.folder() is None
    assert (dockerconfig.login("a.example"), dockerconfig.proxies()) == (None, {})


def test_a_login_shows_no_secret() -> None:
    assert SECRET not in f"{Login('me', SECRET)} {Login('me', SECRET)!r}"


def test_an_identity_is_changed_for_a_token(registry: Registry, home: Path) -> None:
    helper(home, "azure", answer("<token>"))
    config(home, credHelpers={registry.host: "azure"})
    registry.login = "Bearer t0ken"
    registry.challenge = f'Bearer realm="http://{registry.host}/token",service="it"'
    forms: list[dict[str, list[str]]] = []

    def change(one: Handler) -> bool:
        if one.path != "/token":
            return False
        forms.append(parse_qs(one.body().decode()))
        one.answer(200, b'{"access_token": "t0ken"}')
        return True

    registry.fault = change
    attach(registry)
    assert fetched(registry) == [ENVELOPE]
    assert forms[0]["refresh_token"] == [SECRET]
    assert forms[0]["grant_type"] == ["refresh_token"]
    assert forms[0]["scope"] == ["repository:me/image:pull,push"]
    assert set(registry.logins) == {None, "Bearer t0ken"}
    assert not any(SECRET in path for _, path in registry.asked)


def test_an_identity_is_no_password(registry: Registry, home: Path) -> None:
    config(home, auths={registry.host: {"auth": coded("0:x"), "identitytoken": SECRET}})
    registry.login, registry.challenge = "Basic x", 'Basic realm="x"'
    with pytest.raises(MachineError, match="wants a login") as error:
        attach(registry)
    assert SECRET not in str(error.value)
    assert dockerconfig.login(registry.host) == Login("<token>", SECRET, identity=True)
    assert Login("<token>", SECRET, identity=True).for_engine() == {"identitytoken": SECRET}


def test_a_password_may_hold_any_letters(registry: Registry, home: Path) -> None:
    config(home, auths={registry.host: {"auth": coded("me:pässwörd€")}})
    registry.challenge = f'Bearer realm="http://{registry.host}/token",service="it"'
    registry.login = "Bearer t0ken"
    registry.fault = faulty("GET", "/token", lambda one: one.answer(200, b'{"token": "t0ken"}'))
    attach(registry)
    assert f"Basic {coded('me:pässwörd€')}" in registry.logins


@pytest.mark.parametrize("fields", [{"auths": {"x": {"auth": "A"}}}, {"proxies": 3}])
def test_what_the_sdk_cannot_read_is_no_bug_of_ours(
    home: Path, fields: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    config(home, **fields)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{home}/none.sock")
    with pytest.raises(MachineError, match="docker"):
        DockerEngine().pull("a.example/x:1", Net())
