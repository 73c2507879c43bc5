"""HTTP requests: one session, time limits, and errors that say what to do."""

import base64
import contextlib
import functools
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec
import requests
from requests import exceptions
from urllib3.exceptions import HTTPError

from envbuild.errors import MachineError
from envbuild.io import httperrors, netrcfile, proxies, trace
from envbuild.io.httperrors import PASSING
from envbuild.io.httperrors import GoneError as GoneError
from envbuild.io.httperrors import StumbleError as StumbleError
from envbuild.io.net import Net, ca_bundle

T = TypeVar("T")
#: What ``auth`` may be.
Sender = Callable[[requests.PreparedRequest], requests.PreparedRequest]

#: Seconds to connect, and to wait for the next bytes.
TIMEOUT = (10.0, 60.0)
#: A body of which fewer bytes than this come in so many seconds is given up.
LEAST, WINDOW = 64 << 10, 60.0
#: Seconds until the headers are there, redirects among them, and for a body that is kept.
HEADERS, WHOLE = 120.0, 900.0
#: Bytes of an answer that is kept in memory; pages of indexes have a few millions.
LARGEST = 256 << 20
#: Seconds that a server may ask us to wait before the next try.
PATIENCE = 60.0
_TRIES = 3


class _Session(requests.Session):
    """A session in which a host learns a login of netrc only where that is wanted, redirects too.

    Args:
        netrc: this user's netrc counts.
    """

    def __init__(self, *, netrc: bool) -> None:
        super().__init__()
        self.headers["User-Agent"] = "envbuild"
        self._netrc = netrc

    def own(self, url: str) -> Sender:
        """The login of an address, or netrc's for its host, as ``auth``; it is never empty.

        `requests` asks netrc by itself only where there is none.
        """
        parts = urlsplit(url)
        known = None
        if parts.username is not None:
            known = unquote(parts.username), unquote(parts.password or "")
        elif self._netrc:
            known = netrcfile.login(parts.hostname or "")
        return header({} if known is None else basic(*known))

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: Any) -> None:  # noqa: ANN401
        """For the next address of a redirect."""
        request, url = prepared_request, str(prepared_request.url)
        if self.should_strip_auth(str(response.request.url), url):  # type: ignore[no-untyped-call]
            request.headers.pop("Authorization", None)
        self.own(url)(request)


@functools.cache
def _session(netrc: bool) -> _Session:
    return _Session(netrc=netrc)


def basic(name: str, password: str) -> dict[str, str]:
    """The header of a name and a password, in letters of any alphabet."""
    text = f"{name}:{password}".encode()
    return {"Authorization": f"Basic {base64.b64encode(text).decode()}"}


