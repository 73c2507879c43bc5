"""HTTP requests: one session, time limits, and errors that say what to do."""

import functools
import time
from collections.abc import Iterator
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
import requests
from requests import exceptions
from urllib3.exceptions import HTTPError

from envbuild.errors import EnvbuildError, InputError, MachineError
from envbuild.io import trace
from envbuild.io.net import Net, ca_bundle

T = TypeVar("T")

#: Seconds to connect, and to wait for the next bytes.
TIMEOUT = (10.0, 60.0)
#: A body of which fewer bytes than this come in so many seconds is given up.
LEAST, WINDOW = 64 << 10, 60.0
#: Bytes of an answer that is kept in memory; pages of indexes have a few millions.
LARGEST = 256 << 20
_TRIES = 3
_PASSING = frozenset({429, 500, 502, 503, 504})
_FIXES = {
    401: "log in to it (docker login), or use another mirror",
    403: "log in to it (docker login), or use another mirror",
    404: "check the name; a mirror may not hold it",
    429: "wait a while, log in, or use a mirror",
}


@functools.cache
def _session() -> requests.Session:
    session = requests.Session()
    session.headers["User-Agent"] = "envbuild"
    return session


def get(
    url: str,
    net: Net,
    *,
    allow: tuple[int, ...] = (),
    **options: Any,  # noqa: ANN401
) -> requests.Response:
    """Fetch an address; a server that stumbles (429, 5xx) or hangs up is asked again, twice.

    Args:
        url: full address.
        net: its CA file is trusted; offline forbids the request.
        allow: statuses from 400 on that are an answer for the caller, not an error.
        options: passed on to ``requests`` (headers, params, auth, timeout); with ``stream`` the
            body is left to `pieces`.

    Raises:
        MachineError: no answer, one without end, or a status from 400 on; the text holds host and
            status.
        InputError: the address cannot be one.
    """
    if net.offline:
        what = f"{_host(url)} would be asked, and --offline is set"
        raise MachineError(what, fix="run it once without --offline")
    options = {"timeout": TIMEOUT, "verify": ca_bundle(net) or True} | options
    stream = options.pop("stream", False)
    turn = 1
    while True:
        trace.say(f"GET {_host(url)}{urlsplit(url).path}" + (f", try {turn}" if turn > 1 else ""))
        try:
            response = _session().get(url, stream=True, **options)
            if not stream:
                # Where requests itself keeps a body that was read.
                response._content = _whole(response)
        except (exceptions.RequestException, OSError, ValueError) as e:
            if turn == _TRIES or not _passing(e):
                raise _no_answer(url, e) from e
        else:
            if response.status_code < 400 or response.status_code in allow:
                return response
            if turn == _TRIES or response.status_code not in _PASSING:
                raise _refused(url, response)
            response.close()
        time.sleep(turn)
        turn += 1


def pieces(response: requests.Response, size: int = 1 << 20) -> Iterator[bytes]:
    """The body in pieces of at most ``size`` bytes, as they come.

    Raises:
        requests.RequestException: it broke off, or it comes too slowly to be waited for.
    """
    waited, came = 0.0, 0
    try:
        while True:
            asked = time.monotonic()
            if not (piece := response.raw.read1(size, decode_content=True)):
                return
            # The time that the reader of the pieces takes is not the server's.
            waited += time.monotonic() - asked
            came += len(piece)
            if waited > WINDOW:
                if came < LEAST:
                    text = f"it sent {came} bytes in {waited:.0f} seconds"
                    raise exceptions.ReadTimeout(text)
                waited, came = 0.0, 0
            yield piece
    except HTTPError as e:
        raise exceptions.ChunkedEncodingError(e) from e
    finally:
        response.close()


def _whole(response: requests.Response) -> bytes:
    body = bytearray()
    for piece in pieces(response):
        body += piece
        if len(body) > LARGEST:
            text = f"the answer is longer than {LARGEST >> 20} MiB"
            raise exceptions.ReadTimeout(text)
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
        what = f"{_host(response.url)}{urlsplit(response.url).path} is not {name}"
        fix = "check that the address leads where it should, not to a login page"
        raise MachineError(what, why=str(e), fix=fix) from e


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] or url


def _passing(e: Exception) -> bool:
    """Asking again may help: not where nobody listens or answers, or a certificate is wrong."""
    if isinstance(e, exceptions.SSLError | exceptions.ReadTimeout):
        return False
    lasting = ("NameResolution", "Name or service", "Connection refused")
    broken = exceptions.ConnectionError | exceptions.Timeout | exceptions.ChunkedEncodingError
    return isinstance(e, broken) and not any(word in str(e) for word in lasting)


def _no_answer(url: str, e: Exception) -> EnvbuildError:
    if isinstance(e, ValueError) and not isinstance(e, exceptions.InvalidHeader):
        what = f"{_host(url)!r} is not a host that can be asked"
        return InputError(what, fix="give http://... or https://...")
    if isinstance(e, exceptions.SSLError):
        what = f"{_host(url)} shows a certificate that is not trusted here"
        return MachineError(what, why=_cause(e), fix="give this network's CA with --ca-cert FILE")
    what = f"{_host(url)} does not answer"
    return MachineError(what, why=_cause(e), fix="check the network, the mirror flags and proxies")


def _cause(e: Exception) -> str:
    # The text of urllib3 is wrapped in the repr of its own objects.
    said = str(e).rpartition("): ")[2]
    while said.endswith((")", '"', "'")) and (said[-1] != ")" or said.count("(") < said.count(")")):
        said = said[:-1]
    return said


def _refused(url: str, response: requests.Response) -> MachineError:
    path = urlsplit(url).path
    what = f"{_host(url)} answered {response.status_code} {response.reason} for {path}"
    return MachineError(what, fix=_FIXES.get(response.status_code, "try again later"))
