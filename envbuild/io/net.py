"""How this machine reaches the world. Nothing of it is ever stored in a plan, lock or image."""

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from envbuild.errors import InputError
from envbuild.values.codec import Value

_REGISTRY = re.compile(
    r"(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)(:\d{1,5})?(/[a-z0-9._/-]*)?"
)


class Net(Value):
    """Mirrors, CA file, proxies: used by ``io`` and as build secrets, written nowhere.

    Attributes:
        registry_mirror: ``host[:port][/prefix]`` that serves docker.io's repositories.
        apt_mirror: base address that serves the distribution's archive.
        index_url: package index to use instead of pip's default.
        toolkit_mirror: address that serves the paths of the toolkit archive's own host.
        ca_cert: PEM file that signs this network's TLS.
        network: network mode of build containers, empty = the engine's default.
        offline: nothing may be fetched.
        bundle: folder that holds every byte of a lock (`envbuild lock --bundle`), None = none.
    """

    registry_mirror: str | None = None
    apt_mirror: str | None = None
    index_url: str | None = None
    toolkit_mirror: str | None = None
    ca_cert: str | None = None
    network: str = ""
    offline: bool = False
    bundle: str | None = None


def checked(net: Net) -> Net:
    """The same Net, once its parts are known to be usable.

    Raises:
        InputError: the CA file is missing or holds no certificate; an address has no scheme or
            holds what no address may hold.
    """
    if net.ca_cert is not None:
        try:
            text = Path(net.ca_cert).read_text(encoding="utf-8", errors="replace")
        except OSError as e:
            what = f"--ca-cert {net.ca_cert} cannot be read: {e.strerror or e}"
            raise InputError(what, fix="give a PEM file") from e
        if "-----BEGIN CERTIFICATE-----" not in text:
            what = f"--ca-cert {net.ca_cert} holds no PEM certificate"
            raise InputError(what, fix="give the CA bundle in PEM form")
    for flag, url in (
        ("--apt-mirror", net.apt_mirror),
        ("--index-url", net.index_url),
        ("--toolkit-mirror", net.toolkit_mirror),
    ):
        if url is not None and not _is_address(url):
            what = f"{flag} {without_login(url)!r} is not an address"
            raise InputError(what, fix="give http://... or https://...")
    mirror = net.registry_mirror
    if mirror is not None and _REGISTRY.fullmatch(mirror) is None:
        what = f"--registry-mirror {mirror!r} is not a registry"
        raise InputError(what, fix="give host[:port][/prefix], without a scheme")
    return net


def _is_address(url: str) -> bool:
    if any(c.isspace() or not c.isprintable() or c in "\"'`$\\;<>|" for c in url):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port  # not a number, or too large: ValueError
    except ValueError:
        return False
    return (parts.scheme in {"http", "https"} and bool(parts.hostname)) or parts.scheme == "file"


def without_login(text: str) -> str:
    """A text in which names and passwords of addresses are stars: for screens and logs."""
    return re.sub(r"(?<=://)[^/@\s]+(?=@)", "****", text)


def ca_bundle(net: Net) -> str | None:
    """The CA file that our own requests should trust, None = the library's default."""
    return net.ca_cert or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE")
