"""Where probes look: a root folder, an environment, a way to run commands. Nothing is written."""

import contextlib
import os
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TypeVar

from envbuild.errors import EnvbuildError
from envbuild.host.mounts import Mounts
from envbuild.io.proc import Completed
from envbuild.values.host import Probe

T = TypeVar("T")
Found = tuple[T, tuple[Probe, ...]]
Runner = Callable[[Sequence[str], Mapping[str, str], float], Completed]

SECONDS = 2.0
"""How long one probe may wait for others; ``ENVBUILD_PROBE_TIMEOUT`` (seconds) overrides."""
_CONTROL = re.compile(r"[^\n\t\x20-\x7e]")
_KNOCK = 0.25  # seconds that a mount gets even of a probe whose time is over
TEXT = 1 << 20
"""Most bytes that are read of any file or command; nothing a probe wants is longer."""


@dataclass(frozen=True)
class Look:
    """What a probe may use.

    Attributes:
        root: the file system that is looked at.
        environ: environment variables as the user has them.
        system: ``Linux``, ``Windows``, ... as `platform.system` says.
        runner: runs a command with an environment and a time limit in seconds.
        until: when this probe's time is over, by `time.monotonic`; None = each command has its own.
        mounts: which file systems of this machine answer.
        late: what did not answer in time, in words.
    """

    root: Path
    environ: Mapping[str, str]
    system: str
    runner: Runner
    until: float | None = None
    mounts: Mounts = field(default_factory=Mounts, compare=False, repr=False)
    late: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def real(self) -> bool:
        """The root is this machine's own, so what Python itself knows applies."""
        return self.root == Path("/")

    def probing(self) -> "Look":
        """The same for one probe, whose time runs from now on."""
        return replace(self, until=time.monotonic() + seconds(self.environ), late=[])

    @property
    def left(self) -> float:
        """Seconds that the next command may take."""
        limit = seconds(self.environ)
        return limit if self.until is None else min(limit, self.until - time.monotonic())

    def path(self, path: str) -> Path:
        """The place of an absolute path below the root."""
        if self.system == "Windows" and self.real:
            return Path(path)
        return self.root / path.lstrip("/")

    def reachable(self, path: str) -> bool:
        """Whether the path can be looked at without waiting for a server that is gone."""
        return not self.real or self.mounts.answer(path, max(self.left / 2, _KNOCK))

    def exists(self, path: str) -> bool:
        """Whether there is something at the path."""
        try:
            return self.reachable(path) and self.path(path).exists()
        except (OSError, ValueError):
            return False

    def data(self, path: str, limit: int = TEXT) -> bytes | None:
        """The first ``limit`` bytes of a file, None if it cannot be read."""
        with contextlib.suppress(OSError, ValueError):
            place = self.path(path)
            # A FIFO or a device in a file's place would block for ever.
            if self.reachable(path) and place.is_file():
                with place.open("rb") as f:
                    return f.read(limit)
        return None

    def text(self, path: str) -> str | None:
        """The file as text without control characters, None if it cannot be read."""
        data = self.data(path)
        return None if data is None else clean(data.decode("utf-8", "replace"))

    def names(self, folder: str) -> tuple[str, ...]:
        """Sorted names in a folder; empty if it cannot be read."""
        try:
            if self.reachable(folder):
                return tuple(sorted(p.name for p in self.path(folder).iterdir()))
        except (OSError, ValueError):
            pass
        return ()

    def folders(self) -> tuple[str, ...]:
        """The absolute folders of PATH, each once, in order; a relative one is a trap."""
        windows = self.system == "Windows"
        parts = self.environ.get("PATH", "").split(";" if windows else ":")
        kind = PureWindowsPath if windows else PurePosixPath
        return tuple(dict.fromkeys(part for part in parts if kind(part).is_absolute()))

    def find(self, name: str, *more: str) -> tuple[str, ...]:
        """Programs of that name on PATH and at the paths ``more``, each real file once."""
        places = [f"{folder.rstrip('/')}/{name}" for folder in self.folders()]
        found: dict[str, str] = {}
        for place in [*places, *more]:
            with contextlib.suppress(OSError, ValueError):
                file = self.path(place)
                if self.reachable(place) and file.is_file() and os.access(file, os.X_OK):
                    found.setdefault(os.path.realpath(file), place)
        return tuple(found.values())

    def run(self, *argv: str, **env: str) -> Completed:
        """Run a program found by `find`, in English; never raises, output is cleaned."""
        limit = self.left
        if limit <= 0:
            return self._said(Completed(argv, 124, "", "", True, 0.0))
        kept = {k: v for k, v in self.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
        kept |= {"LC_ALL": "C", "LANG": "C"} | env
        # A folder that does not answer would hold up the program's own loader.
        kept |= {n: self._answering(kept[n]) for n in ("PATH", "LD_LIBRARY_PATH") if n in kept}
        try:
            done = self.runner(argv, kept, limit)
        except EnvbuildError as e:
            return Completed(argv, 127, "", clean(e.what), False, 0.0)
        return self._said(done._replace(out=clean(done.out[:TEXT]), err=clean(done.err[:TEXT])))

    def _answering(self, folders: str) -> str:
        if self.system == "Windows":
            return folders
        return ":".join(f for f in folders.split(":") if not f.startswith("/") or self.reachable(f))

    def _said(self, done: Completed) -> Completed:
        if done.timed_out:
            self.late.append(f"{done.argv[0]}: {says(done)}")
        return done


def here(environ: Mapping[str, str] | None = None) -> Look:
    """This machine."""
    return Look(
        Path("/"), os.environ if environ is None else environ, platform.system(), run_limited
    )


def run_limited(argv: Sequence[str], env: Mapping[str, str], limit: float) -> Completed:
    """Run within ``limit`` seconds, group kill included.

    Raises:
        MachineError: the program cannot be started.
    """
    from envbuild.io.proc import run

    grace = 0.1
    # A tenth is left for a busy machine, on which ending a group takes longer, too.
    timeout = max(0.9 * limit - 2 * grace, 0.05)
    return run(argv, timeout=timeout, env=env, limit=TEXT, grace=grace)


def run_nothing(argv: Sequence[str], env: Mapping[str, str], limit: float) -> Completed:  # noqa: ARG001
    """The runner of a foreign root: its programs are not ours to run."""
    return Completed(
        tuple(argv), 127, "", "not run: the root folder is not this machine's", False, 0
    )


def seconds(environ: Mapping[str, str]) -> float:
    """The time limit of one probe, or of one command outside of a probe."""
    try:
        return min(max(float(environ.get("ENVBUILD_PROBE_TIMEOUT", "")), 0.5), 300.0)
    except ValueError:
        return SECONDS


def clean(text: str) -> str:
    """Foreign text as data: without control characters, except newline and tab."""
    if text.isascii():
        return _CONTROL.sub("", text)
    return "".join(c for c in text if c in "\n\t" or c.isprintable())


def says(done: Completed) -> str:
    """In one line, why a command gave no answer."""
    if done.timed_out:
        return "no answer in time; ENVBUILD_PROBE_TIMEOUT=20 waits 20 seconds"
    lines = [line.strip() for line in (done.err + "\n" + done.out).splitlines() if line.strip()]
    return lines[0][:300] if lines else f"exit code {done.rc}"


def version_in(text: str, before: str = "") -> str | None:
    """The first ``1.2`` or ``1.2.3...`` in the text, after the pattern ``before``."""
    match = re.search(before + r"(\d{1,6}(?:\.\d{1,8}){1,4})", text, re.ASCII)
    return match[1] if match else None
