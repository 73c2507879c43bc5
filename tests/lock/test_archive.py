"""Suites and components: read in either form, served by one mirror, without hosts in between."""

import pytest

from envbuild.errors import InputError, MachineError
from envbuild.io.net import Net
from envbuild.lock import archive
from tests.lock.server import Server

# Of the official debian:trixie image, as its build script writes it.
DEB822 = """\
Types: deb
# http://snapshot.example/archive/debian/20261101T000000Z
URIs: http://deb.example/debian
Suites: trixie trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.pgp

Types: deb
URIs: http://deb.example/debian-security
Suites: trixie-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.pgp
"""


def test_deb822() -> None:
    assert archive.index(DEB822) == ("trixie main", "trixie-updates main", "trixie-security main")


def test_one_line() -> None:
    text = """\
# deb http://deb.example/debian sid main
deb http://deb.example/debian bookworm main contrib
deb [arch=amd64 signed-by=/k.gpg] http://deb.example/debian bookworm non-free main
deb-src http://deb.example/debian bookworm main
deb http://vendor.example/repos/debian12/x86_64/ /
"""
    assert archive.index(text) == ("bookworm main contrib non-free",)


def test_disabled_stanzas_and_sources_do_not_count() -> None:
    off = DEB822.replace("Types: deb\nURIs", "Types: deb\nEnabled: no\nURIs")
    assert archive.index(off) == ("trixie main", "trixie-updates main")
    assert archive.index(DEB822.replace("Types: deb\n", "Types: deb-src\n")) == ()


def test_debians_security_updates_lie_beside_the_archive() -> None:
    lines = ("trixie main contrib", "trixie-security main")
    assert archive.sources(lines, "http://m.example/debian/") == (
        "deb http://m.example/debian trixie main contrib\n"
        "deb http://m.example/debian-security trixie-security main\n"
    )
    then = "https://snapshot.example/archive/debian/20261201T000000Z/"
    assert archive.snapshot(then) == "20261201T000000Z"
    assert archive.snapshot("http://m.example/debian/") == archive.snapshot(None) == ""
    # Lists of the security updates are signed for a week; a snapshot of them is older.
    assert archive.sources(lines, then) == (
        "deb [check-valid-until=no] https://snapshot.example/archive/debian/20261201T000000Z "
        "trixie main contrib\n"
        "deb [check-valid-until=no] https://snapshot.example/archive/debian-security/"
        "20261201T000000Z trixie-security main\n"
    )
    ubuntu = archive.sources(("noble-security main",), "http://m.example/ubuntu")
    assert ubuntu == "deb http://m.example/ubuntu noble-security main\n"


@pytest.mark.parametrize(
    "line", ["bookworm", "x main\ndeb [trusted=yes] http://evil x y", "[a=b] x y"]
)
def test_a_line_of_a_lock_is_never_more_than_one_suite(line: str) -> None:
    with pytest.raises(InputError):
        archive.sources((line,), "http://m.example/debian")


def test_suites_that_the_mirror_lacks_are_left_out(server: Server) -> None:
    server.put("/debian/dists/trixie/InRelease", b"x")
    lines = ("trixie main", "trixie-security main")
    assert archive.served(lines, f"http://{server.host}/debian", Net()) == ("trixie main",)
    with pytest.raises(MachineError, match="none of trixie"):
        archive.served(lines, f"http://{server.host}/other", Net())
