"""CUDA toolkits and host compilers of this machine, as they speak for themselves."""

import contextlib
import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from envbuild.errors import InputError, MachineError
from envbuild.io import proc
from envbuild.values.plan import Plan

# What decides about compiled code. The other libraries are the user's business, and gigabytes.
_COMPILER = re.compile(
    r"(version\.json$)|(targets/[^/]+/)?((bin|nvvm|include)/"
    r"|lib(64)?/lib(cudart|cudadevrt|nvrtc)[^/]*$)"
)


class Toolkit(NamedTuple):
    """A toolkit folder: ``cuda`` is ``13.0``, targets without ``sm_``, newest gcc it takes."""

    root: Path
    cuda: str
    targets: tuple[str, ...]
    gcc_max: int | None


class HostCompiler(NamedTuple):
    """A C++ compiler: its path and major version."""

    path: str
    major: int


def is_compiler_part(path: str) -> bool:
    """Whether a file of a toolkit (path relative to it) takes part in compiling."""
    return _COMPILER.match(path) is not None


def folders() -> list[Path]:
    """Where a toolkit may be, in order of preference: CUDA_HOME, nvcc on PATH, /usr/local."""
    named = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    found = [Path(name) for name in named if name]
    on_path = _home_of_nvcc()
    if on_path:
        found.append(on_path)
    found.append(Path("/usr/local/cuda"))
    found += sorted(Path("/usr/local").glob("cuda-*"), reverse=True)
    unique = dict.fromkeys(path.resolve() for path in found if path.is_absolute())
    return [path for path in unique if (path / "bin" / "nvcc").is_file()]


def _home_of_nvcc() -> Path | None:
    """The folder that the nvcc on PATH works from; it may be a script that calls another."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return None
    with contextlib.suppress(MachineError):
        said = proc.run([nvcc, "--dryrun", "-x", "cu", "-c", os.devnull], timeout=30).err
        here = re.search(r"^#\$ _HERE_=(.+)$", said, re.MULTILINE)
        return Path(here[1]).parent if here else None
    return None


def read(root: Path) -> Toolkit | None:
    """What the toolkit says of itself; None where it cannot say it, or has not all of its parts."""
    if _host_config(root) is None:
        return None
    nvcc = str(root / "bin" / "nvcc")
    try:
        version = proc.run([nvcc, "--version"], timeout=30)
        codes = proc.run([nvcc, "--list-gpu-code"], timeout=30)
    except MachineError:
        return None
    release = re.search(r"release (\d+\.\d+)", version.out)
    if release is None or codes.rc:
        return None
    targets = tuple(re.findall(r"^sm_(\w+)$", codes.out, re.MULTILINE))
    return Toolkit(root, release[1], targets, gcc_ceiling(root))


def gcc_ceiling(root: Path) -> int | None:
    """The newest gcc that the toolkit's own header lets through; None where it sets no limit."""
    header = _host_config(root)
    text = header.read_text(encoding="utf-8") if header else ""
    limit = re.search(r"#if __GNUC__ > (\d+)", text)
    return int(limit[1]) if limit else None


def _host_config(root: Path) -> Path | None:
    places = ("include", "targets/*/include")
    return next((p for at in places for p in root.glob(f"{at}/crt/host_config.h")), None)


def misfit(toolkit: Toolkit, plan: Plan) -> str | None:
    """Why the toolkit cannot stand in for the planned one; None if it can.

    An older toolkit than the planned one runs wherever the planned one runs; a newer one may need
    a newer driver.
    """
    missing = [f"sm_{t}" for t in plan.promise if t not in toolkit.targets]
    if missing:
        return f"it does not compile {', '.join(missing)}"
    if plan.cuda is None:
        return "the plan names no toolkit"
    if numbers(toolkit.cuda) > numbers(plan.cuda)[:2]:
        return f"it is newer than the planned {plan.cuda}"
    wanted = plan.request.cuda
    if wanted and not in_range(toolkit.cuda, wanted):
        return f"it is not in the range asked for ({wanted})"
    if host_compiler(toolkit.gcc_max) is None:
        return f"no g++ that it takes is here (up to {toolkit.gcc_max})"
    return None


def in_range(cuda: str, wanted: str) -> bool:
    """Whether a toolkit minor (``13.0``) meets a request's range; a bare version is a prefix.

    Of a bare version the patch release is not looked at: ``12.9`` meets ``12.9.1``.

    Raises:
        InputError: the range cannot be read.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if wanted[:1].isdigit():
        parts = numbers(wanted)[:2]
        return numbers(cuda)[: len(parts)] == parts
    try:
        return SpecifierSet(wanted).contains(cuda)
    except InvalidSpecifier as e:
        what = f"{wanted!r} is not a range of toolkit versions"
        raise InputError(what, fix="for example 12.6, '>=12.4,<13' or 13") from e


def host_compiler(ceiling: int | None) -> HostCompiler | None:
    """The g++ to use: the one that this user set, the machine's own, else the newest that fits."""
    set_by_user = [os.environ.get(name) for name in ("NVCC_CCBIN", "CUDAHOSTCXX")]
    names = [name for name in set_by_user if name and "clang" not in name] + ["g++"]
    if ceiling is not None:
        names += [f"g++-{major}" for major in range(ceiling, 4, -1)]
    for name in names:
        path = shutil.which(name)
        major = _major(path) if path else None
        if path and major is not None and (ceiling is None or major <= ceiling):
            return HostCompiler(path, major)
    return None


def need_host_compiler(ceiling: int | None) -> HostCompiler:
    """The same, where there must be one.

    Raises:
        MachineError: none is here; the text names the package.
    """
    found = host_compiler(ceiling)
    if found:
        return found
    own = shutil.which("g++")
    major = _major(own) if own else None
    if major is not None:
        what = f"g++ {major} is newer than this toolkit takes (up to {ceiling})"
        raise MachineError(what, fix=f"as root: apt-get install g++-{ceiling}")
    what = "nvcc needs a host C++ compiler, and there is no g++"
    raise MachineError(what, fix="as root: apt-get install g++ (Fedora: dnf install gcc-c++)")


def _major(path: str) -> int | None:
    try:
        said = proc.run([path, "-dumpversion"], timeout=30)
    except MachineError:
        return None
    major = said.out.strip().split(".")[0]
    return int(major) if said.rc == 0 and major.isdigit() else None


def numbers(version: str) -> tuple[int, ...]:
    """``12.9.1`` as ``(12, 9, 1)``, to compare."""
    return tuple(int(n) for n in re.findall(r"\d+", version))
