"""What a killed ``podman build`` leaves: steps, working containers, folders of temporary files.

Nothing of these can have a label of ours. A build is given a name of a host that nobody asks for:
podman keeps it with each container and writes it into each ``/etc/hosts``, which is in no layer.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from envbuild.engines import owner

_HOST = re.compile(r"[0-9a-f]{16}\.\d+\.\d+\.envbuild\.invalid")
_GRACE = 3.0
_TEMPORARY = "/var/tmp"  # noqa: S108 (podman's own)
#: Runs podman; its standard output, empty where it failed.
Ask = Callable[..., str]
#: Whether a text has a mark that counts.
Marked = Callable[[str], bool]


def flags() -> tuple[str, str]:
    """What marks a build as this process's."""
    return "--add-host", f"{owner.as_host()}:127.0.0.1"


def sweep(ask: Ask, *, own: bool = False) -> None:
    """End and remove what is marked by a process that is gone; nothing else.

    Args:
        ask: runs podman.
        own: what is marked by this process instead, whose build was cut off.
    """
    marked = _own if own else _abandoned
    for pid in _builds(marked):
        _end(pid)
    # Where podman makes its folders, whatever TMPDIR was in the run before.
    for place in {Path(_TEMPORARY), Path(os.environ.get("TMPDIR") or _TEMPORARY)}:
        for hosts in place.glob("buildah*/hosts"):
            with contextlib.suppress(OSError):
                if hosts.lstat().st_uid == os.getuid() and marked(hosts.read_text("utf-8")):
                    _stop(hosts.parent, marked)
                    _remove(hosts.parent)
    for container in _containers(ask, marked):
        ask("rm", "--force", container)


def _abandoned(text: str) -> bool:
    found = _HOST.search(text)
    return found is not None and owner.host_abandoned(found[0])


def _own(text: str) -> bool:
    return owner.as_host() in text


def _builds(marked: Marked) -> Iterator[int]:
    """Processes of such builds that go on without us."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = file.read_bytes().split(b"\0")
            if b"--add-host" in words and marked(" ".join(map(os.fsdecode, words))):
                yield int(file.parent.name)


def _stop(folder: Path, marked: Marked) -> None:
    """End the step whose folder it is: it outlives a build that was killed."""
    with contextlib.suppress(OSError, ValueError):
        pid = int((folder / "pid").read_text("ascii"))
        # Another process may have the number by now.
        if marked(Path(f"/proc/{pid}/root/etc/hosts").read_text("utf-8")):
            os.kill(pid, signal.SIGKILL)


def _end(pid: int) -> None:
    """End a build, which cleans up after itself where it is given the time."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.kill(pid, number)
        until = time.monotonic() + _GRACE
        while _lives(pid) and time.monotonic() < until:
            time.sleep(0.05)


def _lives(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def _containers(ask: Ask, marked: Marked) -> Iterator[str]:
    try:
        listed = json.loads(ask("ps", "--all", "--external", "--format", "json") or "[]")
        store = json.loads(ask("info", "--format", "json") or "{}")["store"]
        root = Path(store["graphRoot"]) / f"{store['graphDriverName']}-containers"
        names = [str(entry["Id"]) for entry in listed]
    except (ValueError, KeyError, TypeError):
        return
    for name in names:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = json.loads((root / name / "userdata/buildah.json").read_bytes())
            if marked(" ".join(kept["CommonBuildOpts"]["AddHost"])):
                yield name


def _remove(folder: Path) -> None:
    """A folder of temporary files, unless something is still mounted in it."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    if f" {folder}/" not in mounts:
        shutil.rmtree(folder, ignore_errors=True)
