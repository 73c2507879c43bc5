"""A package index (simple API, JSON or HTML): which files it has of one project."""

import html.parser
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from envbuild.errors import MachineError
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


def files(url: str, project: str, net: Net, *, beside: str = "") -> tuple[IndexFile, ...]:
    """The files of a project that have a sha256; none where the index does not know it.

    Args:
        url: the index, without the project.
        project: its normalised name.
        net: CA.
        beside: a project that the index should have. Where it shows that one, 403 for another
            means that the other is not there: so says a bucket that may not be listed
            (github.com/pytorch/pytorch/issues/81900).

    Raises:
        MachineError: the index does not answer, or with something else, as a login page.
    """
    page = f"{url.rstrip('/')}/{project}/"
    accept = {"Accept": _ACCEPT}
    response = http.get(page, net, allow=(401, 403, 404), page=True, headers=accept)
    if response.status_code == 404:
        return ()
    if response.status_code == 403 and beside not in {"", project} and files(url, beside, net):
        return ()
    if response.status_code >= 400:
        raise _closed(page, project, response.status_code)
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


def _closed(page: str, project: str, status: int) -> MachineError:
    address = urlsplit(page)
    what = f"{address.netloc.rpartition('@')[2]} answered {status} for {address.path}"
    why = "it wants a login, or does not serve this network"
    if status == 403:
        why += f"; some indexes also say so where they have no {project}"
    fix = "give a login (in --index-url, or in ~/.netrc), or use a mirror that has it"
    return MachineError(what, why=why, fix=fix)


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
