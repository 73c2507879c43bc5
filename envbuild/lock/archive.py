"""Suites and components of an apt archive, apart from where it is served."""

import re

from envbuild.errors import MachineError
from envbuild.io import http
from envbuild.io.net import Net
from envbuild.render import quote

_ONE_LINE = re.compile(r"deb\s+(?:\[[^]]*\]\s+)?\S+\s+(\S+)\s+(\S.*)")


def index(text: str) -> tuple[str, ...]:
    """``suite component ...`` lines of sources lists in either form; flat archives have none."""
    suites: dict[str, list[str]] = {}
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in stanza.splitlines() if not line.startswith("#")]
        for line in lines:
            if match := _ONE_LINE.fullmatch(line):
                suites.setdefault(match[1], []).extend(match[2].split())
        fields = dict(line.split(":", 1) for line in lines if re.match(r"[A-Z][\w-]*:", line))
        if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "").strip() != "no":
            for suite in fields.get("Suites", "").split():
                suites.setdefault(suite, []).extend(fields.get("Components", "").split())
    return tuple(
        " ".join([suite, *dict.fromkeys(components)])
        for suite, components in suites.items()
        if components
    )


def sources(lines: tuple[str, ...], mirror: str) -> str:
    """A ``sources.list`` that takes these ``suite component ...`` lines from one mirror."""
    safe = [quote.suite(line) for line in lines]
    # What is signed for some days only is past them in any snapshot.
    old = "[check-valid-until=no] " if snapshot(mirror) else ""
    return "".join(f"deb {old}{_address(line.split()[0], mirror)} {line}\n" for line in safe)


def snapshot(mirror: str | None) -> str:
    """The moment that a snapshot service serves (its addresses end in one); empty for others.

    >>> snapshot("https://snapshot.example/archive/debian/20261201T000000Z/")
    '20261201T000000Z'
    """
    match = re.search(r"/(\d{8}T\d{6}Z)/?$", mirror or "", re.ASCII)
    return match[1] if match else ""


def served(lines: tuple[str, ...], mirror: str, net: Net) -> tuple[str, ...]:
    """The lines whose suite the mirror has.

    Raises:
        MachineError: it has none of them, or does not answer.
    """
    if mirror.startswith("file:"):
        return lines
    found = []
    for line in lines:
        suite = line.split()[0]
        url = f"{_address(suite, mirror)}/dists/{suite}/InRelease"
        if http.get(url, net, allow=(404,)).status_code != 404:
            found.append(line)
    if not found:
        what = f"the apt mirror has none of {', '.join(line.split()[0] for line in lines)}"
        raise MachineError(what, fix="check --apt-mirror: it is the address above dists/")
    return tuple(found)


def _address(suite: str, mirror: str) -> str:
    # Debian keeps its security updates in an archive of their own, beside the main one.
    mirror = mirror.rstrip("/")
    debian = re.fullmatch(r"(.*/debian)(/\d{8}T\d{6}Z)?", mirror, re.ASCII)
    if debian is None or not suite.endswith("-security"):
        return mirror
    return f"{debian[1]}-security{debian[2] or ''}"
