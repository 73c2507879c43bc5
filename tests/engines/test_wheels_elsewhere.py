"""A wheel that its index lost, renamed or replaced is taken by its hash from where it still is."""

from pathlib import Path

import pytest

from envbuild.engines import wheels
from envbuild.errors import StaleError
from envbuild.io.net import Net
from envbuild.values.codec import Pairs, replace
from envbuild.values.lock import Wheel
from tests.lock.conftest import no_credentials, no_proxy, no_waiting, server
from tests.lock.server import Server, publish, sha, wheel

__all__ = ["no_credentials", "no_proxy", "no_waiting", "server"]  # fixtures

FILE, DATA = wheel("native", "1.0", "py3-none-any")
OTHER = wheel("native", "1.0", "py3-none-any", ("other",))
WHEEL = Wheel(name="native", version="1.0", file=FILE, sha256=sha(DATA)[7:], index="cu126")


def fetch(server: Server, store: Path, wanted: Wheel = WHEEL) -> tuple[bytes, list[str]]:
    said = list[str]()
    net = Net(index_url=f"http://{server.host}/simple")
    urls = Pairs({"cu126": f"http://{server.host}/cu126"})
    (path,) = wheels.fetch((wanted,), store, net, said.append, urls)
    return path.read_bytes(), said


@pytest.mark.parametrize(
    ("own", "here", "rest", "there"),
    [
        ("cu126", None, "simple", (FILE, DATA)),  # lost
        ("simple", OTHER, "cu126", (FILE, DATA)),  # replaced by other bytes
        ("cu126", None, "simple", ("native-1.0-1-py3-none-any.whl", DATA)),  # renamed, too
    ],
)
def test_the_same_bytes_are_taken_of_another_index(
    tmp_path: Path,
    server: Server,
    own: str,
    here: tuple[str, bytes] | None,
    rest: str,
    there: tuple[str, bytes],
) -> None:
    if here:
        publish(server, f"/{own}", here)
    publish(server, f"/{rest}", there)
    wanted = replace(WHEEL, index=own if own == "cu126" else "pypi")
    data, said = fetch(server, tmp_path / "store", wanted)
    assert data == DATA
    assert any("does not give it" in line for line in said)
    assert [path.name for path in (tmp_path / "store").iterdir()] == [FILE]


def test_what_is_where_it_was_is_asked_of_nobody_else(tmp_path: Path, server: Server) -> None:
    publish(server, "/cu126", (FILE, DATA))
    assert fetch(server, tmp_path)[0] == DATA
    assert not [path for path, _ in server.asked if path.startswith("/simple")]


def test_other_bytes_everywhere_are_refused_as_the_first_index_has_them(
    tmp_path: Path, server: Server
) -> None:
    publish(server, "/simple", OTHER)
    publish(server, "/cu126", OTHER)
    with pytest.raises(StaleError, match="not have the hash"):
        fetch(server, tmp_path)
    assert not list(tmp_path.glob("*.whl"))
