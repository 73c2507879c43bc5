"""The folder ``.envbuild/``: what each stage left, and private folders that never outlive us."""

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from envbuild.errors import MachineError
from envbuild.io import files
from envbuild.values.codec import Value, dump, load

T = TypeVar("T")
_PRIVATE = "envbuild-private-"
_TRIES = 20
_BEGINS = 60.0  # seconds, more than making and holding a folder ever takes


class Stamp(Value):
    """A finished stage: digest of what it took, and of the file it left."""

    inputs: str
    output: str


class Stamps(Value):
    """All finished stages of one workspace."""

    plan: Stamp | None = None
    lock: Stamp | None = None
    context: Stamp | None = None
    image: Stamp | None = None
    certificate: Stamp | None = None


class Workspace:
    """One ``.envbuild/`` folder. Writers hold it with `held`; readers need nothing.

    Args:
        root: the folder; made on the first write.
    """

    def __init__(self, root: str | os.PathLike[str] = ".envbuild") -> None:
        self.root = Path(root)

    def path(self, name: str) -> Path:
        """Where the file or folder ``name`` of this workspace is."""
        return self.root / name

    @contextlib.contextmanager
    def held(
        self, timeout: float = 600.0, say: Callable[[str], None] = lambda _: None
    ) -> Iterator[None]:
        """Be the only writer; given up even when we are killed.

        Args:
            timeout: seconds to wait for another writer.
            say: gets a line if there is one.

        Raises:
            MachineError: another envbuild works here for longer than ``timeout`` seconds.
        """

        def waiting() -> None:
            say(f"waiting   another envbuild works in {self.root}")

        with files.locked(self.root / "lock", timeout, waiting):
            ignore = self.root / ".gitignore"
            if not ignore.exists():
                files.write(ignore, b"*\n")
            yield

    def save(self, name: str, value: object) -> Path:
        """Write a value as JSON, whole or not at all; its path."""
        path = self.path(name)
        files.write(path, dump(value))
        return path

    def load(self, kind: type[T], name: str) -> T | None:
        """The value an earlier command left, None if there is none.

        Raises:
            InputError: the file is there and is not this value.
        """
        path = self.path(name)
        return load(kind, path.read_bytes(), str(path)) if path.is_file() else None

    def fresh(self, stage: str, inputs: str, output: str) -> bool:
        """Whether a stage need not run: same inputs, and its file as it was left.

        Args:
            stage: plan, lock, context, image or certificate.
            inputs: digest of everything the stage reads.
            output: name of the file or folder the stage writes.
        """
        stamp = getattr(self._stamps(), stage)
        return stamp is not None and stamp == Stamp(inputs=inputs, output=self._digest(output))

    def stamp(self, stage: str, inputs: str, output: str) -> None:
        """Record that a stage is done; call it after its file is written."""
        from envbuild.values.codec import replace

        mark = Stamp(inputs=inputs, output=self._digest(output))
        self.save("stamps.json", replace(self._stamps(), **{stage: mark}))

    def _stamps(self) -> Stamps:
        from envbuild.errors import InputError

        try:
            return self.load(Stamps, "stamps.json") or Stamps()
        except InputError:
            # Another version's stamps: everything is stale, nothing is lost.
            return Stamps()

    def _digest(self, name: str) -> str:
        """Digest of a file, or of the names and bytes of all files in a folder."""
        path = self.path(name)
        if path.is_file():
            return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        if not path.is_dir():
            return "missing"
        whole = hashlib.sha256()
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            whole.update(file.relative_to(path).as_posix().encode() + b"\0")
            whole.update(hashlib.sha256(file.read_bytes()).digest())
        return "sha256:" + whole.hexdigest()


def here() -> Workspace:
    """The workspace of the current folder.

    Raises:
        InputError: it, or something in it, is a link that leads out of this folder: what came
            with somebody's files must not say where we write.
    """
    from envbuild.errors import InputError

    space = Workspace()
    inside = list(space.root.iterdir()) if space.root.is_dir() else []
    for path in (space.root, *inside):
        if path.is_symlink() and not _inside(path):
            what = f"{path} is a link that leads out of this folder"
            raise InputError(what, fix="remove it; for another disk, work in a folder there")
    return space


