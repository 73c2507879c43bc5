"""Whether a lock still is what envbuild wrote: a hand or a merge may have been at it since."""

import re
from collections import Counter
from collections.abc import Iterator

from envbuild.errors import StaleError
from envbuild.values.codec import digest, replace
from envbuild.values.lock import Lock

_SHA256 = re.compile(r"[0-9a-f]{64}")
_EDITED = "it was changed since envbuild wrote it: its seal is of other contents"


def sealed(lock: Lock) -> Lock:
    """The lock with the digest of all the rest in it."""
    return replace(lock, seal=digest(replace(lock, seal="")))


def broken(lock: Lock) -> tuple[str, ...]:
    """What shows that others wrote in it; empty = nothing. Locks of older releases have no seal."""
    found = tuple(_contradictions(lock))
    if not found and lock.seal and lock != sealed(lock):
        return (_EDITED,)
    return found


def whole(lock: Lock, name: str) -> None:
    """Refuse a lock whose entries nobody resolved together.

    Raises:
        StaleError: others wrote in it.
    """
    if reasons := broken(lock):
        what = f"{name} cannot be trusted: {'; '.join(reasons)}"
        raise StaleError(
            what, fix="take the committed one, or make all of it again: envbuild lock --upgrade"
        )


def _contradictions(lock: Lock) -> Iterator[str]:
    """What no resolving gives: usual after a merge that kept the lines of both sides."""
    for kind, entries in (
        ("packages", [f"{one.name}:{one.arch}" for one in lock.apt]),
        ("wheels", [one.name for one in lock.wheels]),
        ("archives", [one.name for one in lock.parts]),
    ):
        twice = sorted(name for name, n in Counter(entries).items() if n > 1)
        if twice:
            yield f"two {kind} are named {twice[0]} (a merge of two locks?)"
    bases = [one for one in (lock.base, lock.runtime) if one]
    hashes = [
        *((one.ref, one.digest.removeprefix("sha256:")) for one in bases),
        *((one.name, one.sha256) for one in lock.apt if one.sha256),
        *((one.name, one.sha256) for one in lock.wheels),
        *((one.name, one.sha256) for one in lock.parts),
    ]
    wrong = [name for name, text in hashes if not _SHA256.fullmatch(text)]
    if wrong:
        yield f"the hash of {wrong[0]} is no sha256"
    for base in bases:
        if base.platform != lock.platform:
            yield f"{base.ref} is for {base.platform}, and the lock for {lock.platform}"
