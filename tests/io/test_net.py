"""Which addresses of mirrors and indexes can be used."""

import pytest

from envbuild.errors import InputError
from envbuild.io.net import Net, checked, without_login


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
