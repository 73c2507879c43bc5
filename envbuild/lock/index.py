"""A package index (simple API, JSON or HTML): which files it has of one project."""

import html.parser
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from envbuild.io import http
from envbuild.io.net import Net

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"


class IndexFile(NamedTuple):
    """One file of a project, its sha256 in hex, and when it was uploaded (empty = not said)."""

    file: str
    sha256: str
    uploaded: str = ""


class _Entry(msgspec.Struct):
    filename: str
    hashes: dict[str, str] = {}
    uploaded: str = msgspec.field(name="upload-time", default="")


class _Page(msgspec.Struct):
    files: tuple[_Entry, ...]


def files(url: str, project: str, net: Net) -> tuple[IndexFile, ...]:
    """The files of a project that have a sha256; none where the index does not know it.

    Args:
        url: the index, without the project.
        project: its normalised name.
        net: CA.

    Raises:
        MachineError: the index does not answer, or with something else, as a login page.
    """
    page = f"{url.rstrip('/')}/{project}/"
    response = http.get(page, net, allow=(404,), page=True, headers={"Accept": _ACCEPT})
    if response.status_code == 404:
        return ()
    if "json" in response.headers.get("Content-Type", ""):
        listed = http.decoded(response, _Page, "a page of a package index").files
        return tuple(
            IndexFile(entry.filename, digest, entry.uploaded)
            for entry in listed
            if (digest := entry.hashes.get("sha256"))
        )
    reader = _Anchors()
    reader.feed(response.text)
    if reader.asks and not reader.files:
        raise http.portal(page)
    return tuple(reader.files)


class _Anchors(html.parser.HTMLParser):
    """Collects ``<a href=".../FILE#sha256=HEX">``; no index asks its reader for anything."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[IndexFile] = []
        self.asks = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.asks |= tag in {"form", "input", "script"}
        address = urlsplit(dict(attrs).get("href") or "")
        if tag == "a" and address.fragment.startswith("sha256="):
            name = unquote(address.path.rpartition("/")[2])
            self.files.append(IndexFile(name, address.fragment.removeprefix("sha256=")))
