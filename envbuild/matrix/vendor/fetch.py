"""Vendor files, one at a time: fetched with pip, checked by hash, read, removed.

What a reader found in a file is kept in the work folder under the file's sha256. A run that was
killed takes up there: no file is fetched twice for the same reader.
"""

import contextlib
import errno
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from packaging.utils import parse_wheel_filename

from envbuild.engines.wheels import sha256
from envbuild.errors import InputError, MachineError
from envbuild.io import files, pip, proc
from envbuild.io.net import Net
from envbuild.matrix.vendor.archive import Archive
from envbuild.matrix.vendor.model import Part, Unreachable, VendorFile
from envbuild.values.codec import Value, dump, load

_TRIES = 3
_TIMEOUT = 3600.0  # seconds a file; pip gives up much sooner on a dead connection


class Store:
    """The facts of files, read once.

    Args:
        work: folder of the results; made if missing.
        net: index and CA.
        archive: gives what is no wheel.
        say: takes a line for each file that is fetched.
    """

    def __init__(
        self, work: Path, net: Net, archive: Archive, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._work = work
        self._net = net
        self._say = say
        self._archive = archive
        self._failed: dict[str, str] = {}

    @property
    def failed(self) -> tuple[str, ...]:
        """Files that the index lists and that did not come whole, with the reason."""
        return tuple(f"{file}: {why}" for file, why in self._failed.items())

    def kept(self, part: Part) -> Value | None:
        """The facts of a part if an earlier run read them."""
        path = self._path(part)
        if not path.is_file():
            return None
        try:
            return load(part.reader.kind, path.read_bytes(), str(path))
        except InputError:
            return None  # cut, or of another version of this reader

    def keep(self, part: Part, facts: Value) -> None:
        """Keep the facts of a part for the next run.

        Raises:
            MachineError: the disk is full, or the work folder cannot be written.
        """
        files.write(self._path(part), dump(facts))

    @contextlib.contextmanager
    def fetched(self, file: VendorFile) -> Iterator[Path]:
        """The file on disk, right by its hash, for as long as the block lasts.

        Raises:
            Unreachable: it did not come whole after three tries; the text names it.
            MachineError: the disk is full, or nothing may be fetched.
        """
        if file.file in self._failed:
            what = f"{file.file}: {self._failed[file.file]}"
            raise Unreachable(what)
        if self._net.offline:
            what = f"{file.file} was not read before, and --offline fetches nothing"
            raise Unreachable(what)
        try:
            self._work.mkdir(parents=True, exist_ok=True)
            for old in self._work.glob(".fetch-*"):  # of a run that was killed
                shutil.rmtree(old, ignore_errors=True)
            folder = Path(tempfile.mkdtemp(prefix=".fetch-", dir=self._work))
        except OSError as e:
            what = f"{self._work} cannot be used: {e.strerror or e}"
            raise MachineError(what, fix="name another folder with --work") from e
        try:
            self._say(f"fetch     {file.file}")
            yield self._download(file, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _download(self, file: VendorFile, folder: Path) -> Path:
        why = ""
        for _ in range(_TRIES):
            if file.suite:
                path, why = self._from_archive(file, folder)
            else:
                path, why = _pip(file, folder, self._net)
            if path is not None:
                return path
        self._failed[file.file] = why
        what = f"{file.file}: {why}"
        raise Unreachable(what)

    def _from_archive(self, file: VendorFile, folder: Path) -> tuple[Path | None, str]:
        why = self._archive.fetch(file, folder)
        if "No space left" in why:
            raise _full(file, OSError(errno.ENOSPC, "no space left"))
        # apt writes an epoch's colon as %3a: the name is apt's own.
        path = next(folder.glob("*.deb"), None)
        if path is None or sha256(path) == file.sha256:
            return path, why
        path.unlink()
        return None, "came with another hash than the archive lists"

    def _path(self, part: Part) -> Path:
        return self._work / f"{part.file.sha256}.{part.reader.name}.json"


def _pip(file: VendorFile, folder: Path, net: Net) -> tuple[Path | None, str]:
    """One try: the path, or why it did not come."""
    requirements = folder / "requirements.txt"
    line = f"{file.project}=={file.version} --hash=sha256:{file.sha256}\n"
    try:
        requirements.write_text(line, encoding="utf-8")
    except OSError as e:
        raise _full(file, e) from e
    argv = [*pip.command(), "download", "--quiet", "--no-deps", "--no-cache-dir"]
    argv += ["--only-binary=:all:", "--require-hashes", "--ignore-requires-python"]
    argv += [*_tags(file.file), "--dest", str(folder), "-r", str(requirements)]
    env = pip.environment(net) | {"TMPDIR": str(folder)}
    done = proc.run(argv, timeout=_TIMEOUT, env=env)
    path = folder / file.file
    if path.is_file():
        if sha256(path) == file.sha256:
            return path, ""
        path.unlink()
        return None, "came with another hash than the index lists"
    if "No space left" in done.err:
        raise _full(file, OSError(errno.ENOSPC, "no space left"))
    errors = [text for text in done.err.splitlines() if text.startswith("ERROR")]
    return None, errors[-1].removeprefix("ERROR: ") if errors else "pip failed"


def _full(file: VendorFile, e: OSError) -> MachineError:
    what = f"{file.file} cannot be stored: {e.strerror}"
    return MachineError(what, fix="free some space, or name another folder with --work")


def _tags(wheel: str) -> list[str]:
    """Flags with which pip takes this file, whatever machine it runs on."""
    tags = sorted(parse_wheel_filename(wheel)[3], key=str)
    python = max((tag.interpreter for tag in tags), key=len)
    flags = ["--implementation", python[:2], "--python-version", python[2:]]
    for name in dict.fromkeys(tag.abi for tag in tags):
        flags += ["--abi", name]
    for name in dict.fromkeys(tag.platform for tag in tags):
        flags += ["--platform", name]
    return flags
