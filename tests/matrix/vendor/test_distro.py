"""Debian's toolkits: what a package says, made with dpkg-deb, and an archive that gives nothing."""

import subprocess
from pathlib import Path

import pytest

from envbuild.io.net import Net
from envbuild.matrix.load import load
from envbuild.matrix.vendor import distro
from envbuild.matrix.vendor.archive import Archive
from envbuild.matrix.vendor.model import Unreachable, Unreadable

CONTROL = """Package: nvidia-cuda-dev
Version: 12.4.127~12.4.1-2
Architecture: amd64
Maintainer: a test <nobody@example.invalid>
Depends: g++-13, libc6 (>= 2.34)
Description: made
"""


def package(folder: Path, **headers: str) -> Path:
    """A package with these files below ``usr/include/crt``."""
    root = folder / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(CONTROL)
    for name, text in headers.items():
        path = root / f"usr/include/crt/{name}.h"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    deb = folder / "made_1_amd64.deb"
    subprocess.run(["dpkg-deb", "-b", str(root), str(deb)], check=True, capture_output=True)
    return deb


def test_a_package_with_headers(tmp_path: Path) -> None:
    guard = "#if __GNUC__ > 13\n#endif\n"
    declared = "extern __device_builtin__ double                 cospi(double x);\n"
    facts = distro.read(package(tmp_path, host_config=guard, math_functions=declared))
    assert facts == distro.DebFacts(
        version="12.4.127~12.4.1-2",
        depends="g++-13, libc6 (>= 2.34)",
        gcc_max=13,
        bare=("cospi",),
    )


def test_a_package_without_headers_tells_nothing_of_compilers(tmp_path: Path) -> None:
    facts = distro.read(package(tmp_path))
    assert (facts.gcc_max, facts.bare) == (None, None)


def test_what_is_no_package_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "x.deb"
    path.write_bytes(b"!<arch>\nnothing")
    with pytest.raises(Unreadable, match=r"x\.deb is no package"):
        distro.read(path)


def test_the_facts_of_the_packages_make_the_row() -> None:
    row = next(row for row in load().distro if row.os == "debian13")
    toolkit = distro.DebFacts(version="12.4.131~12.4.1-2")
    compiler = distro.DebFacts(version="12.4.1-2", depends="g++-13, nvidia-cuda-toolkit")
    dev = distro.DebFacts(version="12.4.127~12.4.1-2", gcc_max=13, bare=("cospi",))
    values = distro.DISTRO.measured(row, (toolkit, compiler, dev))
    assert values == {name: getattr(row, name) for name in values}
    assert {"cuda", "release", "version", "packages", "gcc"} == set(values)
    lower = distro.DebFacts(version=dev.version, gcc_max=12)
    assert distro.DISTRO.measured(row, (toolkit, compiler, lower))["gcc"] == 12


@pytest.mark.parametrize("mirror", ["http://127.0.0.1:9/debian", "file:///nowhere"])
def test_an_archive_that_gives_nothing_is_not_reachable(mirror: str, tmp_path: Path) -> None:
    archive = Archive(tmp_path, Net(apt_mirror=mirror))
    with pytest.raises(Unreachable, match="the archive does not give trixie non-free"):
        archive.package("trixie non-free", "nvidia-cuda-toolkit", "x86_64")


def test_an_archive_that_nobody_signed_is_not_reachable(tmp_path: Path) -> None:
    suite = tmp_path / "mirror/dists/trixie"
    suite.mkdir(parents=True)
    (suite / "Release").write_text("Suite: trixie\nCodename: trixie\n")
    archive = Archive(tmp_path / "work", Net(apt_mirror=f"file://{tmp_path}/mirror"))
    with pytest.raises(Unreachable, match="not signed"):
        archive.package("trixie non-free", "nvidia-cuda-toolkit", "x86_64")
