"""Where a toolkit's archive is served, and where what is fetched from it goes."""

from urllib.parse import urlsplit

from envbuild.render import quote
from envbuild.values.plan import Archive, Plan

#: The key's file beside apt's lists; the ending tells apt that it is armored.
KEY = "envbuild-toolkit.asc"

# What an archive calls a CPU architecture; on ARM it is the server's, never a Jetson's.
_PLATFORMS = {
    "redist": {"x86_64": "linux-x86_64", "aarch64": "linux-sbsa"},
    "conda": {"x86_64": "linux-64", "aarch64": "linux-aarch64"},
}


def platform(archive: Archive, arch: str) -> str:
    """The archive's own word for an architecture (``linux-sbsa``)."""
    return _PLATFORMS[archive.kind][arch]


def address(archive: Archive) -> str:
    """The canonical address that what is locked is relative to, without a slash at its end.

    Raises:
        InputError: the plan names no plain address.
    """
    return quote.url(archive.url).rstrip("/")


def mirrored(url: str, mirror: str | None) -> str:
    """The same path at a mirror of the archive's host; without a mirror, the address itself."""
    return f"{mirror.rstrip('/')}{urlsplit(url).path}" if mirror else url


def host_and_path(url: str) -> tuple[str, str]:
    """``https://host`` and ``/path``, which a mirror replaces and keeps."""
    path = urlsplit(url).path
    return url.removesuffix(path), path


def prefix(plan: Plan) -> str:
    """The folder of the toolkit in an image: ``/usr/local/cuda-12.9``."""
    major, minor = quote.version(plan.cuda or "").split(".")[:2]
    return f"/usr/local/cuda-{major}.{minor}"


def preferences(never: tuple[str, ...]) -> tuple[str, ...]:
    """Apt's preferences that keep packages out, from whatever archive they would come."""
    names = [quote.pattern(name) for name in never]
    if not names:
        return ()
    return (
        "Explanation: a driver is the host's business; inside an image it takes its place",
        f"Package: {' '.join(names)}",
        "Pin: release *",
        "Pin-Priority: -1",
    )
