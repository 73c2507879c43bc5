"""Docker's own config: logins of registries, its credential helpers, proxies for build steps.

A helper is a program of somebody else's that may hang, fail or print anything: what it prints can
hold the secret, so none of it is ever shown.
"""

import base64
import binascii
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from envbuild.errors import MachineError
from envbuild.io import proc

#: Seconds for a helper: it may ask a person for the password of a key ring.
PATIENCE = 60.0
_HUB = "docker.io"
#: Under which docker itself keeps the login of its hub, and what people write in its place.
_HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", _HUB)
#: The name that goes with a token which is no password.
_TOKEN = "<token>"  # noqa: S105
_NONE = ("credentials not found", "no credentials server url", "no credentials username")


class Login(NamedTuple):
    """A login of a registry; an ``identity`` is a token that its token server changes for others.

    Its text is its name alone: it may reach a message by mistake.
    """

    name: str
    secret: str
    identity: bool = False

    def __repr__(self) -> str:
        """Without the secret."""
        return f"Login({self.name!r})"

    def for_engine(self) -> dict[str, str]:
        """As docker's API takes it."""
        if self.identity:
            return {"identitytoken": self.secret}
        return {"username": self.name, "password": self.secret}


def folder() -> Path | None:
    """Docker's folder of settings; None where this user has no home."""
    try:
        return Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    except RuntimeError:
        # A user id without a name and without HOME, as containers have it.
        return None


def read() -> Mapping[str, Any]:
    """The settings, empty where there are none.

    Raises:
        MachineError: the file is there and cannot be read.
    """
    place = folder()
    path = place / "config.json" if place else Path(os.devnull)
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as e:
        raise _unusable(e.strerror or "it cannot be read") from e
    try:
        found = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _unusable("it is no JSON object") from None
    return found


def proxies() -> dict[str, str]:
    """The proxies that docker's own config gives to build steps: variable, in small, to text.

    Docker passes them as build arguments, and BuildKit's history of builds keeps those, logins
    and all: steps get them as a secret instead.
    """
    try:
        found = read().get("proxies", {}).get("default", {})
        names = ("httpProxy", "httpsProxy", "ftpProxy", "noProxy", "allProxy")
        return {f"{name[:-5]}_proxy": str(found[name]) for name in names if found.get(name)}
    except (MachineError, AttributeError, TypeError):
        return {}


def context() -> str:
    """Name of docker's context where it is not the default one."""
    name = os.environ.get("DOCKER_CONTEXT")
    if not name:
        try:
            name = read().get("currentContext")
        except MachineError:
            name = None
    return "" if name in {None, "default"} else str(name)


def login(registry: str) -> Login | None:
    """Name and password for a registry: its helper's, else its entry's in the file; or none.

    Raises:
        MachineError: the file or the helper is there, and what it says cannot be used.
    """
    config = read()
    keys = _HUB_KEYS if registry == _HUB else (registry,)
    helpers = config.get("credHelpers") or {}
    if not isinstance(helpers, dict):
        raise _unusable("credHelpers is not what docker writes")
    helper = next((helpers[key] for key in keys if helpers.get(key)), config.get("credsStore"))
    if helper and (found := _asked(helper, keys[0])):
        return found
    entries = config.get("auths") or {}
    if not isinstance(entries, dict):
        raise _unusable("auths is not what docker writes")
    named = {key: key for key in entries} | {_host(key): key for key in reversed(entries)}
    entry = next((entries[named[key]] for key in keys if key in named), None)
    return None if entry is None else _entry(entry, registry)


def _host(key: str) -> str:
    return re.sub(r"^https?://", "", key).partition("/")[0]


def _entry(entry: object, registry: str) -> Login | None:
    """The login of one entry of ``auths``."""
    fields = entry if isinstance(entry, dict) else {"auth": entry}
    auth, token = fields.get("auth"), fields.get("identitytoken")
    name, secret = fields.get("username"), fields.get("password")
    if token and isinstance(token, str):
        return Login(_TOKEN, token, identity=True)
    if auth:
        try:
            text = base64.b64decode(str(auth), validate=True).decode()
            name, colon, secret = text.partition(":")
        except (binascii.Error, UnicodeError, ValueError):
            colon = ""
        if not colon:
            why = f"the login of {registry} in it is not what docker writes"
            raise _unusable(why) from None
    if not (isinstance(name, str) and isinstance(secret, str) and name and secret):
        return None
    return Login(name, secret.strip("\0"))


def _asked(helper: object, server: str) -> Login | None:
    """What a credential helper knows of a server.

    Raises:
        MachineError: it is not there, does not answer, or answers something else than a login.
    """
    if not isinstance(helper, str) or not re.fullmatch(r"[\w.-]+", helper):
        raise _unusable("a credential helper in it has no name that one can have")
    program = f"docker-credential-{helper}"
    path = shutil.which(program)
    if path is None:
        why = "docker's config.json (credsStore, credHelpers) names it, and it is not on PATH"
        raise _failed(program, server, "is not there", why, "install it, or take its name out")
    done = proc.run([path, "get"], timeout=PATIENCE, stdin=server.encode(), limit=1 << 20)
    if done.timed_out:
        why = f"it was ended after {PATIENCE:.0f} seconds; it may wait for a person or a key ring"
        raise _failed(program, server, "does not answer", why)
    if done.rc:
        # Helpers say on standard output what is wrong, and with another exit code than 0.
        if any(text in (done.out + done.err).lower() for text in _NONE):
            return None
        why = f"it ended with {done.rc}; what it says is not shown, since a login may be in it"
        raise _failed(program, server, "failed", why)
    try:
        found = json.loads(done.out)
        name, secret = found["Username"], found["Secret"]
        good = isinstance(name, str) and isinstance(secret, str)
    except (ValueError, KeyError, TypeError, RecursionError):
        name = secret = ""
        good = False
    if not good:
        why = "what it says is not shown, since a login may be in it"
        raise _failed(program, server, "answers something else than a login", why) from None
    # Some helpers say so that they know nothing.
    return Login(name, secret, identity=name == _TOKEN) if secret else None


def _failed(program: str, server: str, says: str, why: str, fix: str = "") -> MachineError:
    see = f"see for yourself: printf {server} | {program} get"
    what = f"docker's credential helper {program} {says} for {server}"
    return MachineError(what, why=why, fix=fix or f"{see}; else docker login {_host(server)}")


def _unusable(why: str) -> MachineError:
    what = f"docker's config cannot be used: {(folder() or Path()) / 'config.json'}"
    return MachineError(what, why=why, fix="mend or remove it, then docker login again")
