"""Host compilers and CUDA toolkits, with versions."""

import json
import os
import re
from pathlib import Path

from envbuild.host.look import Look, version_in
from envbuild.values.host import Tool

_COMPILER = re.compile(r"(gcc|g\+\+|clang|clang\+\+)(-\d{1,2})?")
_WINDOWS_DRIVE = re.compile(r"/mnt/[a-z]/")
_FOLDERS = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit")
_WINDOWS = "C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA"
_MOST = 40


def probe(look: Look) -> tuple[tuple[Tool, ...], tuple[Tool, ...]]:
    """Every nvcc, and the toolkits."""
    nvcc = nvccs(look)
    return nvcc, toolkits(look, nvcc)


def compilers(look: Look) -> tuple[Tool, ...]:
    """The gcc, g++ and clang of PATH, plain and numbered, the first of each name."""
    windows = look.system == "Windows"
    places: dict[str, str] = {}
    for folder in look.folders():
        # WSL appends the Windows folders: thousands of files behind a slow file system.
        if _WINDOWS_DRIVE.match(folder) and not windows:
            continue
        for file in look.names(folder):
            name = file.removesuffix(".exe") if windows else file
            if _COMPILER.fullmatch(name):
                for path in look.find(file)[:1]:
                    places.setdefault(name, path)
    versions: dict[str, str | None] = {}
    tools = []
    for name, path in sorted(places.items())[:_MOST]:
        # gcc and gcc-12 are one program under two names: ask once. A wrapper (ccache) is not.
        real = Path(os.path.realpath(look.path(path)))
        key = str(real) if name.partition("-")[0] in real.name else path
        if key not in versions:
            versions[key] = _version(look, name, path)
        tools.append(Tool(name=name, version=versions[key], path=path, source="PATH"))
    return tuple(tools)


def _version(look: Look, name: str, path: str) -> str | None:
    if name.startswith("clang"):
        return parse_clang(look.run(path, "--version").out)
    return parse_gcc(look.run(path, "-dumpfullversion", "-dumpversion").out)


def nvccs(look: Look) -> tuple[Tool, ...]:
    """Every nvcc on PATH, in its order, then those that only toolkit folders hold (``folder``)."""
    name = "nvcc.exe" if look.system == "Windows" else "nvcc"
    inside = [f"{folder}/bin/{name}" for folder in folders(look)]
    on_path = set(look.find(name))
    return tuple(
        Tool(
            name="nvcc",
            version=parse_nvcc(look.run(path, "--version").out),
            path=path,
            source="PATH" if path in on_path else "folder",
        )
        for path in look.find(name, *inside)[:_MOST]
    )


def toolkits(look: Look, nvcc: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """CUDA toolkits that are there: version, folder, and what told the version."""
    found: dict[str, Tool] = {}
    for folder in folders(look):
        version, source = _folder_version(look, folder)
        if version is None:
            own = next((t for t in nvcc if t.path and t.path.startswith(f"{folder}/bin/")), None)
            version, source = (own.version, "nvcc --version") if own else (None, "")
        if version is not None:
            real = os.path.realpath(look.path(folder))
            found.setdefault(real, Tool(name="cuda", version=version, path=folder, source=source))
    return (*found.values(), *conda(look))


def conda(look: Look) -> tuple[Tool, ...]:
    """The CUDA toolkit of the active conda environment, from the names of its package records."""
    prefix = look.environ.get("CONDA_PREFIX", "").rstrip("/")
    if not prefix:
        return ()
    versions = {}
    for file in look.names(f"{prefix}/conda-meta"):
        match = re.fullmatch(
            r"(cuda-toolkit|cudatoolkit|cuda-nvcc|cuda-version)-([\d.]{1,20})-.*", file
        )
        if match:
            versions[match[1]] = match[2]
    named = (versions.get(n) for n in ("cuda-toolkit", "cudatoolkit", "cuda-nvcc", "cuda-version"))
    version = next(filter(None, named), None)
    found = version and Tool(name="cuda", version=version, path=prefix, source="conda-meta")
    return (found,) if found else ()


def folders(look: Look) -> tuple[str, ...]:
    """Folders that may be a toolkit: the user's CUDA_HOME first, then numbered ones, then links."""
    own = [look.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    numbered = [
        f"/usr/local/{name}"
        for name in reversed(look.names("/usr/local"))
        if re.fullmatch(r"cuda-\d{1,2}(\.\d{1,2})?", name)
    ]
    if look.system == "Windows":
        numbered = [f"{_WINDOWS}/{name}" for name in reversed(look.names(_WINDOWS))]
    places = [p.rstrip("/") for p in own if p] + numbered + list(_FOLDERS)
    return tuple(dict.fromkeys(p for p in places if look.exists(f"{p}/bin")))


def _folder_version(look: Look, folder: str) -> tuple[str | None, str]:
    text = look.text(f"{folder}/version.json")
    if text is not None:
        return parse_version_json(text), "version.json"
    text = look.text(f"{folder}/version.txt")
    return (version_in(text, r"CUDA Version "), "version.txt") if text else (None, "")


def parse_version_json(text: str) -> str | None:
    """The release (``12.9.1``) in a toolkit's version.json."""
    try:
        version = json.loads(text)["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return version_in(version) if isinstance(version, str) else None


def parse_gcc(text: str) -> str | None:
    """The version that gcc prints alone on a line; old ones print the major only."""
    match = re.match(r"(\d{1,2}(?:\.\d{1,3}){0,2})\s*$", text, re.ASCII | re.MULTILINE)
    return match[1] if match else None


def parse_clang(text: str) -> str | None:
    """The version in the first line of ``clang --version``."""
    return version_in(text, r"clang version ")


def parse_nvcc(text: str) -> str | None:
    """The version of nvcc itself: ``Cuda compilation tools, release 13.0, V13.0.88``."""
    return version_in(text, r"release [\d.]+, V") or version_in(text, r"release ")
