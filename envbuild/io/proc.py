"""Run a process: argv only, a time limit, and its whole group ended when it is over."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from envbuild.errors import MachineError


class Completed(NamedTuple):
    """How a process ended; ``rc`` is negative for a signal, text is decoded with replacement."""

    argv: tuple[str, ...]
    rc: int
    out: str
    err: str
    timed_out: bool
    seconds: float


def kill_group(process: "subprocess.Popen[bytes]", grace: float = 3.0) -> None:
    """End a process and all it started: TERM, then KILL after ``grace`` seconds."""
    if os.name == "nt":
        process.kill()
        return
    for sig in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sig)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
            return


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    cwd: str | os.PathLike[str] | None = None,
    limit: int = 16 << 20,
) -> Completed:
    """Run ``argv`` and collect its output, at most ``limit`` bytes a stream.

    Args:
        argv: the command; never a shell string.
        timeout: seconds until the whole group is ended.
        env: the full environment, or None to inherit.
        stdin: bytes to feed.
        cwd: working directory.
        limit: bytes kept of each stream; the middle is dropped, the process reads on.

    Raises:
        MachineError: the program cannot be started.
    """
    start = time.monotonic()
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=os.name != "nt",
        )
    except (OSError, ValueError) as e:
        what = f"{argv[0]} cannot be started: {e}"
        raise MachineError(what, fix=f"install {argv[0]}, or check that it can be run") from e
    timed_out = False
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        kill_group(process)
        out, err = process.communicate()
    except BaseException:
        kill_group(process)
        raise
    return Completed(
        tuple(argv),
        process.returncode,
        _text(out, limit),
        _text(err, limit),
        timed_out,
        time.monotonic() - start,
    )


def _text(data: bytes, limit: int) -> str:
    if len(data) > limit:
        half = limit // 2
        data = data[:half] + b"\n[... cut ...]\n" + data[-half:]
    return data.decode("utf-8", "replace")


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
        line: gets each line of combined output instead of stderr; the text is kept either way.

    Raises:
        MachineError: the program cannot be started.
    """
    start = time.monotonic()
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
    kept: list[str] = []
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
    out = "\n".join(kept)
    return Completed(tuple(argv), process.returncode, out, "", False, time.monotonic() - start)
