"""The list of what refers to an image, where its registry keeps it or its clients have to.

A registry that knows the referrers API keeps the list itself. For one that does not, the clients
keep it as an image index under the tag ``sha256-<hex>``, and writers of it must not lose each
other's entries. (Distribution specification 1.1: "Pushing Manifests with Subject", "Listing
Referrers", "Unavailable Referrers API".)
"""

import hashlib
import os
import random
import stat
import tempfile
import time
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from envbuild.errors import MachineError
from envbuild.io import files, http, oci, push
from envbuild.io.registry import Repository

INDEX = "application/vnd.oci.image.index.v1+json"
#: Bytes of a page, or of the index; and of all pages.
LARGEST, LARGEST_LIST = 4 << 20, 16 << 20
#: Referrers of one image, and pages of their list.
MOST, MOST_PAGES = 500, 100
#: Seconds after which whoever read the index before we wrote it has written, too.
SETTLE = 1.0
_TURNS = 10
# What registries without the referrers API say of its address.
_NO_API = (400, 404, 405, 406, 501)
# What a registry says of an index that names manifests which it does not have.
_REFUSED = (400, 404)

_Any = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+([+._-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$")]


class Entry(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A descriptor in a list; ``size`` is in bytes, ``digest`` may be of another algorithm."""

    media_type: str
    digest: _Any
    size: Annotated[int, msgspec.Meta(ge=0)]
    artifact_type: str | None = None
    annotations: dict[str, str] | None = None


class _Index(msgspec.Struct, rename="camel"):
    media_type: str = INDEX
    manifests: tuple[Entry, ...] | None = None


class Tagged(NamedTuple):
    """An index under the fallback tag: its entries, and each field as it was written."""

    entries: tuple[Entry, ...]
    fields: dict[str, msgspec.Raw]

    @property
    def written(self) -> dict[str, msgspec.Raw]:
        """What was written for each digest, with all that we do not read."""
        raw = msgspec.json.decode(self.fields["manifests"], type=list[msgspec.Raw] | None)
        return {entry.digest: text for entry, text in zip(self.entries, raw or (), strict=True)}


_NEW = Tagged(
    (),
    {
        "schemaVersion": msgspec.Raw(b"2"),
        "mediaType": msgspec.Raw(msgspec.json.encode(INDEX)),
        "manifests": msgspec.Raw(b"[]"),
    },
)


def by_api(repository: Repository, digest: str) -> tuple[Entry, ...] | None:
    """All pages of the referrers API; None = the registry has no such thing.

    Raises:
        MachineError: the registry does not answer, or not with such a list.
    """
    url = repository.url(f"referrers/{digest}")
    found: tuple[Entry, ...] = ()
    size = 0
    for turn in range(MOST_PAGES):
        # A registry without it may answer with a web page, and call it found.
        response = repository.ask(
            "GET",
            url,
            allow=() if turn else _NO_API,
            page=True,
            most=LARGEST,
            headers={"Accept": INDEX},
        )
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if turn == 0 and (response.status_code != 200 or kind != INDEX):
            return None
        found += http.decoded(response, _Index, "a page of a list of referrers").manifests or ()
        size += len(response.content)
        following = response.links.get("next", {}).get("url")
        if len(found) > MOST or size > LARGEST_LIST:
            break
        if not following:
            return found
        url = repository.follow(response, following)
    raise _too_many(repository, digest)


def by_tag(repository: Repository, digest: str) -> Tagged | None:
    """The index under the fallback tag; None = there is none.

    Raises:
        MachineError: the registry does not answer, or the tag holds something else.
    """
    url = repository.url(f"manifests/{_tag(digest)}")
    headers = {"Accept": ", ".join((INDEX, *oci.MANIFESTS))}
    response = repository.ask("GET", url, allow=(404,), most=LARGEST, headers=headers)
    if response.status_code == 404:
        return None
    name = f"an index of what is attached to {digest[:19]}"
    index = http.decoded(response, _Index, name)
    fields = http.decoded(response, dict[str, msgspec.Raw], name)
    if index.media_type != INDEX or "manifests" not in fields:
        what = f"{repository.reference.registry} has something else under the tag {_tag(digest)}"
        raise MachineError(what, why=f"it is not {name}", fix="move that tag, then try again")
    entries = index.manifests or ()
    if len(entries) > MOST:
        raise _too_many(repository, digest)
    return Tagged(entries, fields)


def enlist(repository: Repository, digest: str, entry: Entry) -> None:
    """Add to the index under the fallback tag, and stay until it is still there.

    The registry cannot compare and set. So: on one machine writers wait for each other; and each
    looks again when those who read before it wrote must have written, and puts back whatever it
    ever saw in the index. An entry can still be lost to a program that takes longer than `SETTLE`
    between reading and writing.

    Raises:
        MachineError: the registry does not take it, the tag holds something else, or other
            writers never leave it in.
    """
    wanted = {entry.digest: msgspec.Raw(msgspec.json.encode(entry))}
    gone: set[str] = set()
    for turn in range(_TURNS):
        if turn:
            time.sleep(SETTLE * random.uniform(1, 2))  # noqa: S311  # only to fall out of step
        with files.locked(_lock(repository, digest)):
            tagged = by_tag(repository, digest) or _NEW
            listed = tagged.written
            lacking = wanted.keys() - listed.keys() - gone
            if not lacking:
                return
            wanted = listed | {name: text for name, text in wanted.items() if name in lacking}
            entries = [text for name, text in wanted.items() if name not in gone]
            if len(entries) > MOST:
                raise _too_many(repository, digest)
            data = msgspec.json.encode({**tagged.fields, "manifests": entries})
            try:
                response = push.manifest(repository, _tag(digest), data, INDEX, allow=_REFUSED)
            except http.StumbleError:
                # It may have been stored all the same: the next turn sees.
                if turn == _TURNS - 1:
                    raise
                continue
            if response.status_code in _REFUSED:
                dead = _dead(repository, tagged.entries) - gone
                if not dead:
                    raise push.unexpected(repository, response, "that it was stored")
                gone |= dead
    what = f"others keep writing the index of what is attached to {digest[:19]}"
    raise MachineError(what, fix="try again when they are done")


def _dead(repository: Repository, entries: tuple[Entry, ...]) -> set[str]:
    """Digests of which the registry says that it has no such manifest (any more)."""
    return {
        entry.digest
        for entry in entries
        if push.status(repository, "manifests", entry.digest, entry.media_type) == 404
    }


def _lock(repository: Repository, digest: str) -> Path:
    """A file for the writers of one index on this machine; each user has a folder of them."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"envbuild-attach-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as e:
        what = f"{folder} cannot be made: {e.strerror or e}"
        raise MachineError(what, fix="set TMPDIR to a folder that can be written") from e
    # In a folder that is another's, a name may lead anywhere.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user:
        what = f"{folder} belongs to somebody else"
        raise MachineError(what, fix="set TMPDIR to a folder of yours")
    return folder / hashlib.sha256(repository.url(digest).encode()).hexdigest()[:32]


def _tag(digest: str) -> str:
    return digest.replace(":", "-")


def _too_many(repository: Repository, digest: str) -> MachineError:
    what = f"{repository.reference.registry} lists too much for {digest[:19]}"
    why = f"more than {MOST} referrers, {MOST_PAGES} pages or {LARGEST_LIST >> 20} MiB"
    return MachineError(what, why=why, fix="delete what is not needed")
