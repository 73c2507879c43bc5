"""What is in an image: an SBOM in SPDX 2.3, from the lock and from what the image itself says.

Form: https://spdx.github.io/spdx-spec/v2.3/. A package that was seen in the image is CONTAINED in
it. One that the lock names and a list that was read to its end lacks, was needed for the build
alone. Where the image's list could not be read, the document says so, and trusts the lock.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from packaging.utils import canonicalize_name

from envbuild import __version__
from envbuild.attest import purl, statement
from envbuild.attest.packages import Installed, Kind, Packages
from envbuild.attest.provenance import check_made, stage
from envbuild.errors import InputError
from envbuild.io import oci
from envbuild.values.codec import digest, dump_line
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

_DOCUMENT, _IMAGE = "SPDXRef-DOCUMENT", "SPDXRef-Image"
_DATED = "created is the date of the matrices that plan and lock were made from."
_SEEN = "named by the image's own list"
_LOCKED = "locked, and named by the image's own list"
_TRUSTED = "locked; the image was not asked, or keeps no list of such files"
_BUILD = "locked, and not in the finished image: the build alone needed it"


class _Entry(NamedTuple):
    """One package; ``kind`` is None where no list of the image could name it."""

    purl: str
    name: str
    version: str
    kind: Kind | None
    file: str = ""
    sha256: str = ""


def sbom(plan: Plan, lock: Lock, image: Image, found: Packages) -> bytes:
    """The predicate; equal input, equal bytes.

    Args:
        plan: which system and which archive the lock's packages are of.
        lock: versions and hashes of what the build took from outside.
        image: the finished image, built from both, as its labels must say.
        found: what it says it holds (`packages.packages`).

    Raises:
        StaleError: the image was not built from this plan and this lock.
    """
    check_made(image, plan, lock)
    # Both sides are named after one system, so that what is the same has the same name.
    system = found.system or purl.system(plan.image.os)
    seen = {entry.purl: entry for entry in (_installed(p, system) for p in found.installed)}
    locked = {entry.purl: entry for entry in _locked(plan, lock, system)}
    packages, relations = [_image(image)], [_relation(_DOCUMENT, "DESCRIBES", _IMAGE)]
    base = lock.runtime if stage(image) == "runtime" and lock.runtime else lock.base
    if base:
        entry = _Entry(purl.image(base), base.ref, base.digest, None)
        packages.append(_package(entry, "the image that this one starts from"))
        relations.append(_relation(_IMAGE, "DESCENDANT_OF", _id(entry)))
    for key in sorted(seen.keys() | locked.keys()):
        entry = locked.get(key) or seen[key]
        inside, why = _judge(entry, key in seen, key in locked, found, stage(image))
        packages.append(_package(entry, why))
        here = (_IMAGE, "CONTAINS", _id(entry))
        relations.append(
            _relation(*(here if inside else (_id(entry), "BUILD_DEPENDENCY_OF", _IMAGE)))
        )
    made = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": _DOCUMENT,
        "name": _name(image),
        # The config's digest: it stays the same when the image is pushed.
        "documentNamespace": f"{statement.LISTED}{image.config}:{digest(found)}",
        "creationInfo": {
            "created": f"{lock.matrix.date}T00:00:00Z",
            "creators": [f"Tool: envbuild-{__version__}"],
            "comment": _DATED,
        },
        "packages": packages,
        "relationships": relations,
    }
    if found.missing:
        made["comment"] = " ".join(found.missing)
    return dump_line(made)


def _judge(
    entry: _Entry, is_seen: bool, is_locked: bool, found: Packages, built: str
) -> tuple[bool, str]:
    """Whether the image contains an entry, and how that is known."""
    if is_seen:
        return True, _LOCKED if is_locked else _SEEN
    if entry.kind in found.read or (entry.kind is None and built == "runtime"):
        return False, _BUILD
    return True, _TRUSTED


def _installed(one: Installed, system: str) -> _Entry:
    """What the image names; its own os-release says whose packages they are."""
    if one.kind == "deb":
        name = purl.deb(one.name, one.version, one.arch, system)
    elif one.kind == "pypi":
        name = purl.pypi(one.name, one.version)
    else:
        vendor = re.sub(r"-[\d.]+$", "", system)
        more = {"arch": one.arch, "epoch": one.epoch, "distro": system}
        name = purl.purl(one.kind, one.name, one.version, vendor=vendor, **more)
    return _Entry(name, one.name, one.version, one.kind)


def _locked(plan: Plan, lock: Lock, system: str) -> Iterator[_Entry]:
    archive = plan.layout.archive.name if plan.layout.archive else ""
    for p in lock.apt:
        name = purl.deb(p.name, p.version, p.arch, system)
        yield _Entry(name, p.name, p.version, "deb", sha256=p.sha256)
    for w in lock.wheels:
        name = canonicalize_name(w.name)
        yield _Entry(purl.wheel(w), name, w.version, "pypi", file=w.file, sha256=w.sha256)
    for part in lock.parts:
        file = part.path.rpartition("/")[2]
        uri = purl.part(part, archive)
        yield _Entry(uri, part.name, part.version, None, file=file, sha256=part.sha256)


def _name(image: Image) -> str:
    """The image's own name, without the registry and the folders that it lies in."""
    try:
        return oci.parse(image.ref).repository.rpartition("/")[2]
    except InputError:  # known by its digest alone
        return "image"


def _image(image: Image) -> dict[str, object]:
    made = _described(_IMAGE, _name(image), image.manifest or image.config)
    made["primaryPackagePurpose"] = "CONTAINER"
    if image.manifest:
        arch = image.platform.partition("/")[2]
        uri = purl.purl("oci", _name(image), image.manifest, arch=arch)
        made["externalRefs"] = _reference(uri)
        made["checksums"] = _checksum(image.manifest.removeprefix("sha256:"))
    return made


def _package(entry: _Entry, why: str) -> dict[str, object]:
    made = _described(_id(entry), entry.name, entry.version)
    made["sourceInfo"] = why
    made["externalRefs"] = _reference(entry.purl)
    if entry.file:
        made["packageFileName"] = entry.file
    if entry.sha256:
        made["checksums"] = _checksum(entry.sha256)
    return made


def _described(identity: str, name: str, version: str) -> dict[str, object]:
    return {
        "SPDXID": identity,
        "name": name,
        "versionInfo": version,
        # Where it was fetched from is the network's affair; the package URL says what it is.
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
    }


def _id(entry: _Entry) -> str:
    """SPDX allows letters, digits, dot and dash: the hash keeps apart what that makes alike."""
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", entry.purl.removeprefix("pkg:").partition("?")[0])
    return f"SPDXRef-{plain[:80]}-{hashlib.sha256(entry.purl.encode()).hexdigest()[:16]}"


def _reference(uri: str) -> list[dict[str, str]]:
    kind = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl"}
    return [{**kind, "referenceLocator": uri}]


def _checksum(sha256: str) -> list[dict[str, str]]:
    return [{"algorithm": "SHA256", "checksumValue": sha256}]


def _relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
