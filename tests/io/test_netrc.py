"""Netrc: which host learns which login of it, and what a file says that cannot be read."""

import base64
from pathlib import Path

import pytest

from envbuild.errors import InputError, MachineError
from envbuild.io import http, netrcfile
from envbuild.io.net import Net, apt_auth, logged_in, login
from envbuild.io.net import netrc as for_pip
from tests.io.referring import ENVELOPE, attach, faulty, fetched
from tests.io.registry import Registry, running
from tests.lock.server import sha

DEFAULT = "default login any password s3cret\n"
HEADER = "Basic " + base64.b64encode(b"any:s3cret").decode()


@pytest.fixture
def netrc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(file))
    return file


def test_entries_in_every_spelling(netrc: Path) -> None:
    netrc.write_text(
        "# mine\nmachine a.example\n\tlogin me\n\tpassword #p\"w'\n"
        'macdef init\ncd /x\nmachine no.example login x password y\n\nmachine b.example user "you" '
        'password "two words \\"q\\""\n' + DEFAULT
    )
    assert netrcfile.login("a.example") == ("me", "#p\"w'")
    assert netrcfile.login("b.example") == ("you", 'two words "q"')
    assert netrcfile.login("no.example") == ("any", "s3cret"), "a macro's lines are no entries"
    assert login("https://c.example:8443/x") == ("any", "s3cret")
    assert login("file:///srv/c.example") is None
    assert (
        logged_in("https://c.example/y", "https://c.example/") == "https://any:s3cret@c.example/y"
    )


@pytest.mark.parametrize(
    "text",
    [
        b"machine a.example login me password my s3cret\n",
        b"machine a.example login me pass s3cret\n",
        b"macdef x\nmachine a.example login me password s3cret",
        "default login me password s3cret\xff".encode("latin-1"),
        b"default\nlogin me s3cret",
    ],
)
def test_a_file_that_cannot_be_read_is_said_to_whom_it_concerns(netrc: Path, text: bytes) -> None:
    netrc.write_bytes(text)
    for ask in (login, lambda url: http.get(url, Net()), apt_auth, for_pip):
        with pytest.raises(InputError, match="cannot be read, and the login for") as error:
            ask("http://a.example/simple")
        assert str(netrc) in str(error.value)
        assert "s3cret" not in f"{error.value}{error.value.__cause__}"
    if b"default" not in text:
        assert login("http://b.example") is None, "it says nothing of that one"


def test_a_netrc_may_be_no_file(netrc: Path) -> None:
    netrc.mkdir()
    with pytest.raises(InputError, match="Is a directory"):
        login("http://a.example")
    netrc.rmdir()
    assert login("http://a.example") is None


def test_no_home_no_netrc(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NETRC", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 54321)
    assert netrcfile.path() is None
    assert login("http://a.example") is None


@pytest.mark.parametrize("word", ['"x', "x\\y"])
def test_what_steps_would_read_in_two_ways_is_refused(word: str) -> None:
    url = f"https://me:{word.replace('%', '%25')}@a.example/"
    with pytest.raises(InputError, match="quote or backslash") as error:
        for_pip(url)
    assert word not in str(error.value)
    assert word.encode() in apt_auth(url), "apt knows no quotes"


def test_an_index_is_given_the_login(netrc: Path) -> None:
    netrc.write_text(DEFAULT)
    with running() as index:
        index.fault = faulty("GET", "", lambda one: one.answer(200, b"x"))
        http.get(f"http://{index.host}/simple", Net())
        http.get(f"http://me:p%2Fw@{index.host}/simple", Net())
        assert index.logins == [HEADER, "Basic " + base64.b64encode(b"me:p/w").decode()]


def test_a_redirect_takes_no_login_to_another_host(netrc: Path) -> None:
    with running() as index, running() as other:
        host = other.host.replace("127.0.0.1", "localhost")
        where = f"http://{host}/file"
        index.fault = faulty("GET", "", lambda one: one.answer(302, Location=where))
        other.fault = faulty("GET", "", lambda one: one.answer(200, b"x"))
        http.get(f"http://me:pw@{index.host}/simple", Net())
        netrc.write_text("machine 127.0.0.1 login me password pw\n")
        http.get(f"http://{index.host}/simple", Net())
        assert other.logins == [None, None]
        assert None not in index.logins
        netrc.write_text("machine localhost login any password s3cret\n")
        http.get(f"http://{index.host}/simple", Net())
        assert (index.logins[-1], other.logins[-1]) == (None, HEADER), "the control: its own"


def test_a_registry_and_where_it_leads_see_no_netrc(registry: Registry, netrc: Path) -> None:
    netrc.write_text(DEFAULT)
    attach(registry)
    assert fetched(registry) == [ENVELOPE]
    with running() as other:
        host = other.host.replace("127.0.0.1", "localhost")
        where = f"http://{host}/blob"
        blob = sha(ENVELOPE)
        registry.fault = faulty("GET", blob, lambda one: one.answer(307, Location=where))
        other.fault = faulty("GET", "", lambda one: one.answer(200, ENVELOPE))
        assert fetched(registry) == [ENVELOPE]
        assert other.count("GET") == 1
        registry.location = f"http://{other.host}/upload"
        other.fault = faulty("PUT", "", lambda one: one.answer(201))
        attach(registry, b'{"payload": "e31="}')
        assert other.count("PUT") == 1
        assert {*registry.logins, *other.logins} == {None}


def test_a_token_server_sees_no_netrc(registry: Registry, netrc: Path) -> None:
    netrc.write_text(DEFAULT)
    registry.login = "Bearer t0ken"
    registry.challenge = f'Bearer realm="http://{registry.host}/token",service="it"'
    registry.fault = faulty("GET", "/token", lambda one: one.answer(401))
    with pytest.raises(MachineError, match="answered 401"):
        attach(registry)
    assert set(registry.logins) == {None}
