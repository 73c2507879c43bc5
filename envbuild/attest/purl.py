"""Package URLs: one name for a package in provenance, SBOMs and what reads them.

Form: https://github.com/package-url/purl-spec (PURL-SPECIFICATION.rst and types-doc/).
"""

from urllib.parse import quote

from packaging.utils import canonicalize_name, canonicalize_version

from envbuild.errors import InputError
from envbuild.io import oci
from envbuild.values.lock import LockedBase, Part, Wheel


def purl(kind: str, name: str, version: str, *, vendor: str = "", **qualifiers: str) -> str:
    """``pkg:kind/vendor/name@version?key=text``; qualifiers that are empty are left out."""
    path = "/".join((kind, *([_plain(vendor)] if vendor else []), _plain(name)))
    pairs = sorted((key, text) for key, text in qualifiers.items() if text)
    query = "&".join(f"{key}={quote(text, safe=':/')}" for key, text in pairs)
    return (
        f"pkg:{path}" + (f"@{_plain(version)}" if version else "") + (f"?{query}" if query else "")
    )


def _plain(text: str) -> str:
    # A colon is never a separator behind the type, and stays as it is.
    return quote(text, safe=":")


def image(base: LockedBase) -> str:
    """An image in a registry, by its canonical reference and digest."""
    place = oci.parse(base.ref)
    return purl(
        "oci",
        place.repository.rsplit("/", 1)[-1],
        base.digest,
        repository_url=f"{place.registry}/{place.repository}",
        tag="" if place.digest else place.tag,
        arch=base.platform.partition("/")[2],
    )


def deb(name: str, version: str, arch: str, system: str) -> str:
    """A Debian package; ``system`` is ``debian-12``, whose package database names it."""
    vendor = system.partition("-")[0] or "debian"
    named = name.partition(":")[0].lower()
    return purl("deb", named, version, vendor=vendor, arch=arch, distro=system)


def pypi(name: str, version: str) -> str:
    """A Python distribution; its metadata may spell the version in another way than an index."""
    plain = canonicalize_version(version, strip_trailing_zero=False)
    return purl("pypi", canonicalize_name(name), plain)


def wheel(one: Wheel) -> str:
    """A locked wheel."""
    return pypi(one.name, one.version)


def part(one: Part, archive: str) -> str:
    """A file of a toolkit archive: of a conda channel, or of none that package URLs know."""
    folder, _, file = one.path.rpartition("/")
    if file.endswith(".conda"):
        build = file.removesuffix(".conda").removeprefix(f"{one.name}-{one.version}-")
        return purl(
            "conda",
            one.name,
            one.version,
            build=build,
            channel=archive,
            subdir=folder,
            type="conda",
        )
    return purl("generic", one.name, one.version, file_name=file)


def system(os: str | None) -> str:
    """``debian-12`` of ``debian12``, as the matrices spell it; empty where it is not known.

    Raises:
        InputError: it holds what no name of a system holds.
    """
    text = os or ""
    name = text.rstrip("0123456789.")
    if text and not name.replace("-", "").isalnum():
        what = f"{text!r} is no operating system"
        raise InputError(what, fix="use a plan that envbuild wrote")
    return f"{name}-{text[len(name) :]}".strip("-")