def header(login: dict[str, str]) -> Sender:
    """Adds it; as ``auth`` it wins over a netrc file, as a plain header it does not."""

    def add(request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers.update(login)
        return request

    return add


def get(
    url: str,
    net: Net,
    *,
    allow: tuple[int, ...] = (),
    page: bool = False,
    **options: Any,  # noqa: ANN401
) -> requests.Response:
    """Fetch an address: `send` of a GET.

    Raises:
        MachineError, InputError: see `send`.
    """
    return send("GET", url, net, allow=allow, page=page, **options)


def send(
    method: str,
    url: str,
    net: Net,
    *,
    allow: tuple[int, ...] = (),
    page: bool = False,
    again: bool = False,
    most: int | None = None,
    **options: Any,  # noqa: ANN401
) -> requests.Response:
    """Send one request; a server that stumbles (429, 5xx) or hangs up is asked again, twice.

    It is given the time that it asks for (Retry-After), unless that is longer than `PATIENCE`.
    Redirects of what writes (POST, PUT) are left to the caller: following turns it into a GET.

    Args:
        method: ``GET``, ``HEAD``, ``POST`` or ``PUT``.
        url: full address.
        net: its CA file is trusted; offline forbids the request.
        allow: statuses from 400 on that are an answer for the caller, not an error.
        page: an HTML page is what is asked for; else it is a portal's, whatever its status.
        again: doing it twice is as good as once, though it writes; else it is tried once.
        most: bytes of the body that are kept; None = `LARGEST`.
        options: passed on to ``requests`` (headers, params, auth, data, timeout); with ``stream``
            the body is left to `pieces`. Without ``auth``, netrc's login for the host is sent; with
            it, no host that is asked learns one of those.

    Raises:
        StumbleError: it still stumbles or hangs up after the last try.
        MachineError: no answer, one without end, a login page, or a status from 400 on; the text
            holds host and status.
        InputError: the address cannot be one, or the proxy's.
    """
    if net.offline:
        what = f"{httperrors.host(url)} would be asked, and --offline is set"
        raise MachineError(what, fix="run it once without --offline")
    reads = method in {"GET", "HEAD"}
    own = {"timeout": TIMEOUT, "verify": ca_bundle(net) or True, "allow_redirects": reads}
    options = own | options
    stream = options.pop("stream", False)
    session = _session("auth" not in options)
    options.setdefault("auth", session.own(url))
    proxy = proxies.of(url)
    tries = _TRIES if reads or again else 1
    turn = 1
    while True:
        said = f"{method} {httperrors.host(url)}{urlsplit(url).path}"
        trace.say(said if turn == 1 else f"{said}, try {turn}")
        pause: float = turn
        try:
            response = _headers(session, method, url, options)
            if not stream:
                # Where requests itself keeps a body that was read.
                response._content = _whole(response, LARGEST if most is None else most)
        except (exceptions.RequestException, OSError, ValueError) as e:
            if turn >= tries or not httperrors.passing(e):
                raise httperrors.no_answer(url, e, proxy) from e
        else:
            if response.status_code < 400 or response.status_code in allow:
                if not page and response.status_code < 400 and _is_page(response, stream):
                    response.close()
                    raise portal(url)
                return response
            asked = httperrors.asked_to_wait(response)
            if turn >= tries or response.status_code not in PASSING or asked > PATIENCE:
                raise httperrors.refused(url, response, proxy)
            pause = max(pause, asked)
            response.close()
        time.sleep(pause)
        turn += 1


def _headers(
    session: requests.Session, method: str, url: str, options: dict[str, Any]
) -> requests.Response:
    """The answer without its body; the limits of sockets are for each piece, this one is for all.

    A body that is sent has the time that one has that is read.

    Raises:
        requests.RequestException: no answer; what requests raises, or it took too long.
    """
    answer: Future[requests.Response] = Future()
    limit = WHOLE if options.get("data") else HEADERS
    # Names, TLS, proxies and headers can each be slow for ever: only who waits can stop waiting.
    ask = functools.partial(session.request, method, url, stream=True, **options)
    threading.Thread(target=_ask, args=(answer, ask), daemon=True).start()
    try:
        if not wait((answer,), limit).done:
            answer.add_done_callback(_unwanted)
            text = f"its headers are not there after {limit:.0f} seconds"
            raise exceptions.ReadTimeout(text)
        return answer.result()
    finally:
        del answer  # else it, its error and this frame keep each other, and a connection, alive


def _ask(answer: Future[requests.Response], ask: Callable[[], requests.Response]) -> None:
    try:
        answer.set_result(ask())
    except Exception as e:
        answer.set_exception(e)
    finally:
        del answer


def _unwanted(answer: Future[requests.Response]) -> None:
    """It came after all, and nobody waits for it: its connection is not left to the collector."""
    if answer.exception() is None:
        answer.result().close()


def _is_page(response: requests.Response, stream: bool) -> bool:
    """An HTML page, by what it is called or, where it was read, by how it begins."""
    named = response.headers.get("Content-Type", "").lower().startswith("text/html")
    if stream:
        return named
    # No body is no page: registries written for the web give that name to an empty one, too.
    start = response.content[:512].lstrip().lower()
    return bool(start) and (named or start.startswith((b"<!doctype html", b"<html")))


def portal(url: str) -> MachineError:
    """The error of a web page that came where something else is."""
    what = f"{httperrors.host(url)} sent a web page for {urlsplit(url).path}"
    why = "a proxy or a network's login page answered in its place, or the address is another one"
    return MachineError(what, why=why, fix="log in to the network; check the mirror flags")


def pieces(response: requests.Response, size: int = 1 << 20) -> Iterator[bytes]:
    """The body in pieces of at most ``size`` bytes, as they come.

    Raises:
        requests.RequestException: it broke off, or it comes too slowly to be waited for.
    """
    waited, came = 0.0, 0
    try:
        while True:
            asked = time.monotonic()
            # One piece can take for ever, too: the length of a chunk, a packed body of nothing.
            timer = threading.Timer(WINDOW, _cut, (response,))
            timer.start()
            try:
                piece = response.raw.read1(size, decode_content=True)
            finally:
                timer.cancel()
                # The time that the reader of the pieces takes is not the server's.
                waited += time.monotonic() - asked
            came += len(piece)
            if waited > WINDOW:
                if came < LEAST:
                    raise _too_slow(came, waited)
                waited, came = 0.0, 0
            if not piece:
                return
            yield piece
    except HTTPError as e:
        if waited > WINDOW:
            raise _too_slow(came, waited) from e
        raise exceptions.ChunkedEncodingError(e) from e
    finally:
        response.close()


def _cut(response: requests.Response) -> None:
    """End the connection under whoever reads it; it may have ended by itself just now."""
    with (
        contextlib.suppress(OSError, ValueError, AttributeError, HTTPError),
        socket.socket(fileno=os.dup(response.raw.fileno())) as connection,
    ):
        connection.shutdown(socket.SHUT_RDWR)


def _too_slow(came: int, seconds: float) -> exceptions.ReadTimeout:
    return exceptions.ReadTimeout(f"it sent {came} bytes in {seconds:.0f} seconds")


def _whole(response: requests.Response, most: int) -> bytes:
    body = bytearray()
    start = time.monotonic()
    for piece in pieces(response):
        body += piece
        if len(body) > most:
            length = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most} bytes"
            text = f"the answer is longer than {length}"
            raise exceptions.ReadTimeout(text)
        if time.monotonic() - start > WHOLE:
            raise _too_slow(len(body), time.monotonic() - start)
    return bytes(body)


def decoded(response: requests.Response, kind: type[T], name: str) -> T:
    """The JSON of an answer as a value; a server may send anything.

    Args:
        response: from `get`.
        kind: a struct; what it does not name is passed over.
        name: what it should have been, with its article.

    Raises:
        MachineError: it is something else.
    """
    try:
        return msgspec.json.decode(response.content, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
        what = f"{httperrors.host(response.url)}{urlsplit(response.url).path} is not {name}"
        fix = "check that the address leads where it should, not to a login page"
        raise MachineError(what, why=str(e), fix=fix) from e
