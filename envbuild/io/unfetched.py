"""What apt and pip say of a server that gives them nothing: who is to blame, what to do.

The texts are those of apt 2.6.1 and 3.0.4 and of pip 22.0 to 25.1, run against a server with each
of these faults (2026-12-03).
"""

import re
from typing import NamedTuple

from envbuild.errors import EnvbuildError, MachineError, StaleError


class Sign(NamedTuple):
    """A text (a pattern, within a line), and what it means."""

    pattern: str
    kind: type[EnvbuildError]
    says: str
    fix: str

    def line(self, text: str) -> str | None:
        """The first line of a text that has this sign."""
        hit = re.search(rf"(?m)^.*(?:{self.pattern}).*$", text)
        return hit.group(0).strip() if hit else None


def first(text: str) -> tuple[Sign, str] | None:
    """The first of `SIGNS` in a text, with its line."""
    return next(((sign, line) for sign in SIGNS if (line := sign.line(text)) is not None), None)


# apt names the address, then what came; pip ends with what a file's server did.
_APT, _PIP = r"E: Failed to fetch \S+  ", r"HTTP error {0} |\b{0} (?:Client|Server) Error: "
# What was tried again is a fault only where nothing came in the end.
_IN_VAIN = r"connection broken by (?=[\s\S]*No matching distribution found)"
#: What to do where a proxy answers 407.
PROXY_LOGIN = "give its login in the proxy's address: http://name:password@host:port"

NETWORK = Sign(
    r"Temporary failure resolving|Could not resolve (?:'|host|proxy)"
    r"|Temporary failure in name resolution|Could not connect to (?:\S+:\d+ |server)"
    r"|CERTIFICATE_VERIFY_FAILED|certificate verify failed|Could not handshake"
    r"|Network is unreachable"
    rf"|{_APT}(?:Unable to connect|Cannot initiate|Connection (?:failed|timed out)|SSL connection"
    r"|Error reading from server|Bad header|Invalid response from proxy)"
    r"|^pip\._vendor\.[\w.]*(?:Error|Timeout|TooManyRedirects): "
    rf"|^error: incomplete-download|{_IN_VAIN}",
    MachineError,
    "a step could not reach the network",
    "check --network, --apt-mirror, --toolkit-mirror, --index-url and --ca-cert",
)

#: First match wins; a text of a signature may stand beside one of these, and follows from it.
SIGNS = (
    Sign(
        r"407 Proxy Authentication Required|407  Proxy",
        MachineError,
        "a proxy wants a login, or another one",
        PROXY_LOGIN,
    ),
    Sign(
        rf"{_APT}40[13]  |{_PIP.format('40[13]')}|User for \S+: |401 Error, Credentials",
        MachineError,
        "a server wants a login, or refuses this one",
        "give the login of that mirror or index (in its address, or in ~/.netrc), or take another",
    ),
    Sign(
        rf"{_APT}429  |{_PIP.format('429')}|too many 429 error",
        MachineError,
        "a server counts requests, and these were too many",
        "wait a while, log in, or use a mirror",
    ),
    Sign(
        rf"{_APT}5\d\d  |{_PIP.format('5[0-9]{2}')}|too many 5\d\d error",
        MachineError,
        "a server has a fault of its own",
        "try again later, or use another mirror: finished steps are kept",
    ),
    NETWORK,
    Sign(
        r"requirement [^()]*\(from versions: none\)",
        MachineError,
        "the package index has nothing of a package, or refuses to say: pip does not tell which",
        "ask it by hand (curl -i INDEX/NAME/); where it lost the package: another index that still "
        "has it (--index-url), or lock again: envbuild lock",
    ),
    Sign(
        rf"{_PIP.format(404)}|No matching distribution found for .*",
        StaleError,
        "the package index no longer serves what the lock names",
        "another index or mirror that still has it (--index-url), else lock again: envbuild lock",
    ),
)
