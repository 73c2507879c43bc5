"""How this machine reaches the world. Nothing of it is ever stored in a plan, lock or image."""

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from envbuild.errors import InputError
from envbuild.io import netrcfile
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


def plain(url: str) -> str:
    """The address without its login."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def login(url: str) -> tuple[str, str] | None:
    """Name and password for an address: its own, else those that netrc has for its host.

    Raises:
        InputError: netrc may have them, and cannot be read.
    """
    parts = urlsplit(url)
    if parts.username is not None:
        return unquote(parts.username), unquote(parts.password or "")
    if parts.scheme not in {"http", "https"}:
        return None
    return netrcfile.login(parts.hostname or "")


def logged_in(url: str, like: str | None) -> str:
    """An address with the login of ``like``, another one of the same host."""
    parts, other = urlsplit(url), urlsplit(like or "")
    known = login(like) if like and parts.netloc == other.netloc.rpartition("@")[2] else None
    if known is None:
        return url
    name, password = (quote(part, safe="") for part in known)
    return parts._replace(netloc=f"{name}:{password}@{parts.netloc}").geturl()


def apt_auth(*addresses: str | None) -> bytes:
    """Logins of mirrors as apt reads them (``auth.conf``): in an address any process sees them.

    Raises:
        InputError: a login has a blank in it, which that file cannot say.
    """
    lines = []
    for url in filter(None, addresses):
        if known := login(url):
            _no_blank(known, url)
            parts = urlsplit(plain(url))
            # Where no scheme is named, it is for https alone.
            host = parts.netloc if parts.scheme == "https" else f"{parts.scheme}://{parts.netloc}"
            lines.append(f"machine {host} login {known[0]} password {known[1]}\n")
    return "".join(dict.fromkeys(lines)).encode()


def _no_blank(known: tuple[str, str], url: str) -> None:
    if any(c.isspace() for part in known for c in part):
        what = f"the login for {plain(url)} has a blank in it, and no step could read that"
        raise InputError(what, fix="take another password for the mirror")


def netrc(url: str) -> bytes:
    """The login of an address as a netrc file says it; nothing where it has none.

    Raises:
        InputError: as `apt_auth`; or it has what Python reads in one way before 3.11, and in
            another since: a quote at its start, a backslash.
    """
    known, host = login(url), urlsplit(url).hostname
    if known is None:
        return b""
    _no_blank(known, url)
    if any(part.startswith('"') or "\\" in part for part in known):
        what = f"the login for {plain(url)} has a quote or backslash that not each step could read"
        raise InputError(what, fix="take another password for the index")
    # Readers of netrc know hosts alone.
    return f"machine {host} login {known[0]} password {known[1]}\n".encode()


def stand_ins(net: Net) -> dict[str, str]:
    """Host of each mirror and proxy, and the word that logs have in its place."""
    # Imported here: slow, and `plan` needs none of it.
    from urllib.request import getproxies_environment

    from envbuild.io import dockerconfig

    found = {}
    proxies = [url for name, url in getproxies_environment().items() if name != "no"]
    proxies += [url for name, url in dockerconfig.proxies().items() if name != "no_proxy"]
    for word, address in (
        ("registry-mirror", net.registry_mirror),
        ("apt-mirror", net.apt_mirror),
        ("index-url", net.index_url),
        ("toolkit-mirror", net.toolkit_mirror),
        *(("proxy", url) for url in proxies),
    ):
        text = address or ""
        host = urlsplit(text if "://" in text else f"//{text}").netloc.rpartition("@")[2]
        if host:
            found[host] = word
    return found


def ca_bundle(net: Net) -> str | None:
    """The CA file that our own requests should trust, None = the library's default."""
    return net.ca_cert or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE")
