"""Mounts that may never answer: a dead file server must cost a probe a path, not the machine."""

import contextlib
import os
import threading
from collections import deque
from pathlib import Path

# Kinds that ask another machine or another process; a local disk is not knocked at.
_REMOTE = {"9p", "afs", "autofs", "beegfs", "ceph", "cifs", "davfs", "fuse", "glusterfs", "gpfs"}
_REMOTE |= {"lustre", "nfs", "nfs4", "ncpfs", "smb3", "smbfs", "virtiofs"}
_HOPS = 40  # as many symbolic links as the kernel follows
_SIZE = 1 << 20


class Mounts:
    """The remote mounts of this machine, and which of them answered when they were first needed."""

    def __init__(self) -> None:
        self._points: dict[str, str] | None = None
        self._answers: dict[str, bool] = {}

    def answer(self, path: str, seconds: float) -> bool:
        """Whether the file system below an absolute path answers within ``seconds``.

        The first path of a mount waits; after that the answer is known.
        """
        if self._points is None:
            self._points = parse_mounts(_own_mounts())
        point = _point(path, self._points) if self._points else None
        if point is None:
            return True
        # Of an automounter each name below is a mount of its own.
        key = path if self._points[point] == "autofs" else point
        if key not in self._answers:
            self._answers[key] = _knock(point, path, seconds)
        return self._answers[key]

    @property
    def dead(self) -> tuple[str, ...]:
        """Mounts that did not answer, with their kind."""
        points = self._points or {}
        silent = (key for key, answers in sorted(self._answers.items()) if not answers)
        return tuple(f"{key} ({points.get(key, 'autofs')})" for key in silent)


def parse_mounts(text: str) -> dict[str, str]:
    r"""Mount point to kind of the remote file systems in ``/proc/self/mounts``.

    >>> parse_mounts("server:/opt /opt/cuda\\040new nfs4 rw 0 0")
    {'/opt/cuda new': 'nfs4'}
    """
    points: dict[str, str] = {}
    for line in text.splitlines():
        words = line.split(" ")
        if len(words) < 3:
            continue
        point = words[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        # We run from the root; what is mounted over a remote mount hides it.
        points.pop(point, None)
        if point != "/" and (words[2] in _REMOTE or words[2].startswith("fuse.")):
            points[point] = words[2]
    return points


def _own_mounts() -> str:
    with contextlib.suppress(OSError), Path("/proc/self/mounts").open("rb") as f:
        return f.read(_SIZE).decode("utf-8", "replace")
    return ""


def _point(path: str, points: dict[str, str]) -> str | None:
    """The remote mount that a path leads into; nothing behind a mount is touched."""
    at, hops = "", 0
    parts = deque(path.split("/"))
    while parts:
        name = parts.popleft()
        if name in {"", "."}:
            continue
        if name == "..":
            at = at.rpartition("/")[0]
            continue
        place = f"{at}/{name}"
        if place in points:
            return place
        try:
            target = os.readlink(place)  # noqa: PTH115 - one system call, a thousand times
        except (OSError, ValueError):
            at = place
            continue
        hops += 1
        if hops > _HOPS:
            return None
        parts.extendleft(reversed(target.split("/")))
        at = "" if target.startswith("/") else at
    return None


def _knock(point: str, path: str, seconds: float) -> bool:
    """Ask from a thread, which the end of the process takes along if it never returns."""

    def ask() -> None:
        for question in (lambda: os.stat(path), lambda: os.statvfs(point)):  # noqa: PTH116
            with contextlib.suppress(OSError, ValueError):
                question()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
