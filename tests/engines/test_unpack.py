"""Archives become one prefix: what is laid together, and what is refused. All archives are made."""

import hashlib
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from envbuild.engines import unpack
from envbuild.engines.unpack import Refused
from tests.lock import vendor

REDIST = "cuda_nvcc-linux-x86_64-12.4.131-archive"
CONDA = "cuda-nvcc-impl-12.4.131-0"


def stored(folder: Path, name: str, data: bytes) -> tuple[Path, str]:
    path = folder / name
    path.write_bytes(data)
    return path, hashlib.sha256(data).hexdigest()


def redist(folder: Path, files: vendor.Files, part: str = "cuda_nvcc") -> tuple[Path, str]:
    top = f"{part}-linux-x86_64-12.4.131-archive"
    inside = {f"{top}/{name}": content for name, content in files.items()}
    return stored(folder, f"{top}.tar.xz", vendor.tar(inside, "xz"))


def conda(
    folder: Path, files: vendor.Files, name: str = "cuda-nvcc-impl", mode: str = "text"
) -> tuple[Path, str]:
    stem = f"{name}-12.4.131-0"
    return stored(folder, f"{stem}.conda", vendor.conda_zip(stem, files, {"name": name}, mode))


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    """A tar with one folder and one member as it stands, which no well-meaning tool writes."""
    return members((name, kind, target))


def members(*entries: tuple[str, bytes, str]) -> bytes:
    """The same with several members: name, kind, and where a link leads."""
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as tar:
        for entry, typ, link in ((REDIST, tarfile.DIRTYPE, ""), *entries):
            info = tarfile.TarInfo(entry)
            info.type, info.linkname = typ, link
            tar.addfile(info)
    return buffer.getvalue()


def test_parts_make_one_prefix_and_keep_their_licences(tmp_path: Path) -> None:
    first = redist(tmp_path, {"bin/nvcc": b"nvcc", "LICENSE": b"one", "include/a.h": b"same"})
    second = redist(
        tmp_path,
        {"lib/libcudart.so.12": b"rt", "lib/libcudart.so": "libcudart.so.12", "LICENSE": b"two",
         "include/a.h": b"same"},
        "cuda_cudart",
    )  # fmt: skip
    prefix = tmp_path / "cuda-12.4"
    unpack.unpack([first, second], prefix)
    assert (prefix / "bin/nvcc").stat().st_mode & 0o777 == 0o755
    assert (prefix / "include/a.h").stat().st_mode & 0o777 == 0o644
    assert (prefix / "lib64/libcudart.so").read_bytes() == b"rt"
    assert (prefix / "licenses/cuda_nvcc/LICENSE").read_bytes() == b"one"
    assert (prefix / "licenses/cuda_cudart/LICENSE").read_bytes() == b"two"
    assert not (prefix / "LICENSE").exists()
    assert prefix.stat().st_mode & 0o777 == 0o755


def test_conda_packages_learn_their_prefix(tmp_path: Path) -> None:
    pc = f"cudaroot={vendor.BUILDER}\n".encode()
    target = "targets/x86_64-linux/lib"
    files: vendor.Files = {
        "lib/pkgconfig/cudart.pc": pc,
        f"{target}/libcudart.so.12": b"rt",
        "lib/libcudart.so.12": f"../{target}/libcudart.so.12",
    }
    older = stored(
        tmp_path, "_libgcc_mutex-0.1-0.tar.bz2",
        vendor.conda_bz2("x", {"lib/note": b"1"}, {"name": "_libgcc_mutex"}),
    )  # fmt: skip
    prefix = tmp_path / "cuda-12.4"
    unpack.unpack([conda(tmp_path, files), older], prefix)
    assert (prefix / "lib/pkgconfig/cudart.pc").read_text() == f"cudaroot={prefix}\n"
    assert (prefix / "lib64").readlink() == Path(target)
    assert (prefix / "lib64/libcudart.so.12").read_bytes() == b"rt"
    assert sorted(p.name for p in (prefix / "licenses").iterdir()) == [
        "_libgcc_mutex", "cuda-nvcc-impl",
    ]  # fmt: skip
    assert not (prefix / "info").exists()


