"""What a wheel of the compiler holds: ptxas, nvcc and the headers of the host compiler."""

import platform
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from envbuild.matrix.vendor import headers, ptxas
from envbuild.matrix.vendor.model import Reader
from envbuild.matrix.vendor.wheel import opened
from envbuild.values.codec import Value

#: The programs are run: they must be of this machine's architecture.
ARCH = "aarch64" if platform.machine() == "aarch64" else "x86_64"
_FIRST_ALL = 13  # from this major on, wheel names carry no -cuN and the headers are apart


class CompilerFacts(Value):
    """What one wheel says; None or empty where it has no such file.

    Attributes:
        version: of the wheel.
        root: folder that holds its ``bin`` or ``include``, ``nvidia/cu13``.
        targets, ptx: what its ptxas assembles.
        nvcc: plain targets that its nvcc lists; empty = no nvcc.
        gcc_max, clang_max: newest host compilers.
        bare, glibc: functions declared bare, and glibc versions asked for; None = no header.
    """

    version: str
    root: str = ""
    targets: tuple[str, ...] = ()
    ptx: str | None = None
    nvcc: tuple[str, ...] = ()
    gcc_max: int | None = None
    clang_max: int | None = None
    bare: tuple[str, ...] | None = None
    glibc: tuple[str, ...] = ()


def read(wheel: Path) -> CompilerFacts:
    """The facts of an nvcc or crt wheel.

    Raises:
        Unreadable: no zip file, or a program in it does not run here.
    """
    with opened(wheel) as archive:
        return _facts(archive, wheel.name.split("-")[1])


def _facts(archive: zipfile.ZipFile, version: str) -> CompilerFacts:
    names = archive.namelist()
    assembler = member(names, "bin/ptxas")
    nvcc = member(names, "bin/nvcc")
    config = member(names, "include/crt/host_config.h")
    functions = member(names, "include/crt/math_functions.h")
    can = ptxas.in_zip(archive, assembler) if assembler else ptxas.Assembler((), "")
    most = headers.ceilings(_text(archive, config)) if config else headers.Ceilings(None, None)
    declared = _text(archive, functions) if functions else None
    return CompilerFacts(
        version=version,
        root=_root(assembler or config or ""),
        targets=can.targets,
        ptx=can.ptx or None,
        nvcc=ptxas.listed(archive, nvcc) if nvcc else (),
        gcc_max=most.gcc,
        clang_max=most.clang,
        bare=None if declared is None else headers.bare(declared),
        glibc=() if declared is None else headers.prerequisites(declared),
    )


def member(names: Sequence[str], end: str) -> str | None:
    """The member whose path ends so."""
    return next((name for name in names if name.endswith(f"/{end}")), None)


def _root(path: str) -> str:
    parts = PurePosixPath(path).parts
    top = next((i for i, part in enumerate(parts) if part in {"bin", "include"}), 0)
    return "/".join(parts[:top])


def _text(archive: zipfile.ZipFile, name: str) -> str:
    return archive.read(name).decode("utf-8", "replace")


COMPILER = Reader("compiler-2", CompilerFacts, read)


def projects(major: int) -> tuple[str, ...]:
    """The projects that hold ptxas and the headers of a CUDA major; the first one has ptxas."""
    if major >= _FIRST_ALL:
        return "nvidia-cuda-nvcc", "nvidia-cuda-crt"
    return (f"nvidia-cuda-nvcc-cu{major}",)


def majors(known: Sequence[str]) -> list[int]:
    """One CUDA major for each set of `projects` that these toolkits (``12.9``) belong to."""
    return sorted({min(int(cuda.partition(".")[0]), _FIRST_ALL) for cuda in known})
