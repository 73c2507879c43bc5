"""Run a process: argv only, a time limit, and its whole group ended when it is over."""

import contextlib
import os
import select
import shlex
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO, NamedTuple

from envbuild.errors import MachineError
from envbuild.io import trace

_LINES = 10_000


class Completed(NamedTuple):
    """How a process ended; ``rc`` is negative for a signal, text is decoded with replacement."""

    argv: tuple[str, ...]
    rc: int
    out: str
    err: str
    timed_out: bool
    seconds: float


_GONE = 3.0  # seconds


def kill_group(process: "subprocess.Popen[bytes]", grace: float = 3.0) -> None:
    """End a process and all it started: TERM, then KILL after ``grace`` seconds."""
    if os.name == "nt":
        process.kill()
        return
    # A killed one is gone in a moment, which is longer where much else runs.
    for sig, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, max(grace, _GONE))):
        # KILL also when the leader obeyed TERM: what it started may not have.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sig)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)


def _wait(process: "subprocess.Popen[bytes]", timeout: float) -> None:
    """Wait for the end; where the kernel can tell it, without `Popen.wait`'s naps of 50 ms.

    Raises:
        subprocess.TimeoutExpired: it still runs after ``timeout`` seconds.
    """
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(process.pid)
            try:
                select.select([handle], [], [], timeout)
            finally:
                os.close(handle)
            timeout = 0.01
    process.wait(timeout)


class _Kept:
    """The start and the end of a stream, at most ``limit`` bytes together, read in a thread.

    A program that prints without end must cost time only, never memory.
    """

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._half = limit // 2
        self._start = bytearray()
        self._end = bytearray()
        self._cut = False
        self._stream = stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._stream:
            while chunk := os.read(self._stream.fileno(), 1 << 16):
                room = self._half - len(self._start)
                self._start += chunk[:room]
                self._end += chunk[room:]
                if len(self._end) > 2 * self._half:
                    self._cut = True
                    del self._end[: -self._half]

    def over(self, end: float) -> bool:
        """Whether the stream was closed by its writers before ``end`` (monotonic seconds)."""
        self._thread.join(max(0.0, end - time.monotonic()))
        return not self._thread.is_alive()

    def text(self) -> str:
        """What was kept, decoded with replacement."""
        end = bytes(self._end)
        if self._cut or len(end) > self._half:
            end = b"\n[... cut ...]\n" + end[-self._half :]
        return (bytes(self._start) + end).decode("utf-8", "replace")


def _feed(process: "subprocess.Popen[bytes]", data: bytes) -> None:
    """Write the input from a thread, so that a program that does not read cannot hold us up."""

    def write() -> None:
        # The program may end, or close its input, before it has read everything.
        with contextlib.suppress(OSError, ValueError):
            if process.stdin:
                with process.stdin:
                    process.stdin.write(data)

    threading.Thread(target=write, daemon=True).start()


def _begin(
    begun: "list[subprocess.Popen[bytes]]",
    argv: list[str],
    env: dict[str, str] | None,
    cwd: str | os.PathLike[str] | None,
) -> None:
    """Start it in a thread: an interrupt meanwhile would leave a program that nobody knows."""
    faults: list[Exception] = []

    def begin() -> None:
        pipe, group = subprocess.PIPE, os.name != "nt"
        try:
            begun.append(
                subprocess.Popen(
                    argv,
                    stdin=pipe,
                    stdout=pipe,
                    stderr=pipe,
                    env=env,
                    cwd=cwd,
                    start_new_session=group,
                )
            )
        except (OSError, ValueError) as e:
            faults.append(e)

    thread = threading.Thread(target=begin)
    try:
        thread.start()
        thread.join()
    except KeyboardInterrupt:
        if thread.ident is not None:
            thread.join()
        raise
    if faults:
        raise faults[0]


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    cwd: str | os.PathLike[str] | None = None,
    limit: int = 16 << 20,
    grace: float = 3.0,
) -> Completed:
    """Run ``argv`` and collect its output, at most ``limit`` bytes a stream.

    Args:
        argv: the command; never a shell string.
        timeout: seconds until the whole group is ended.
        env: the full environment, or None to inherit.
        stdin: bytes to feed.
        cwd: working directory.
        limit: bytes kept of each stream; the middle is dropped, the process reads on.
        grace: seconds between TERM and KILL when the time is over.

    Raises:
        MachineError: the program cannot be started.
    """
    start = time.monotonic()
    trace.say(f"$ {shlex.join(argv)}")
    begun: list[subprocess.Popen[bytes]] = []
    timed_out = False
    try:
        _begin(begun, list(argv), None if env is None else dict(env), cwd)
        process = begun[0]
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        streams = (_Kept(process.stdout, limit), _Kept(process.stderr, limit))
        _feed(process, stdin)
        try:
            # The start itself may take a while where much else runs.
            _wait(process, max(0.0, start + timeout - time.monotonic()))
        except subprocess.TimeoutExpired:
            timed_out = True
            kill_group(process, grace)
        # What it left behind may hold our pipes; the program itself is over.
        if not all(s.over(time.monotonic() + 1.0) for s in streams):
            kill_group(process, 0.1)
            for s in streams:
                s.over(time.monotonic() + 0.5)
    except BaseException as e:
        for one in begun:
            kill_group(one, grace)
        if begun or not isinstance(e, OSError | ValueError):
            raise
        what = f"{argv[0]} cannot be started: {e}"
        raise MachineError(what, fix=f"install {argv[0]}, or check that it can be run") from e
    return Completed(
        tuple(argv),
        # A process stuck in the kernel outlives its KILL; it is not waited for.
        -9 if process.returncode is None else process.returncode,
        streams[0].text(),
        streams[1].text(),
        timed_out,
        time.monotonic() - start,
    )


def stream(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    line: Callable[[str], None] | None = None,
) -> Completed:
    """Run ``argv`` with its output going straight to our stderr; its whole group ends with us.

    Args:
        argv: the command.
        env: the full environment, or None to inherit.
        cwd: working directory.
        line: gets each line of combined output instead of stderr; the last lines are kept.

    Raises:
        MachineError: the program cannot be started.
    """
    start = time.monotonic()
    trace.say(f"$ {shlex.join(argv)}")
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if line else 2,
            stderr=subprocess.STDOUT if line else None,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=os.name != "nt",
        )
    except (OSError, ValueError) as e:
        what = f"{argv[0]} cannot be started: {e}"
        raise MachineError(what, fix=f"install {argv[0]}, or check that it can be run") from e
    kept: deque[str] = deque(maxlen=_LINES)
    try:
        if line and process.stdout:
            for raw in process.stdout:
                text = raw.decode("utf-8", "replace").rstrip("\r\n")
                kept.append(text)
                line(text)
        process.wait()
    except BaseException:
        kill_group(process)
        raise
    finally:
        if process.stdout:
            process.stdout.close()
    out = "\n".join(kept)
    return Completed(tuple(argv), process.returncode, out, "", False, time.monotonic() - start)