Made = Callable[[Path], tuple[Path, str]]
REFUSED: dict[str, tuple[Made, str]] = {
    "hash": (lambda t: (redist(t, {"a": b"1"})[0], "0" * 64), "is locked"),
    "cut": (
        lambda t: stored(
            t, f"{REDIST}.tar.xz", vendor.tar({f"{REDIST}/a": os.urandom(9999)}, "xz")[:5000]
        ),
        "cannot be unpacked",
    ),
    "no tar": (lambda t: stored(t, f"{REDIST}.tar.xz", b"<html>"), "cannot be unpacked"),
    "two folders": (
        lambda t: stored(t, f"{REDIST}.tar.xz", vendor.tar({"a/x": b"1", "b/x": b"1"}, "xz")),
        "not one folder, but a, b",
    ),
    "dots": (
        lambda t: stored(t, f"{REDIST}.tar.xz", member(f"{REDIST}/../../evil")),
        "leads out of the prefix",
    ),
    "absolute": (
        lambda t: stored(t, f"{REDIST}.tar.xz", member("/tmp/evil")), "leads out of the prefix"
    ),
    "link out": (lambda t: redist(t, {"lib": "/etc"}), "is a link to '/etc', outside"),
    "link up": (lambda t: redist(t, {"a/lib": "../../etc"}), "outside"),
    "link of links": (
        lambda t: redist(t, {"d/b": "..", "a": "d/b/../.."}), "outside"
    ),
    "through a link": (
        lambda t: redist(t, {"lib": "/etc", "lib/evil": b"1"}), "below a link"
    ),
    "device": (
        lambda t: stored(t, f"{REDIST}.tar.xz", member(f"{REDIST}/null", tarfile.CHRTYPE)),
        "neither file, folder nor link",
    ),
    "hard link out": (
        lambda t: stored(
            t, f"{REDIST}.tar.xz", member(f"{REDIST}/x", tarfile.LNKTYPE, "../../etc/passwd")
        ),
        "leads out of the prefix",
    ),
    "hard link through a link": (
        lambda t: stored(t, f"{REDIST}.tar.xz", members(
            (f"{REDIST}/l", tarfile.SYMTYPE, "/etc"),
            (f"{REDIST}/x", tarfile.LNKTYPE, f"{REDIST}/l/passwd"),
        )),
        "below a link",
    ),
    "hard link to nothing": (
        lambda t: stored(
            t, f"{REDIST}.tar.xz", member(f"{REDIST}/x", tarfile.LNKTYPE, f"{REDIST}/none")
        ),
        "No such file or directory: none",
    ),
    "a name twice": (
        lambda t: stored(
            t, f"{REDIST}.tar.xz", members(*[(f"{REDIST}/x", tarfile.REGTYPE, "")] * 2)
        ),
        "File exists: x",
    ),
    "below a loop": (
        lambda t: stored(t, f"{REDIST}.tar.xz", members(
            (f"{REDIST}/a", tarfile.SYMTYPE, "a"), (f"{REDIST}/a/x", tarfile.REGTYPE, ""),
        )),
        "cannot be unpacked: File exists: a",
    ),
    "paths that are none": (
        lambda t: stored(t, f"{CONDA}.tar.bz2", vendor.tar(
            {"info/paths.json": b'{"paths": [1]}', "info/index.json": b'{"name": "x"}'}, "bz2"
        )),
        "nothing of use in info/paths.json",
    ),
    "no info": (
        lambda t: stored(t, f"{CONDA}.tar.bz2", vendor.tar({"bin/x": b"1"}, "bz2")),
        "no readable info/paths.json",
    ),
    "no package": (
        lambda t: stored(t, f"{CONDA}.conda", vendor.conda_zip("other-1-0", {}, {"name": "x"})),
        f"has no pkg-{CONDA}.tar.zst",
    ),
    "no zip": (lambda t: stored(t, f"{CONDA}.conda", b"<html>"), "cannot be unpacked"),
    "prefix in a program": (
        lambda t: conda(t, {"bin/x": vendor.BUILDER.encode()}, mode="binary"),
        "inside the program bin/x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_archive_that_must_not_be_unpacked_leaves_nothing(tmp_path: Path, name: str) -> None:
    make, says = REFUSED[name]
    folder = tmp_path / "archives"
    folder.mkdir()
    with pytest.raises(Refused, match=says) as error:
        unpack.unpack([make(folder)], tmp_path / "into/prefix")
    assert str(error.value).startswith(("cuda_nvcc-linux", "cuda-nvcc-impl", "lib", "a"))
    assert list((tmp_path / "into").iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["archives", "into"]


def test_a_loop_of_links_leads_nowhere_and_stays(tmp_path: Path) -> None:
    archive = redist(tmp_path, {"a": "b", "b": "a", "x": b"1"})
    unpack.unpack([archive], tmp_path / "prefix")
    assert (tmp_path / "prefix/a").readlink() == Path("b")


def test_two_parts_that_differ_in_a_file_are_refused(tmp_path: Path) -> None:
    parts = [redist(tmp_path, {"a": b"1"}), redist(tmp_path, {"a": b"2"}, "cuda_cudart")]
    with pytest.raises(Refused, match="holds another 'a'"):
        unpack.unpack(parts, tmp_path / "prefix")
    parts = [redist(tmp_path, {"a": b"1"}), redist(tmp_path, {"a/b": b"2"}, "cuda_cudart")]
    with pytest.raises(Refused, match="a file in another part"):
        unpack.unpack(parts, tmp_path / "prefix")


def test_without_zstd_the_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = conda(tmp_path, {"a": b"1"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="needs the program zstd"):
        unpack.unpack([part], tmp_path / "prefix")


def test_it_is_a_program_of_its_own(tmp_path: Path) -> None:
    path, sha256 = redist(tmp_path, {"bin/nvcc": b"1"})
    listed = tmp_path / "toolkit.lock"
    for digest, rc, says in ((sha256, 0, ""), ("0" * 64, 1, "REFUSED: cuda_nvcc-linux")):
        listed.write_text(f"{digest} cuda_nvcc/linux-x86_64/{path.name}\n")
        argv = [sys.executable, "-I", unpack.__file__, listed, tmp_path, tmp_path / f"p{rc}"]
        done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr[: len(says)]) == (rc, says), done.stderr
    assert (tmp_path / "p0/bin/nvcc").is_file()
    assert not (tmp_path / "p1").exists()