def _inside(path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(Path.cwd().resolve())
    except (OSError, RuntimeError):
        return False  # a circle


def save_folder(folder: Path, content: Mapping[str, bytes]) -> None:
    """Replace a folder by one that holds exactly these files; a cut run leaves the old one.

    Raises:
        MachineError: no space, or the folder cannot be written.
    """
    fresh = folder.with_name(f".{folder.name}.new")
    stale = folder.with_name(f".{folder.name}.old")
    try:
        for rest in (fresh, stale):
            shutil.rmtree(rest, ignore_errors=True)
        for path, data in content.items():
            files.write(fresh / path, data)
        if folder.exists():
            folder.rename(stale)
        fresh.rename(folder)
    except OSError as e:
        if stale.exists() and not folder.exists():
            stale.rename(folder)
        what = f"{folder} cannot be written: {e.strerror or e}"
        raise MachineError(what, fix="free some space, or choose another place") from e
    finally:
        for rest in (fresh, stale):
            shutil.rmtree(rest, ignore_errors=True)


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that only this user can read, removed at the end.

    A process that is killed cannot remove its own; each new call removes those that no living
    process holds.

    Raises:
        MachineError: no temporary folder can be made, or none that engines can be told of.
    """
    try:
        parent = Path(tempfile.gettempdir())
    except OSError as e:
        what = "there is no folder for temporary files that can be written"
        fix = "set TMPDIR to a folder with room"
        raise MachineError(what, why=str(e.strerror), fix=fix) from e
    if any(c in ',"\n\r' for c in str(parent)):
        what = f"the folder for temporary files is {str(parent)!r}"
        why = (
            "engines take lists of comma-separated fields: no comma, quote or newline may be in it"
        )
        raise MachineError(what, why=why, fix="set TMPDIR to another folder")
    _sweep(parent)
    with contextlib.ExitStack() as stack:
        folder = _made(parent, stack)
        try:
            yield folder
        finally:
            with contextlib.suppress(OSError):
                _remove(folder)


def _made(parent: Path, stack: contextlib.ExitStack) -> Path:
    """A new private folder, held; one that is swept before it is held is made again."""
    for _ in range(_TRIES):
        try:
            folder = Path(tempfile.mkdtemp(prefix=_PRIVATE, dir=parent))
            made = folder.stat()
        except FileNotFoundError:
            continue
        except OSError as e:
            what = f"no private folder can be made in {parent}: {e.strerror or e}"
            fix = "free some space, or set TMPDIR to a folder with room"
            raise MachineError(what, fix=fix) from e
        with contextlib.ExitStack() as held, contextlib.suppress(MachineError, OSError):
            held.enter_context(files.locked(folder / "held", 0.0))
            # A lock makes its folder where there is none: not with these rights.
            now = folder.stat()
            same = (now.st_ino, now.st_mode) == (made.st_ino, made.st_mode)
            if same and (folder / "held").is_file():
                stack.push(held.pop_all())
                return folder
    what = f"no private folder in {parent} can be held"
    raise MachineError(what, fix="free some space, or set TMPDIR to a folder with room")


def _sweep(parent: Path) -> None:
    """Remove what killed processes left; what cannot be removed now is tried again next time."""
    for folder in parent.glob(f"{_PRIVATE}*"):
        with contextlib.suppress(OSError, MachineError):
            about = folder.lstat()
            if stat.S_ISLNK(about.st_mode) or (os.name != "nt" and about.st_uid != os.getuid()):
                continue
            if (folder / "held").is_file():
                with files.locked(folder / "held", 0.0):
                    _remove(folder)
            elif abs(time.time() - about.st_mtime) > _BEGINS:
                # Its maker was killed before it was held, or while it was removed; from the
                # future it is where the clock was set back.
                _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a private folder, its lock last: a container may still be writing into it."""
    for path in [path for path in folder.iterdir() if path.name != "held"]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    if all(path.name == "held" for path in folder.iterdir()):
        (folder / "held").unlink(missing_ok=True)
        folder.rmdir()
