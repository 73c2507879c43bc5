"""Looks for secrets in everything that a run left: plain, in base64, and inside what is packed."""

import base64
import gzip
import os
import subprocess
import tarfile
import threading
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

_ZSTD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"


def spellings(secret: bytes) -> set[bytes]:
    """A text of plain characters and its base64 at each of the three places in a group of four."""
    found = {secret}
    for before, cut in ((0, 0), (1, 2), (2, 3)):
        text = base64.b64encode(b"\0" * before + secret)
        found.add(text[cut : len(text) - (4 if (before + len(secret)) % 3 else 0)])
    return found


class Search:
    """Finds marks in folders.

    Args:
        marks: what is looked for, by its name; of what a URL must escape, only what it keeps.
        room: folder for what is unpacked.
    """

    def __init__(self, marks: Mapping[str, bytes], room: Path) -> None:
        self._names = {s: name for name, mark in marks.items() for s in spellings(mark)}
        self._room, self._seen = room, set[tuple[int, bytes]]()
        room.mkdir(parents=True)
        self._patterns = room.with_suffix(".patterns")
        self._patterns.write_bytes(b"\n".join(self._names) + b"\n")

    def text(self, text: bytes) -> set[str]:
        """Names of the marks in a text."""
        return {name for mark, name in self._names.items() if mark in text}

    def folder(self, *places: Path) -> dict[str, set[str]]:
        """Names of the marks in each file below the places, and in its path: file to names."""
        found: dict[str, set[str]] = {}
        for place in places:
            self._grep(place, found)
            for path in (path for path in place.rglob("*") if path.is_file()):
                if not path.is_symlink():
                    self._unpack(path)
            for path in place.rglob("*"):
                if names := self.text(os.fsencode(path.relative_to(place))):
                    found.setdefault(str(path), set()).update(names)
        self._grep(self._room, found)
        return found

    def _grep(self, place: Path, found: dict[str, set[str]]) -> None:
        argv = ["grep", "-raoFZ", "-D", "skip", "-f", str(self._patterns), str(place)]
        done = subprocess.run(argv, capture_output=True, check=False)
        assert done.returncode in {0, 1}, done.stderr
        for line in done.stdout.splitlines():
            path, _, mark = line.partition(b"\0")
            found.setdefault(os.fsdecode(path), set()).add(self._names[mark])

    def _unpack(self, path: Path) -> None:
        """Unpack a file, and what is packed in it, once each."""
        with path.open("rb") as f:
            start = f.read(1 << 16)
        key = (path.stat().st_size, start)
        if key in self._seen or len(start) < 4:
            return
        self._seen.add(key)
        new = self._room / f"{len(self._seen)}-{path.name[-40:]}"
        if start.startswith(_GZIP):
            with path.open("rb") as packed, new.open("wb") as f:
                try:
                    while data := gzip.GzipFile(fileobj=packed).read():
                        f.write(data)
                except (OSError, EOFError, zlib.error):
                    return
        elif start.startswith(_ZSTD):
            with new.open("wb") as f:
                subprocess.run(["zstd", "-dcq", str(path)], stdout=f, check=True)
        elif start[257:262] == b"ustar" and not path.is_relative_to(self._room):
            with tarfile.open(path) as tar:
                for member in tar:
                    # What is in a layer's own tar stands in it as it is.
                    if member.isfile() and (data_file := tar.extractfile(member)):
                        inner = self._room / f"{len(self._seen)}-{Path(member.name).name[-40:]}"
                        inner.write_bytes(data_file.read())
                        self._unpack(inner)
            return
        else:
            return
        self._unpack(new)


class Watch:
    """Looks at the arguments of every process on this machine, again and again, until its end."""

    def __init__(self, search: Search) -> None:
        self.found: set[str] = set()
        self._search, self._over = search, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

        self._thread.start()

    def end(self) -> set[str]:
        """Stop looking; the marks that were seen."""
        self._over.set()
        self._thread.join()
        return self.found

    def _look(self) -> None:
        own, known = str(os.getpid()), set[bytes]()
        while not self._over.wait(0.02):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    argv = (process / "cmdline").read_bytes()
                except OSError:
                    continue
                if process.name != own and argv not in known:
                    known.add(argv)
                    self.found |= self._search.text(argv)


def said(processes: Iterable["subprocess.CompletedProcess[str]"]) -> bytes:
    """All that processes printed."""
    return "\n".join(one.stdout + one.stderr for one in processes).encode()
