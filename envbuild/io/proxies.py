"""The proxy that an address is reached through; its own address may hold a login."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from envbuild.errors import InputError, MachineError

_SCHEMES = ("http", "https")
_SOCKS = ("socks4", "socks4a", "socks5", "socks5h")


class Proxy(NamedTuple):
    """A proxy as people are told of it: without its login."""

    host: str


def of(url: str) -> Proxy | None:
    """The proxy that the environment names for an address, ``NO_PROXY`` counted; or none.

    Raises:
        InputError: it cannot be one; no part of it is shown, since any may be of its password.
        MachineError: it is one that we cannot speak to.
    """
    from requests.utils import get_environ_proxies, select_proxy

    try:
        text = select_proxy(url, get_environ_proxies(url))
    except ValueError:
        return None  # of an address that is none
    if not text:
        return None
    name = f"{urlsplit(url).scheme}_proxy"
    where = f"the proxy for {urlsplit(url).hostname} ({name}, all_proxy)"
    # Without a scheme there can be no login: what is before the colon would be the scheme.
    full = text if "://" in text else f"http://{text.replace('@', '/@')}"
    try:
        parts = urlsplit(full)
        good = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        raise _none(where) from None
    host = parts.netloc.rpartition("@")[2]
    rest = parts.path + parts.query + parts.fragment
    if not good or "@" in rest or parts.scheme not in {*_SCHEMES, *_SOCKS}:
        raise _none(where)
    if not re.fullmatch(r"[\w.:\[\]%-]+", host):
        raise _none(where)
    if parts.scheme in _SOCKS and not _speaks_socks():
        what = f"{where} is a SOCKS proxy, and this Python has no PySocks"
        raise MachineError(what, fix="pip install PySocks beside envbuild, or take an HTTP proxy")
    return Proxy(host)


def _none(where: str) -> InputError:
    what = f"{where} is not an address"
    fix = "http://[name:password@]host:port; in a password @ is %40, / %2F, # %23, : %3A"
    return InputError(what, fix=fix)


def _speaks_socks() -> bool:
    import importlib.util

    return importlib.util.find_spec("socks") is not None
