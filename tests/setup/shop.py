"""Repositories of Debian packages in the vendors' forms, signed by a key of the tests' own.

All *made*: the vendors' hosts are not reached. Packages have the vendors' names, hold little
programs that answer as the real ones do, and ask for drivers as the real ones do.
"""

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.lock.vendor import Signer


class Deb(NamedTuple):
    """A package: files by path, what it asks for, and what it does once it is unpacked."""

    name: str
    files: Mapping[str, str] = {}
    asks: str = ""
    after: str = ""


def flat(folder: Path, key: Signer, debs: list[Deb]) -> None:
    """A repository whose packages and lists lie in one folder."""
    _signed(folder, folder, _packages(folder, folder, debs), "Packages", key)


def suite(root: Path, name: str, key: Signer, debs: list[Deb]) -> None:
    """A repository with suites and components (``dists/NAME/stable``)."""
    pool, dist = root / "pool", root / "dists" / name
    listed = "stable/binary-amd64/Packages"
    (dist / listed).parent.mkdir(parents=True)
    _signed(dist, dist, _packages(pool, root, debs), listed, key)


def _signed(folder: Path, root: Path, packages: str, listed: str, key: Signer) -> None:
    data = packages.encode()
    (root / listed).write_bytes(data)
    lines = ["Origin: made", "Architectures: amd64", "Components: stable"]
    lines += ["Date: Tue, 01 Dec 2026 12:00:00 UTC", "SHA256:"]
    lines.append(f" {hashlib.sha256(data).hexdigest()} {len(data)} {listed}")
    (folder / "InRelease").write_bytes(key.sign("\n".join(lines).encode() + b"\n"))


def _packages(pool: Path, root: Path, debs: list[Deb]) -> str:
    pool.mkdir(parents=True, exist_ok=True)
    return "\n".join(_built(pool, root, deb) for deb in debs)


def _built(pool: Path, root: Path, deb: Deb) -> str:
    work = pool / "work"
    (work / "DEBIAN").mkdir(parents=True)
    fields = [f"Package: {deb.name}", "Version: 1", "Architecture: amd64", "Maintainer: x <x@x>"]
    fields += [deb.asks] * bool(deb.asks)
    (work / "DEBIAN/control").write_text("\n".join([*fields, "Description: made", ""]))
    if deb.after:
        (work / "DEBIAN/postinst").write_text(f"#!/bin/sh\n{deb.after}\n")
        (work / "DEBIAN/postinst").chmod(0o755)
    for path, text in deb.files.items():
        file = work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    made = pool / f"{deb.name}_1_amd64.deb"
    argv = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-b", str(work), str(made)]
    subprocess.run(argv, check=True, capture_output=True)
    shutil.rmtree(work)
    data = made.read_bytes()
    fields.append(f"Filename: {made.relative_to(root)}")
    fields += [f"Size: {len(data)}", f"SHA256: {hashlib.sha256(data).hexdigest()}"]
    return "\n".join([*fields, "Description: made", ""])
