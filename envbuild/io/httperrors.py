"""What went wrong with a request, who is to blame for it, and what to do."""

import re
import time
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import requests
from requests import exceptions

from envbuild.errors import EnvbuildError, InputError, MachineError
from envbuild.io.proxies import Proxy
from envbuild.io.unfetched import PROXY_LOGIN

#: Statuses after which the same request may work in a moment.
PASSING = frozenset({429, 500, 502, 503, 504})
_LOGIN = "log in (a registry: docker login; else in the address or ~/.netrc), or use another mirror"
_FIXES = {
    401: _LOGIN,
    403: _LOGIN,
    404: "check the name; a mirror may not hold it",
    407: PROXY_LOGIN,
    511: "log in to the network with a browser",
    429: "wait a while, log in, or use a mirror",
}
_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})([^'\")]*)")


class StumbleError(MachineError):
    """The server stumbled (429, 5xx) or hung up: the same request may work in a moment."""


class GoneError(MachineError):
    """The server answers, and does not have it (404)."""


def host(url: str) -> str:
    """The host of an address, without its login."""
    return urlsplit(url).netloc.rpartition("@")[2] or url


def asked_to_wait(response: requests.Response) -> float:
    """Seconds that a server asks us to wait (``Retry-After``), 0 = it does not, or not clearly."""
    said = response.headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d{1,9}", said, re.ASCII):
        return float(said)
    try:
        until = parsedate_to_datetime(said)
        # By the server's own clock where it tells it: ours may be wrong.
        now = parsedate_to_datetime(response.headers.get("Date") or _now())
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError, IndexError, OverflowError):
        return 0.0


def _now() -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())


def passing(e: Exception) -> bool:
    """Asking again may help: not where nobody listens or answers, or a certificate is wrong."""
    if isinstance(e, exceptions.SSLError | exceptions.ReadTimeout):
        return False
    lasting = ("NameResolution", "Name or service", "Connection refused", "SSLError")
    if (tunnel := _TUNNEL.search(str(e))) and int(tunnel[1]) not in PASSING:
        return False
    broken = exceptions.ConnectionError | exceptions.Timeout | exceptions.ChunkedEncodingError
    return isinstance(e, broken) and not any(word in str(e) for word in lasting)


def no_answer(url: str, e: Exception, proxy: Proxy | None) -> EnvbuildError:
    """The error of a request that had no answer.

    Args:
        url: what was asked for.
        e: what `requests` raised.
        proxy: through which it was asked.
    """
    if isinstance(e, ValueError) and not isinstance(e, exceptions.InvalidHeader):
        what = f"{host(url)!r} is not a host that can be asked"
        return InputError(what, fix="give http://... or https://...")
    if isinstance(e, exceptions.TooManyRedirects):
        what = f"{host(url)} redirects without end for {urlsplit(url).path}"
        return MachineError(what, why=str(e), fix="check the address; a proxy or login may do it")
    if isinstance(e, exceptions.SSLError):
        return _untrusted(url, _cause(e))
    error = StumbleError if passing(e) else MachineError
    if proxy and (found := _of_proxy(url, e, proxy)):
        return error(found.what, why=found.why, fix=found.fix)
    what = f"{host(url)} does not answer"
    return error(what, why=_cause(e), fix="check the network, the mirror flags and proxies")


def _of_proxy(url: str, e: Exception, proxy: Proxy) -> MachineError | None:
    """The error where it is the proxy's."""
    if tunnel := _TUNNEL.search(str(e)):
        if tunnel[1] == "407":
            return _wants_login(proxy)
        what = f"the proxy {proxy.host} does not let us through to {host(url)}"
        why = f"it answered {tunnel[1]}{tunnel[2]}"
        return MachineError(what, why=why, fix="ask who runs it; or name the host in NO_PROXY")
    # Without TLS a connection is one to the proxy.
    direct = urlsplit(url).scheme == "http" and isinstance(e, exceptions.ConnectionError)
    if not (isinstance(e, exceptions.ProxyError) or direct):
        return None
    fix = "check https_proxy, http_proxy and NO_PROXY"
    why = _cause(e)
    if "WRONG_VERSION_NUMBER" in str(e):
        why, fix = "it speaks no TLS", "write http:// in the proxy's own address"
    what = f"the proxy {proxy.host} does not answer, and {host(url)} is asked through it"
    return MachineError(what, why=why, fix=fix)


def _wants_login(proxy: Proxy) -> MachineError:
    what = f"the proxy {proxy.host} wants a login, or another one (407)"
    return MachineError(what, fix=PROXY_LOGIN)


def _untrusted(url: str, why: str) -> MachineError:
    """The error of a server whose TLS is not in order."""
    today = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    clock = f"this machine's clock says {today}: if that is wrong, set it; else "
    what = f"{host(url)} shows a certificate that is not trusted here"
    fix = "give this network's CA with --ca-cert FILE"
    if "not yet valid" in why:
        fix = f"{clock}tell who runs the server"
    elif "has expired" in why:
        fix = f"{clock}tell who runs the server that its certificate is over"
    elif "WRONG_VERSION_NUMBER" in why or "record layer failure" in why:
        what = f"{host(url)} speaks no TLS"
        fix = "write http:// in the address, if that is meant"
    elif "doesn't match" in why or "ostname mismatch" in why or "IP address mismatch" in why:
        what = f"{host(url)} shows a certificate of another name"
        fix = "use the name that the certificate has"
    return MachineError(what, why=why, fix=fix)


def _cause(e: Exception) -> str:
    # The text of urllib3 is wrapped in the repr of its own objects.
    said = str(e).rpartition("): ")[2]
    while said.endswith((")", '"', "'")) and (said[-1] != ")" or said.count("(") < said.count(")")):
        said = said[:-1]
    return said


def refused(url: str, response: requests.Response, proxy: Proxy | None) -> MachineError:
    """The error of a status from 400 on."""
    path, status = urlsplit(url).path, response.status_code
    if status == 407 and proxy:
        return _wants_login(proxy)
    what = f"{host(url)} answered {status} {response.reason} for {path}"
    error = StumbleError if status in PASSING else MachineError
    error = GoneError if status == 404 else error
    wait = asked_to_wait(response)
    why = f"it asks to be left alone for {wait:.0f} seconds" if status in PASSING and wait else ""
    return error(what, why=why, fix=_FIXES.get(status, "try again later"))
