"""Files that are never half-written, and folders that only one of us writes at a time."""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from envbuild.errors import InputError, MachineError

#: Bytes; nothing that is read whole is longer.
LARGEST = 64 << 20


def write(path: str | os.PathLike[str], data: bytes, *, executable: bool = False) -> None:
    """Write a whole file or nothing: a temporary name beside it, fsync, rename.

    Raises:
        InputError: the name is a folder's, or ``-``: who can write to standard output does it.
        MachineError: the disk is full or the folder cannot be written.
    """
    target = Path(path)
    name = None
    if str(target) == "-":
        what = "- is standard output, and this is written to a file alone"
        raise InputError(what, fix="name a file (./- if it has to be that one)")
    try:
        if target.is_dir():
            what = f"{target} is a folder, and one file is to be written"
            raise InputError(what, fix=f"name a file in it: {target / 'NAME'}")
        # A device or a pipe (/dev/null, /dev/stdout) is written to; a rename would replace it.
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        # mkstemp makes 0600; give what an ordinary open would.
        Path(name).chmod((0o777 if executable else 0o666) & ~_umask())
        Path(name).replace(target)
    except OSError as e:
        if name:
            with contextlib.suppress(OSError):
                Path(name).unlink()
        what = f"{target} cannot be written: {e.strerror or e}"
        raise MachineError(what, fix="free some space, or choose another place") from e


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def read(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """The bytes of a file the user named; ``-`` is standard input.

    Args:
        path: the file, which may be a device or a pipe without end.
        most: bytes; a longer file is refused.

    Raises:
        InputError: it is not there, cannot be read, or is too long.
    """
    import sys

    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with Path(path).open("rb") as f:
                data = f.read(most + 1)
    except OSError as e:
        what = f"{path} cannot be read: {e.strerror or e}"
        raise InputError(what, fix="check the path") from e
    if len(data) > most:
        what = f"{path} is too long: at most {most} bytes are read"
        raise InputError(what, fix="check the path; keep what is asked for, and nothing else")
    return data


@contextlib.contextmanager
def locked(
    path: str | os.PathLike[str],
    timeout: float = 600.0,
    waiting: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Hold an exclusive lock on ``path`` (made if missing); freed even when we are killed.

    Args:
        path: the file of the lock.
        timeout: seconds to wait for another process.
        waiting: called once if there is something to wait for.

    Raises:
        MachineError: another process holds it for longer than ``timeout`` seconds.
    """
    target = Path(path)
    start = time.monotonic()
    said = False
    while True:
        with _opened(target) as handle:
            while not _try_lock(handle.fileno()):
                if time.monotonic() > start + timeout:
                    what = f"another envbuild works in {target.parent}"
                    raise MachineError(what, fix="wait for it, or end it")
                if not said:
                    waiting()
                    said = True
                time.sleep(0.1)
            # Who held it before may have removed the file: then this is the lock of nothing.
            if _is(handle, target):
                yield
                return


def _opened(target: Path) -> IO[bytes]:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.open("a+b")
    except OSError as e:
        what = f"{target} cannot be opened: {e.strerror or e}"
        raise MachineError(what, fix="choose a folder that can be written") from e


def _is(handle: IO[bytes], target: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), target.stat())
    except OSError:
        return False


if os.name == "nt":
    import msvcrt

    def _try_lock(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
else:

    def _try_lock(fd: int) -> bool:
        import fcntl

        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
