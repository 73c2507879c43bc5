"""Two archives side by side: each kind of difference is named by file and layer."""

import tarfile
from pathlib import Path

import pytest

from envbuild.compare import differences
from envbuild.errors import InputError, StaleError
from envbuild.io.ociarchive import latest, read
from envbuild.values.reproduction import Difference
from tests.oci import archive, entry, layer

BASE = layer(entry("etc/hosts", b"1\n", mtime=5))


def compared(tmp_path: Path, first: bytes, second: bytes) -> tuple[Difference, ...]:
    one = read(archive(tmp_path / "1.tar", (BASE, first)))
    return differences(one, read(archive(tmp_path / "2.tar", (BASE, second))))


def test_an_archive_says_what_it_holds(tmp_path: Path) -> None:
    top = layer(entry("a", b"x", mtime=7))
    made = read(archive(tmp_path / "1.tar", (BASE, top)))
    assert made.platform == "linux/amd64"
    assert [one.step for one in made.layers] == ["RUN step 1", "RUN step 2"]
    assert latest(made) == 7
    again = read(archive(tmp_path / "2.tar", (BASE, top)))
    assert again.manifest == made.manifest
    assert differences(made, again) == ()


@pytest.mark.parametrize("spoil", ["layer", "config", "manifest", "diff_id"])
def test_other_bytes_than_a_digest_names_are_never_taken(tmp_path: Path, spoil: str) -> None:
    with pytest.raises(StaleError, match="other bytes than sha256:") as caught:
        read(archive(tmp_path / "1.tar", (BASE,), spoil=spoil))
    assert caught.value.exit_code == 7


def test_a_config_that_names_more_layers_than_there_are_is_not_of_this_image(
    tmp_path: Path,
) -> None:
    with pytest.raises(StaleError, match="its config names others"):
        read(archive(tmp_path / "1.tar", (BASE,), spoil="count"))


@pytest.mark.parametrize("end", [0, 100, 2500])
def test_a_cut_archive_is_no_archive(tmp_path: Path, end: int) -> None:
    path = archive(tmp_path / "1.tar", (BASE,))
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(InputError, match=r"1\.tar"):
        read(path)


@pytest.mark.parametrize(
    ("second", "what"),
    [
        (entry("f", b"2", mtime=1), "bytes"),
        (entry("f", b"1", mtime=1, mode=0o600), "mode 644 / 600"),
        (entry("f", b"1", mtime=1, uid=3), "owner 0:0 / 3:0"),
        (entry("f", b"1", mtime=9), "mtime 1 / 9"),
        (entry("f", b"1", mtime=1, pax_headers={"SCHILY.xattr.user.a": "b"}), "attributes"),
    ],
)
def test_what_differs_about_a_file_is_said(
    tmp_path: Path, second: tuple[tarfile.TarInfo, bytes], what: str
) -> None:
    found = compared(tmp_path, layer(entry("f", b"1", mtime=1)), layer(second))
    assert found == (Difference(layer=2, step="RUN step 2", path="/f", what=(what,)),)


def test_kinds_links_and_files_of_one_side_alone(tmp_path: Path) -> None:
    link = {"type": tarfile.SYMTYPE}
    first = layer(entry("a", linkname="x", **link), entry("b", b"1"), entry("c"))
    second = layer(entry("a", linkname="y", **link), entry("b", type=tarfile.DIRTYPE), entry("d"))
    found = {one.path: one.what for one in compared(tmp_path, first, second)}
    assert found["/a"] == ("link x / y",)
    assert found["/b"] == ("bytes", "kind 0 / 5")
    assert (found["/c"], found["/d"]) == (("only in the first",), ("only in the second",))


def test_known_causes_are_named(tmp_path: Path) -> None:
    names = ("usr/a.pyc", "var/log/dpkg.log", "var/cache/ldconfig/aux-cache", "var/lib/apt/x", "z")
    first, second = (layer(*(entry(n, data) for n in names)) for data in (b"1", b"2"))
    why = {one.path: one.why for one in compared(tmp_path, first, second)}
    assert "PYTHONDONTWRITEBYTECODE" in why["/usr/a.pyc"]
    assert "log" in why["/var/log/dpkg.log"]
    assert "ldconfig" in why["/var/cache/ldconfig/aux-cache"]
    assert "apt" in why["/var/lib/apt/x"]
    assert why["/z"] == ""
    # The names of nvcc's temporary files hold its process id; they may lie across two reads.
    first, second = (
        layer(entry("k", b"\0" * ((1 << 20) - 3) + b"tmpxft_0000%d" % pid)) for pid in (1, 2)
    )
    (one,) = compared(tmp_path, first, second)
    assert "nvcc" in one.why


def test_the_order_of_files_and_the_packing_are_differences_too(tmp_path: Path) -> None:
    a, b = entry("a", b"1"), entry("b", b"2")
    (one,) = compared(tmp_path, layer(a, b), layer(b, a))
    assert (one.path, one.what) == ("", ("the order of its files",))
    first = read(archive(tmp_path / "1.tar", (BASE,), level=1))
    second = read(archive(tmp_path / "2.tar", (BASE,), level=0))
    (one,) = differences(first, second)
    assert one.what == ("packed otherwise, the same bytes within",)


def test_config_and_number_of_layers(tmp_path: Path) -> None:
    first = read(archive(tmp_path / "1.tar", (BASE,)))
    second = read(archive(tmp_path / "2.tar", (BASE,), created="2026-12-02T00:00:00Z"))
    assert [(one.layer, one.path) for one in differences(first, second)] == [(0, "created")]
    third = read(archive(tmp_path / "3.tar", (BASE, BASE)))
    assert differences(first, third)[0].what == ("1 / 2 layers",)
