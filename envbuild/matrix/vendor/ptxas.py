"""What a ptxas assembles, found by letting it try."""

import contextlib
import re
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from envbuild.errors import MachineError
from envbuild.io import proc
from envbuild.io.workspace import private_folder
from envbuild.matrix.vendor.model import Unreadable

_TIMEOUT = 60.0  # seconds a call; it takes a fraction of one
_KERNEL = ".version {ptx}\n.target sm_{target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"


class Assembler(NamedTuple):
    """A ptxas that answers: real targets it assembles, in its order, and its PTX ISA."""

    targets: tuple[str, ...]
    ptx: str


@contextlib.contextmanager
def taken(archive: zipfile.ZipFile, member: str) -> Iterator[Path]:
    """One program of a wheel, as a file that can be run while the block lasts."""
    with private_folder() as folder:
        path = folder / PurePosixPath(member).name
        with archive.open(member) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        path.chmod(stat.S_IRWXU)
        yield path


def in_zip(archive: zipfile.ZipFile, member: str) -> Assembler:
    """Measure the ptxas that is one member of a wheel.

    Raises:
        Unreadable: it cannot be run here, or answers as no ptxas does.
    """
    with taken(archive, member) as path:
        return measure(path)


def listed(archive: zipfile.ZipFile, member: str) -> tuple[str, ...]:
    """The plain real targets that the nvcc of a wheel lists.

    Raises:
        Unreadable: it cannot be run here.
    """
    with taken(archive, member) as path:
        said = _run(path, "--list-gpu-code").out
    return tuple(sorted(re.findall(r"^sm_(\d+)$", said, re.MULTILINE), key=_order))


def measure(ptxas: Path) -> Assembler:
    """Let a ptxas assemble an empty kernel for each target that its help names.

    Raises:
        Unreadable: it cannot be run here, or answers as no ptxas does.
    """
    named = re.findall(r"'sm_(\d+[af]?)'", _run(ptxas, "--help").out)
    said = assemble(ptxas, _KERNEL.format(ptx="99.0", target="75"), "75")
    isa = re.search(r"current version is '(\d+\.\d+)'", said)
    if not named or isa is None:
        what = "its ptxas names no targets or no PTX version"
        raise Unreadable(what)
    targets = tuple(
        target
        for target in sorted(dict.fromkeys(named), key=_order)
        if not assemble(ptxas, _KERNEL.format(ptx=isa[1], target=target), target)
    )
    return Assembler(targets, isa[1])


def assemble(ptxas: Path, text: str, target: str) -> str:
    """What ptxas complains of when it assembles PTX for a real target; empty = nothing.

    Raises:
        Unreadable: it cannot be run here.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".ptx", encoding="utf-8") as source:
        source.write(text)
        source.flush()
        done = _run(ptxas, f"-arch=sm_{target}", source.name, "-o", "/dev/null")
    return "" if done.rc == 0 else done.err + done.out or f"exit code {done.rc}"


def _run(path: Path, *arguments: str) -> proc.Completed:
    try:
        return proc.run([str(path), *arguments], timeout=_TIMEOUT)
    except MachineError as e:
        what = f"its {path.name} does not run on this machine: {e.what}"
        raise Unreadable(what) from e


def _order(target: str) -> tuple[int, str]:
    number = target.rstrip("af")
    return int(number), target.removeprefix(number)
