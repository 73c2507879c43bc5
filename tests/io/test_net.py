"""Which addresses of mirrors and indexes can be used."""

import json
from pathlib import Path

import pytest

from envbuild.cli import show
from envbuild.errors import InputError
from envbuild.io import dockerconfig
from envbuild.io.net import (
    Net,
    apt_auth,
    checked,
    logged_in,
    login,
    plain,
    stand_ins,
    without_login,
)


@pytest.mark.parametrize(
    "mirror",
    ["m", "m.example:5000", "127.0.0.1:1/hub", "[::1]:5000", "m.example/a/b/", "M-1.example"],
)
def test_registries(mirror: str) -> None:
    assert checked(Net(registry_mirror=mirror)).registry_mirror == mirror


@pytest.mark.parametrize(
    "mirror",
    ["", "-x", "http://m", "m:", "m:x", "a b", "m/../..x y", "m\n", "$(id)", "[", "m:1:2", "@m"],
)
def test_no_registries(mirror: str) -> None:
    with pytest.raises(InputError, match="--registry-mirror"):
        checked(Net(registry_mirror=mirror))


@pytest.mark.parametrize(
    "url", ["http://m", "https://me:pw@m:8443/simple/", "file:///srv/debian", "http://[::1]:80/x"]
)
def test_addresses(url: str) -> None:
    assert checked(Net(index_url=url, apt_mirror=url)).index_url == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "m/simple",
        "ftp://m/",
        "http://",
        "http://m x",
        "http://m:x/",
        "http://m:99999",
        "http://[",
        "http://m/\x1b[1m",
    ],
)
def test_no_addresses(url: str) -> None:
    for net in (Net(index_url=url), Net(apt_mirror=url)):
        with pytest.raises(InputError, match="is not an address"):
            checked(net)


def test_an_error_shows_no_password() -> None:
    with pytest.raises(InputError) as error:
        checked(Net(index_url="https://me:s3cret@m:x/"))
    assert "s3cret" not in str(error.value)
    assert without_login("see https://me:s3cret@m/x, http://t0ken@m, https://m/a:b@c") == (
        "see https://****@m/x, http://****@m, https://m/a:b@c"
    )


def test_a_login_is_the_addresses_own_or_netrcs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine m.example login me password p+w/%\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    assert login("https://a:b%2Fc@m.example/x") == ("a", "b/c")
    assert login("https://m.example:8443/x") == ("me", "p+w/%")
    assert login("https://other.example") is None
    assert login("file:///srv/m.example") is None
    assert plain("https://a:b@m.example:8/x") == "https://m.example:8/x"
    mirror = "https://m.example/debian"
    assert logged_in("https://m.example/y", mirror) == "https://me:p%2Bw%2F%25@m.example/y"
    assert logged_in("https://else.example/y", mirror) == "https://else.example/y"
    assert logged_in("https://m.example/y", None) == "https://m.example/y"


def test_logins_as_apt_reads_them() -> None:
    found = apt_auth("https://a:b%2F@m/debian", "http://c:d@n:8/", "https://x.invalid/", None)
    assert found == b"machine m login a password b/\nmachine http://n:8 login c password d\n"
    with pytest.raises(InputError, match="has a blank in it") as error:
        apt_auth("https://a:s3cret%20word@m/")
    assert "s3cret" not in str(error.value)


def test_logs_name_the_flag_in_place_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"proxies": {"default": {"httpsProxy": "http://me:pw@p.example:3", "noProxy": "q"}}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://r.example:4")
    assert dockerconfig.proxies() == {"https_proxy": "http://me:pw@p.example:3", "no_proxy": "q"}
    net = Net(registry_mirror="m:5/hub", index_url="https://me:pw@i.example/simple")
    found = stand_ins(net)
    assert found == {
        "m:5": "registry-mirror", "i.example": "index-url", "p.example:3": "proxy",
        "r.example:4": "proxy",
    }  # fmt: skip
    show.hide(found)
    try:
        show.note("GET https://me:pw@i.example/simple/x from m:5/hub, not am:5 nor m:55")
        show.error(InputError("i.example does not answer"))
    finally:
        show.hide({})
    said = capsys.readouterr().err.splitlines()
    assert (
        said[0] == "GET https://****@index-url/simple/x from registry-mirror/hub, not am:5 nor m:55"
    )
    assert said[1].endswith("i.example does not answer"), "whoever reads an error must know"


@pytest.mark.parametrize("text", ["", "[]", '{"proxies": 3}', '{"proxies": {"default": [1]}}', "{"])
def test_a_config_of_dockers_may_be_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "config.json").write_text(text)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert dockerconfig.proxies() == {}
