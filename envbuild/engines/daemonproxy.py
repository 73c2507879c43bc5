"""Docker's daemon pulls by itself, through proxies of its own: a shell's do not count for it."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from envbuild.errors import EnvbuildError, MachineError
from envbuild.io import proxies

_WHERE = '"proxies" in /etc/docker/daemon.json, or HTTPS_PROXY in the environment of its service'
_OF_PROXY = r"proxyconnect|Proxy Authentication Required"
_UNREACHED = r"dial tcp|no such host|i/o timeout|Client\.Timeout|context deadline exceeded"


def told(error: EnvbuildError, info: Mapping[str, Any]) -> EnvbuildError:
    """The error of a pull, with the proxy in it where that is, or may be, the cause.

    Args:
        error: what the daemon's words were taken for.
        info: what the daemon says of itself; it hides the logins of its proxies, and so do we.
    """
    text = f"{error.what} {error.why}"
    own = str(info.get("HttpsProxy") or info.get("HttpProxy") or "")
    if not isinstance(error, MachineError) or not re.search(f"{_OF_PROXY}|{_UNREACHED}", text):
        return error
    if own and re.search(_OF_PROXY, text):
        host = urlsplit(own if "://" in own else f"//{own}").netloc.rpartition("@")[2]
        why = f"docker's daemon asks through a proxy of its own, {host}"
        fix = f"mend that where the daemon has it ({_WHERE}), then restart the daemon"
    elif not own and (asked := _proxied(text)):
        why = f"this shell has a proxy for {asked}; docker's daemon, which pulls, has none"
        fix = f"give it the daemon, too ({_WHERE}), then restart the daemon"
    else:
        return error
    return MachineError(error.what, why="; ".join(filter(None, (error.why, why))), fix=fix)


def _proxied(text: str) -> str | None:
    """The host that could not be reached, if we would have asked it through a proxy."""
    hit = re.search(r'(https?://([^/"\s@]+))/', text)
    try:
        return hit[2] if hit and proxies.of(f"{hit[1]}/") else None
    except EnvbuildError:
        return None
