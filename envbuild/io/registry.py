"""One repository of a registry: its addresses, and the login that it asks for."""

import re
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

import msgspec
import requests

from envbuild.errors import MachineError
from envbuild.io import dockerconfig, http
from envbuild.io.net import Net

HUB = "docker.io"
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_LOCAL = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?")
_HOST = re.compile(r"(\[[0-9a-fA-F:]+\]|[a-zA-Z0-9-]{1,63}(\.[a-zA-Z0-9-]{1,63})*)(:\d{1,5})?")


class _Token(msgspec.Struct):
    token: str = ""
    access_token: str = ""


class Reference(NamedTuple):
    """An image reference in its parts; ``digest`` wins over ``tag``."""

    registry: str
    repository: str
    tag: str
    digest: str | None


class Repository:
    """A repository for the length of one errand: the login that it wanted is kept.

    Args:
        reference: where it is, mirrors applied.
        net: how it is reached.
        actions: what a login must allow, ``pull`` or ``pull,push``.
    """

    def __init__(self, reference: Reference, net: Net, actions: str = "pull") -> None:
        self.reference, self._net, self._actions = reference, net, actions
        # The hub's API lives on a host of its own.
        host = f"registry-1.{HUB}" if reference.registry == HUB else reference.registry
        scheme = "http" if _LOCAL.fullmatch(reference.registry) else "https"
        self._root = f"{scheme}://{host}/v2/{reference.repository}/"
        self._login: dict[str, str] = {}

    def url(self, path: str) -> str:
        """The address of a path below the repository."""
        return self._root + path

    def ask(
        self,
        method: str,
        url: str,
        *,
        allow: tuple[int, ...] = (),
        **options: Any,  # noqa: ANN401
    ) -> requests.Response:
        """`http.send`, logged in where the registry asks for it; other hosts learn no login.

        A registry's logins are docker's: none of them, and no host it leads to, sees netrc's.

        Raises:
            MachineError: see `http.send`; or it wants a login that we do not have.
        """
        if _origin(url) != _origin(self._root):
            options["auth"] = http.header({})
            return http.send(method, url, self._net, allow=allow, **options)
        options["auth"] = http.header(self._login)
        response = http.send(method, url, self._net, allow=(*allow, 401), **options)
        if response.status_code == 401:
            challenge = response.headers.get("WWW-Authenticate", "")
            self._login = _login(challenge, self.reference, self._net, self._actions)
            options["auth"] = http.header(self._login)
            response = http.send(method, url, self._net, allow=allow, **options)
        return response

    def follow(self, response: requests.Response, address: str) -> str:
        """The full address of a header of the registry's (Location, the next page).

        Raises:
            MachineError: it is none, has a login in it, or gives up TLS.
        """
        try:
            url = urljoin(response.url, address)
        except ValueError:
            url = ""
        parts = _parts(url)
        plain = _LOCAL.fullmatch(self.reference.registry) and _LOCAL.fullmatch(parts.netloc)
        if parts.scheme == "https" or (parts.scheme == "http" and plain):
            return url
        what = f"{self.reference.registry} leads to an address that is not followed"
        raise MachineError(what, why="it is malformed or without TLS", fix="ask who runs it")


def _parts(url: str) -> SplitResult:
    """The parts of an address of a registry's; empty where it names no host that can be asked."""
    try:
        parts = urlsplit(url)
        if _HOST.fullmatch(parts.netloc) and (parts.port or 1) > 0:
            return parts
    except ValueError:
        pass
    return urlsplit("")


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    usual = ":443" if parts.scheme == "https" else ":80"
    return parts.scheme, parts.netloc.lower().removesuffix(usual)


def _login(challenge: str, reference: Reference, net: Net, actions: str) -> dict[str, str]:
    """The Authorization header that answers a registry's challenge."""
    account = dockerconfig.login(reference.registry)
    scheme, _, rest = challenge.partition(" ")
    # An identity is for token servers; no name goes with it.
    if scheme.lower() == "basic" and account and not account.identity:
        return http.basic(account.name, account.secret)
    fields = dict(_CHALLENGE.findall(rest))
    realm = fields.get("realm", "")
    # A password never goes to a realm without TLS, unless the registry is this machine's own.
    schemes = {"https", "http"} if _LOCAL.fullmatch(reference.registry) else {"https"}
    if scheme.lower() == "bearer" and _parts(realm).scheme in schemes:
        scope = f"repository:{reference.repository}:{actions}"
        query = {"service": fields.get("service", ""), "scope": scope}
        response = _asked_for_token(realm, query, account, net)
        answer = http.decoded(response, _Token, "a registry's token")
        token = answer.token or answer.access_token
        if token.isascii() and token.isprintable():
            return {"Authorization": f"Bearer {token}"}
    what = f"{reference.registry} wants a login for {reference.repository}"
    raise MachineError(what, fix=f"docker login {reference.registry}, or use another mirror")


def _asked_for_token(
    realm: str, query: dict[str, str], account: dockerconfig.Login | None, net: Net
) -> requests.Response:
    """The answer of a token server; an identity is changed for a token as OAuth 2 has it."""
    if account is None or not account.identity:
        header = http.basic(account.name, account.secret) if account else {}
        return http.get(realm, net, params=query, auth=http.header(header))
    form = {"grant_type": "refresh_token", "client_id": "envbuild"}
    data = form | query | {"refresh_token": account.secret}
    return http.send("POST", realm, net, again=True, data=data, auth=http.header({}))
