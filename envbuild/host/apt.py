"""apt: where the vendors' packages come from, and which versions are pinned."""

import re
from collections.abc import Iterator, Mapping

from envbuild.host import packages
from envbuild.host.look import Look
from envbuild.values.host import AptSource, Pin

_LISTS = "/etc/apt/sources.list.d"
_PREFERENCES = "/etc/apt/preferences.d"
_VENDORS = re.compile(r"nvidia|cuda|docker|podman|graphics-drivers", re.IGNORECASE)
_LINE = re.compile(r"deb\s+(?:\[([^\]]{0,500})\]\s+)?(\S{1,500})\s+(\S{1,100})")
_MOST = 60


def sources(look: Look) -> tuple[AptSource, ...]:
    """Entries of the vendors, and vendors' list files that hold none."""
    found: list[AptSource] = []
    names = [n for n in look.names(_LISTS) if n.endswith((".list", ".sources"))]
    for path in ("/etc/apt/sources.list", *(f"{_LISTS}/{name}" for name in names)):
        text = look.text(path) or ""
        entries = parse_sources(path, text)
        found += [e for e in entries if _VENDORS.search(e.url or "") or _VENDORS.search(path)]
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        disabled = re.search(r"^#\s*deb\s|^Enabled:\s*no", text, re.MULTILINE | re.IGNORECASE)
        if not entries and lines and not disabled and _VENDORS.search(path):
            found.append(AptSource(path=path, says=lines[0][:200]))
    return tuple(found[:_MOST])


def parse_sources(path: str, text: str) -> tuple[AptSource, ...]:
    """The binary entries of a ``.list`` or ``.sources`` file; credentials in an URL are cut."""
    if path.endswith(".sources"):
        return tuple(_deb822(path, text))
    found = []
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        if match:
            options = dict(re.findall(r"([\w-]{1,30})=(\S{1,300})", match[1] or ""))
            found.append(_source(path, match[2], match[3], options.get("signed-by")))
    return tuple(found)


def _deb822(path: str, text: str) -> Iterator[AptSource]:
    for paragraph in _paragraphs(text):
        if "deb" not in paragraph.get("types", "deb").split():
            continue
        if paragraph.get("enabled", "yes").strip().lower() in {"no", "false", "0"}:
            continue
        for url in paragraph.get("uris", "").split():
            for suite in paragraph.get("suites", "").split():
                yield _source(path, url, suite, paragraph.get("signed-by"))


def _source(path: str, url: str, suite: str, signed_by: str | None) -> AptSource:
    # A key that stands in the file itself is no path.
    key = "(in the file)" if signed_by and not signed_by.strip().startswith("/") else signed_by
    plain = re.sub(r"(://)[^/@\s]{1,200}@", r"\1", url)
    return AptSource(path=path, url=plain[:300], suite=suite, signed_by=key and key.strip()[:200])


def _paragraphs(text: str) -> Iterator[Mapping[str, str]]:
    """Fields by lower-case name; a line that starts with a blank goes on with the one before."""
    fields: dict[str, str] = {}
    name = ""
    for line in (*text.splitlines(), ""):
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                yield fields
            fields, name = {}, ""
        elif line[0] in " \t":
            fields[name] = f"{fields.get(name, '')}\n{line.strip()}"
        else:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()


def pins(look: Look) -> tuple[Pin, ...]:
    """Rules of apt's preferences that speak of our packages or of the vendors' archives."""
    names = [n for n in look.names(_PREFERENCES) if n.endswith(".pref") or "." not in n]
    found: list[Pin] = []
    for path in ("/etc/apt/preferences", *(f"{_PREFERENCES}/{name}" for name in names)):
        found += parse_preferences(path, look.text(path) or "")
    return tuple(found[:_MOST])


def parse_preferences(path: str, text: str) -> tuple[Pin, ...]:
    """One rule for each package of each record."""
    found = []
    for record in _paragraphs(text):
        rule, number = record.get("pin", ""), record.get("pin-priority", "")
        priority = int(number) if re.fullmatch(r"-?\d{1,6}", number, re.ASCII) else None
        found += [
            Pin(path=path, package=name[:100], rule=rule[:200], priority=priority)
            for name in record.get("package", "").split()
            if packages.ours(name) or _VENDORS.search(f"{name} {rule}")
        ]
    return tuple(found)
