"""A host without what identifies this very machine or its user, for public reports."""

import os
import platform
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from envbuild.host.traces import homes, places, public
from envbuild.values.codec import dump_line, load
from envbuild.values.host import Host

_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{4,8}[0-9a-fA-F-]{0,32}")
_CONTEXTS = {"default", "desktop-linux", "desktop-windows", "rootless"}
_DISTRO = re.compile(
    r"(Ubuntu|Debian|docker-desktop|kali-linux|openSUSE|SUSE|OracleLinux|AlmaLinux|FedoraLinux"
    r"|archlinux|Arch)([-_.]?(\d[\d._]*|data|Leap|Tumbleweed|Preview|LTS))*"
)
# Names of users and machines that are also words of this field: they tell nobody.
_WORDS = {"root", "user", "admin", "nvidia", "cuda", "docker", "jetson", "localhost"}
_WORDS |= {"ubuntu", "debian", "fedora", "linux", "windows", "runner", "python", "build"}


def redact(host: Host, names: tuple[str, ...] = ()) -> Host:
    """The same machine with numbered uuids, homes as ``~`` without names; all versions stay.

    Args:
        host: detected or recorded.
        names: of its user and of itself, where they are known (`own_names`).
    """
    plain = cleaner(names)
    # Numbers are given in the order of the GPUs, so that the first stays the first.
    record = walk(msgspec.json.decode(dump_line(host)), plain)
    _fields(record)
    return load(Host, dump_line(record), "the redacted host")


def cleaner(names: tuple[str, ...] = ()) -> Callable[[str], str]:
    """What takes home folders, uuids and these names out of one text after the other.

    The same uuid gets the same number in all of them.
    """
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        kind = match[1]
        index = sum(known.startswith(kind) for known in numbers)
        return numbers.setdefault(match[0], f"{kind}-00000000-0000-0000-0000-{index:012d}")

    words = "|".join(re.escape(name) for name in names)
    own = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])") if words else None

    def plain(text: str) -> str:
        text = homes(_UUID.sub(number, text))
        return own.sub("name", text) if own else text

    return plain


def own_names() -> tuple[str, ...]:
    """Names of this user and this machine; short ones and words of the field are left alone."""
    machine = platform.node()
    names = (os.environ.get(v, "") for v in ("USER", "LOGNAME", "USERNAME", "COMPUTERNAME"))
    found = {*names, machine, machine.partition(".")[0]}
    return tuple(sorted(n for n in found if len(n) > 2 and n.lower() not in _WORDS))


def walk(value: Any, plain: Callable[[str], str]) -> Any:  # noqa: ANN401
    """A JSON value with every text of it made plain."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [walk(one, plain) for one in value]
    if isinstance(value, dict):
        return {plain(name): walk(one, plain) for name, one in value.items()}
    return value


def _fields(record: dict[str, Any]) -> None:
    """What only its place tells to be a name."""
    for spec in record["cdi"]:
        spec["devices"] = [d for d in spec["devices"] if "=GPU-" not in d and "=MIG-" not in d]
    for engine in record["engines"]:
        if engine["context"] not in {None, *_CONTEXTS}:
            engine["context"] = "other"
        engine["says"] = engine["says"] and places(engine["says"])
    for source in record["apt_sources"]:
        source["url"] = source["url"] and _vendor(source["url"])
    for probe in record["probes"]:
        if probe["name"] == "mount":
            probe["says"] = re.sub(r"^.* \(", "a mount (", probe["says"])
        probe["says"] = places(probe["says"])
    record["env"] = {name: places(text) for name, text in record["env"].items()}
    if record["wsl"] and record["wsl"]["distro"]:
        record["wsl"]["distro"] = _distro(record["wsl"]["distro"])
    if record["windows"]:
        distros = record["windows"]["distros"]
        record["windows"]["distros"] = {_distro(name): g for name, g in distros.items()}


def _distro(name: str) -> str:
    return name if _DISTRO.fullmatch(name) else "other"


def _vendor(url: str) -> str:
    """The address if it is a vendor's own; of a mirror the path only."""
    parts = urlsplit(url)
    return url if parts.hostname in public() else f"{parts.scheme}://mirror{parts.path}"
