"""Files of an image from its layers: later layers win, nothing is written outside the folder."""

from pathlib import Path

import pytest

from envbuild.errors import MachineError, StaleError
from envbuild.io.net import Net
from envbuild.lock.rootfs import extract
from tests.lock.server import Server, layer, push, sha

WANTED = ("var/lib/dpkg/status", "etc/apt/", "usr/share/keyrings/")


def taken(server: Server, folder: Path, *layers: bytes) -> dict[str, bytes]:
    push(server, "library/debian", "trixie", *layers)
    net = Net(registry_mirror=server.host)
    extract("debian:trixie", "linux/amd64", WANTED, folder / "root", net)
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def test_only_what_is_wanted(server: Server, tmp_path: Path) -> None:
    content = {"./var/lib/dpkg/status": b"s", "./etc/passwd": b"p", "etc/apt/sources.list": b"deb"}
    found = taken(server, tmp_path, layer(content))
    assert found == {"root/var/lib/dpkg/status": b"s", "root/etc/apt/sources.list": b"deb"}


def test_later_layers_win_and_white_outs_remove(server: Server, tmp_path: Path) -> None:
    first = layer({"etc/apt/a": b"1", "etc/apt/b": b"1", "etc/apt/d/x": b"1"})
    second = layer({"etc/apt/a": b"2", "etc/apt/.wh.b": b"", "etc/apt/d/.wh..wh..opq": b""})
    assert taken(server, tmp_path, first, second) == {"root/etc/apt/a": b"2"}


def test_a_link_becomes_a_copy(server: Server, tmp_path: Path) -> None:
    content: dict[str, bytes | str] = {
        "usr/share/keyrings/k": b"key",
        "etc/apt/relative": "../../usr/share/keyrings/k",
        "etc/apt/absolute": "/usr/share/keyrings/k",
        "etc/apt/loop": "loop",
        "etc/apt/outside": "../../../../../../etc/passwd",
    }
    found = taken(server, tmp_path, layer(content))
    assert found["root/etc/apt/relative"] == found["root/etc/apt/absolute"] == b"key"
    assert "root/etc/apt/loop" not in found
    assert "root/etc/apt/outside" not in found


def test_nothing_leaves_the_folder(server: Server, tmp_path: Path) -> None:
    content = {"../../etc/apt/up": b"x", "/etc/apt/abs": b"x"}
    found = taken(server, tmp_path, layer(content))
    assert set(found) == {"root/etc/apt/up", "root/etc/apt/abs"}


def test_a_layer_that_cannot_be_read(server: Server, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="cannot be unpacked"):
        taken(server, tmp_path, b"\x28\xb5\x2f\xfdzstd")


def test_a_layer_of_other_bytes_writes_nothing(server: Server, tmp_path: Path) -> None:
    good = layer({"etc/apt/a": b"1"})
    push(server, "library/debian", "trixie", good)
    server.put(f"/v2/library/debian/blobs/{sha(good)}", layer({"etc/apt/a": b"evil"}))
    with pytest.raises(StaleError):
        extract("debian:trixie", "linux/amd64", WANTED, tmp_path, Net(registry_mirror=server.host))
    assert list(tmp_path.rglob("a")) == []
