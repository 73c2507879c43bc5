"""Writing to a registry: blobs and manifests by their digests, nothing that is half there."""

import hashlib
import time
from urllib.parse import urlencode, urlsplit

import requests

from envbuild.errors import MachineError, StaleError
from envbuild.io import http
from envbuild.io.registry import Repository

_TRIES = 3
# A registry that answers HEAD with one of these may still take the thing.
_NOT_THERE = (400, 403, 404, 405)


def digest_of(data: bytes) -> str:
    """``sha256:...`` of some bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def status(repository: Repository, kind: str, digest: str, accept: str = "*/*") -> int:
    """What the registry answers when it is asked for the head of a thing: 200 = it has it.

    Args:
        repository: where.
        kind: ``blobs`` or ``manifests``.
        digest: of the thing; an answer with another one counts as 404.
        accept: media type that is wanted.

    Raises:
        MachineError: see `http.send`.
    """
    url = repository.url(f"{kind}/{digest}")
    response = repository.ask("HEAD", url, allow=_NOT_THERE, headers={"Accept": accept})
    said = response.headers.get("Docker-Content-Digest", digest)
    return response.status_code if said == digest else 404


def blob(repository: Repository, data: bytes) -> None:
    """Put a blob into the repository if it is not there yet.

    An upload that broke off is begun anew, twice: a registry keeps nothing of half a blob.

    Raises:
        MachineError: the registry does not take it; see `http.send`.
        StaleError: it says that it stored something else.
    """
    digest = digest_of(data)
    for turn in range(1, _TRIES + 1):
        if status(repository, "blobs", digest) == 200:
            return
        if _uploaded(repository, data, digest, last=turn == _TRIES):
            return
        time.sleep(turn)


def _uploaded(repository: Repository, data: bytes, digest: str, *, last: bool) -> bool:
    """Whether an upload came to its end; on the last try there is no other way than that."""
    try:
        _upload(repository, data, digest)
    except http.StumbleError:
        if last:
            raise
        return False
    return True


def _upload(repository: Repository, data: bytes, digest: str) -> None:
    # One more upload that was begun and never used is of no consequence.
    begun = repository.ask("POST", repository.url("blobs/uploads/"), again=True)
    location = begun.headers.get("Location", "")
    if begun.status_code != 202 or not location:
        raise unexpected(repository, begun, "where to upload to")
    parts = urlsplit(repository.follow(begun, location))
    query = "&".join(filter(None, (parts.query, urlencode({"digest": digest}))))
    url = parts._replace(query=query).geturl()
    headers = {"Content-Type": "application/octet-stream"}
    done = repository.ask("PUT", url, allow=(404,), data=data, headers=headers)
    if done.status_code == 404:
        what = f"{repository.reference.registry} forgot an upload before it was done"
        raise http.StumbleError(what, fix="try again later")
    _check(repository, done, digest)


def manifest(
    repository: Repository,
    name: str,
    data: bytes,
    kind: str,
    *,
    again: bool = False,
    allow: tuple[int, ...] = (),
) -> requests.Response:
    """Put a manifest under a digest or tag; the answer.

    Args:
        repository: logged in for pushing.
        name: its digest, or a tag.
        data: its bytes.
        kind: its media type.
        again: see `http.send`; not for a tag that others write, too.
        allow: statuses from 400 on that the caller looks at.

    Raises:
        MachineError: the registry does not take it; see `http.send`.
        StaleError: it says that it stored something else.
    """
    headers = {"Content-Type": kind}
    url = repository.url(f"manifests/{name}")
    response = repository.ask("PUT", url, again=again, allow=allow, data=data, headers=headers)
    if response.status_code not in allow:
        _check(repository, response, digest_of(data))
    return response


def _check(repository: Repository, response: requests.Response, digest: str) -> None:
    """The registry stored it, under its own name if it gives one."""
    if not 200 <= response.status_code < 300:
        raise unexpected(repository, response, "that it was stored")
    said = response.headers.get("Docker-Content-Digest", digest)
    # Another algorithm than ours is allowed and says nothing to us.
    if said.startswith("sha256:") and said != digest:
        what = f"{repository.reference.registry} stored something else than {digest[:19]}"
        raise StaleError(what, why=f"it says {said[:71]}", fix="do not use this registry")


def unexpected(repository: Repository, response: requests.Response, wanted: str) -> MachineError:
    """The error of an answer that is no error to HTTP, and not what was wanted."""
    where = repository.reference
    what = f"{where.registry} answered {response.status_code} and does not say {wanted}"
    return MachineError(what, why=f"writing to {where.repository}", fix="use another registry")
