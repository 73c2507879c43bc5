"""What people see: results on stdout, everything else on stderr."""

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from envbuild.errors import EnvbuildError, InputError, MachineError
from envbuild.values.finding import Step

# What no shell reads as anything else; shlex costs a plan more than its whole output.
_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+"
_CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
_quiet = False
_stand_ins: dict[str, str] = {}


def configure(*, quiet: bool, verbose: bool = False) -> None:
    """Silence notes (``-q``), or say more (``-v``); errors are always shown."""
    from envbuild.io import trace

    global _quiet  # noqa: PLW0603
    _quiet = quiet
    trace.to(_detail if verbose else None)


@contextmanager
def one_run() -> Iterator[None]:
    """What a command line says of its output, and the hosts it names, end with it."""
    try:
        yield
    finally:
        configure(quiet=False)
        hide({})


def hide(stand_ins: dict[str, str]) -> None:
    """Hosts of this network, and what progress says in their place; errors and results name them.

    A log is kept and sent around; who reads an error must know which host it is about.
    """
    _stand_ins.clear()
    _stand_ins.update(stand_ins)


def _veiled(text: str) -> str:
    import re

    for host, word in _stand_ins.items():
        text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w.-])", word, text)
    return clean(text)


def open_streams() -> None:
    """Give each closed stream /dev/null, and let no character of ours end a command.

    A descriptor left closed would be taken by the next file that is opened. Standard output gets
    one that cannot be written, so that a result which nobody can have is an error.
    """
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            _to_nowhere(fd, os.O_RDONLY if name == "stdout" else os.O_RDWR)
            setattr(sys, name, open(fd, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        elif mode == "w" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _to_nowhere(fd: int, mode: int = os.O_RDWR) -> None:
    nowhere = os.open(os.devnull, mode)
    if nowhere != fd:
        os.dup2(nowhere, fd)
        os.close(nowhere)


def put(text: str | bytes, stream: TextIO) -> None:
    """Write all of it now; a reader that went away (``| head``) ends neither work nor exit code.

    Raises:
        MachineError: standard output is closed, or the disk behind it is full.
    """
    try:
        if isinstance(text, bytes):
            stream.flush()
            stream.buffer.write(text)
            stream.buffer.flush()
        else:
            stream.write(text)
            stream.flush()
    except OSError as e:
        _to_nowhere(stream.fileno())
        if stream is sys.stdout and e.errno not in {errno.EPIPE, errno.EINVAL}:  # Windows: EINVAL
            closed = e.errno == errno.EBADF
            says = "standard output is closed" if closed else e.strerror
            what = f"the output cannot be written: {says}"
            raise MachineError(what, fix="free some space, or send it elsewhere") from e


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    """The text in a colour, if ``stream`` is a terminal and NO_COLOR is not set."""
    stream = stream or sys.stdout
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def clean(text: str) -> str:
    """Foreign text without what could move a terminal's cursor, and without logins of addresses."""
    if "://" in text:
        from envbuild.io.net import without_login

        text = without_login(text)
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)


def line(text: str) -> str:
    """Foreign text as one clean line: nothing in it can pass for a line of ours."""
    return clean(text.replace("\n", "?"))


def command(argv: Sequence[str]) -> str:
    """The arguments as one line that a shell reads as the same arguments."""
    if all(word and word.isascii() and word.strip(_PLAIN) == "" for word in argv):
        return " ".join(argv)
    import shlex

    return shlex.join(argv)


def result(text: str) -> None:
    """A result, on stdout."""
    put(f"{text}\n", sys.stdout)


def step(one: Step) -> None:
    """A step of a dry run: the command as a shell reads it, with its reason as a comment."""
    result(f"# {clean(one.why)}")
    result(clean(command(one.argv) if one.argv else f"# {one.text}"))


def steps(all_: Sequence[Step], *, as_json: bool) -> None:
    """The steps of a dry run: for people to copy, or as a list; never with a login."""
    if as_json:
        from envbuild.io.net import without_login
        from envbuild.values.codec import replace

        json([replace(one, argv=tuple(map(without_login, one.argv))) for one in all_])
        return
    for one in all_:
        step(one)


def write(path: str, data: bytes) -> None:
    """What ``-o`` names; ``-`` is standard output, which then holds nothing else.

    Raises:
        InputError: the name is a folder's.
        MachineError: it cannot be written.
    """
    if path == "-":
        put(data, sys.stdout)
        return
    from envbuild.io import files

    files.write(path, data)


def one_output(path: str, *, as_json: bool) -> None:
    """Refuse two results for one standard output.

    Raises:
        InputError: ``-o -`` stands beside ``--json``.
    """
    if path == "-" and as_json:
        what = "-o - and --json would both be written to standard output"
        raise InputError(what, fix="leave one of them out, or give -o a file")


def json(value: object) -> None:
    """A value as JSON, on stdout; what could move a terminal's cursor is written as an escape."""
    from envbuild.values.codec import dump

    text = dump(value).decode("utf-8", "replace")
    if not all(line.isprintable() for line in text.split("\n")):
        from json import dumps

        text = "".join(c if c == "\n" or c.isprintable() else dumps(c)[1:-1] for c in text)
    put(text.encode(), sys.stdout)


def note(text: str) -> None:
    """Progress or a remark, on stderr; silent with ``-q``."""
    if not _quiet:
        put(f"{_veiled(text)}\n", sys.stderr)


def _detail(text: str) -> None:
    put(paint(_veiled(f"  {text}"), "dim", sys.stderr) + "\n", sys.stderr)


def warn(text: str) -> None:
    """A warning, on stderr."""
    put(paint("warning ", "yellow", sys.stderr) + f"{clean(text)}\n", sys.stderr)


def error(e: EnvbuildError) -> None:
    """An error: what, why, what to do."""
    put(paint("error ", "red", sys.stderr) + f"{clean(str(e))}\n", sys.stderr)
