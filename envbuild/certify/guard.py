"""One run at a time on one GPU, and whether somebody else works there.

The lock is a file named after the GPU's uuid in a folder that every user of the machine can write:
`/run/lock` or `/tmp`, whichever all may write and nobody may empty. Names there can be planted, so
nothing is followed, written or trusted: what is locked must be a plain file that still has the
name. It is only ever opened for reading; so one user's lock holds off another's, root's too. The
kernel frees it when its process ends, however it ends.
"""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from envbuild.certify.seen import Seen
from envbuild.errors import MachineError
from envbuild.values.host import Usage

# Suites that a program beside them would slow; being right is not a question of time.
TIMED = frozenset({"fast"})
# A whole run of all suites takes less; whoever holds it longer is stuck.
WAIT = 300.0  # seconds
_BUSY = 10  # percent; an idle desktop stays below
_FULL = 0.25  # share of the memory; a desktop's own stays below
_CAME = 256  # MiB more than before the run: somebody began meanwhile


def needed(seen: Seen) -> tuple[str, ...]:
    """Names of the GPUs that the run works on: the chosen one, with suite `multi` all of them."""
    gpus = seen.gpus if "multi" in seen.asked else ()
    chosen = (seen.choice.gpu,) if seen.choice.gpu else ()
    names = (gpu.uuid or gpu.pci_bus or "gpu" for gpu in (*gpus, *chosen))
    return tuple(sorted(set(names)))


@contextlib.contextmanager
def held(
    gpus: tuple[str, ...],
    wait: float = WAIT,
    say: Callable[[str], None] = lambda _: None,
    folder: Path | None = None,
) -> Iterator[None]:
    """Be the only envbuild on these GPUs.

    Args:
        gpus: their names, in the same order for everybody.
        wait: seconds to wait for all of them together.
        say: gets a line if there is something to wait for.
        folder: where the locks are, None = this machine's place for them.

    Raises:
        MachineError: another run holds one of them for longer than that, or no lock can be made.
    """
    ends = time.monotonic() + wait
    with contextlib.ExitStack() as locks:
        for gpu in gpus if os.name == "posix" else ():
            path = (folder or place()) / f"envbuild-{_plain(gpu)}.lock"
            locks.callback(os.close, _lock(path, gpu, ends, say))
        yield


def place() -> Path:
    """The first folder that all can write, and where nobody removes what is another's."""
    for path in (Path("/run/lock"), Path("/tmp")):  # noqa: S108 (nothing in it is trusted)
        with contextlib.suppress(OSError):
            about = path.lstat()
            shared = stat.S_ISVTX | stat.S_IWOTH
            if stat.S_ISDIR(about.st_mode) and about.st_mode & shared == shared:
                return path
    what = "no folder here is shared by all users: neither /run/lock nor /tmp"
    raise MachineError(what, fix="chmod 1777 /tmp")


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-." else "_" for c in name)


def _lock(path: Path, gpu: str, ends: float, say: Callable[[str], None]) -> int:
    """The descriptor that holds the lock."""
    import fcntl

    said = False
    while True:
        handle = _open(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its name may have been taken away, or given to another file, since it was opened.
            if _same(path, handle):
                return handle
        except BlockingIOError:
            if not said:
                say(f"waiting   another run works on {gpu}")
                said = True
        os.close(handle)
        if time.monotonic() > ends:
            what = f"another run works on {gpu}"
            raise MachineError(what, why=f"{path} is locked", fix="wait for it, or end it")
        time.sleep(0.1)


def _open(path: Path) -> int:
    """Open the file for reading, made if missing; nothing but a plain file is taken."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            # Not with O_CREAT: in a folder for all, the kernel then refuses another user's file.
            handle = os.open(path, flags)
        except FileNotFoundError:
            handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o444)
            os.fchmod(handle, 0o444)
    except FileExistsError:
        return _open(path)  # another run was faster
    except OSError as e:
        why = "it is a link" if e.errno == errno.ELOOP else e.strerror
        what = f"{path} cannot be locked: {why}"
        raise MachineError(what, fix=f"remove {path}") from e
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        what = f"{path} cannot be locked: it is no plain file"
        raise MachineError(what, fix=f"remove {path}")
    return handle


def _same(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except OSError:
        return False


def others(usage: tuple[Usage, ...], gpu: str | None) -> str:
    """Who else works on the GPU, in words; empty = nobody that can be seen.

    Before the run nothing on the GPU is ours; after it, only what was there before should be.

    >>> others((Usage(uuid="GPU-1", when="before", busy=97),), "GPU-1")
    'the GPU was 97 % busy before the run began'
    """
    of_gpu = {one.when: one for one in usage if gpu in {None, one.uuid}}
    before, after = of_gpu.get("before", Usage()), of_gpu.get("after", Usage())
    if (before.busy or 0) >= _BUSY:
        return f"the GPU was {before.busy} % busy before the run began"
    used, total = before.used_mib or 0, before.total_mib or 0
    if total and used > _FULL * total:
        return f"others held {used} of the GPU's {total} MiB before the run began"
    if after.used_mib is not None and before.used_mib is not None and after.used_mib > used + _CAME:
        return f"others took {after.used_mib - used} MiB of the GPU during the run"
    return ""
