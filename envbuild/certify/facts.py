"""What the observations say of the image itself; pure reading, no verdicts."""

import json
import re
from pathlib import PurePosixPath
from typing import NamedTuple

from envbuild.certify.probes import DRIVER_LIBRARIES
from envbuild.certify.seen import Event, Ran, Seen, events
from envbuild.errors import InputError
from envbuild.values.codec import Pairs

# Loaded into every program, or by the driver into every one that uses it.
_FIRST = ("LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH")
_PAIR = re.compile(r"envbuild_pair host (\w+) (\d+) (\d+) cuda (\d+) (\d+) (\d+) end")
_PROGRAM = re.compile(r"envbuild_program runtime (\d+) end")
_LISTED = re.compile(r"\bsm_(\d+[af]?)\b")
_LDCONFIG = re.compile(r"^\s*(\S+) \(.*\) => (\S+)$", re.MULTILINE)


class Pair(NamedTuple):
    """The compilers that nvcc pairs: host compiler and its version, nvcc's version."""

    host: str
    major: int
    minor: int
    cuda: str


def pair(ran: Ran | None) -> Pair | None:
    """The pair that the preprocessor of nvcc names; None = it did not come that far."""
    match = _PAIR.search(pair_line(ran.out) or "") if ran else None
    if match is None:
        return None
    host, major, minor, *cuda = match.groups()
    return Pair(host, int(major), int(minor), ".".join(cuda))


def pair_line(text: str) -> str | None:
    """The line of `kernels/pair.cu` in the preprocessor's output; two that differ are none."""
    lines = {match[0] for match in _PAIR.finditer(text)}
    return lines.pop() if len(lines) == 1 else None


def program_runtime(ran: Ran | None) -> str | None:
    """``13.0`` of a program that was built and started inside."""
    match = _PROGRAM.search(ran.out) if ran and ran.ok else None
    return version(int(match[1])) if match else None


def version(number: int) -> str:
    """CUDA's own spelling of a version: 13020 is 13.2."""
    return f"{number // 1000}.{number % 1000 // 10}"


def which(ran: Ran | None) -> dict[str, str]:
    """Name to path of the programs that were found on the image's PATH."""
    lines = (line.split(" ", 1) for line in (ran.out if ran else "").splitlines())
    return {words[0]: words[1] for words in lines if len(words) == 2}


def tool(seen: Seen, name: str) -> str | None:
    """Path of a debugger, profiler or sanitizer: on the image's PATH, else in its toolkit."""
    on_path = which(seen.step("which"))
    return on_path.get(name) or which(seen.step("which-toolkit")).get(name)


def compiler(seen: Seen) -> str:
    """What compiles device code inside: ``nvcc``, ``nvrtc`` or nothing.

    A prefix says which it is; further back on its PATH stands what the machine has.
    """
    found = which(seen.step("which"))
    said = seen.image.labels.get("envbuild.compiler")
    return next((name for name in (said, "nvcc", "nvrtc") if name and name in found), "")


def toolkit(seen: Seen) -> str | None:
    """Version of the toolkit inside: of its nvcc, else the one it promises with NVRTC."""
    if compiler(seen) == "nvrtc":
        return seen.terms.cuda
    now = pair(seen.step("pair")) or pair(seen.step("pair-anyway"))
    return now.cuda if now else None


def listed(ran: Ran | None) -> tuple[str, ...] | None:
    """Targets in cuobjdump's list of ELF files; None = there is no such list."""
    if ran is None or not ran.ok:
        return None
    return tuple(dict.fromkeys(_LISTED.findall(ran.out)))


def loads(ran: Ran | None) -> dict[str, Event] | None:
    """Library name to what loading it gave; None = the probe did not run or was garbled."""
    if ran is None or not ran.ok:
        return None
    try:
        found = [e for e in events(ran.out) if e.event == "load"]
    except InputError:
        return None
    named = {e.name: e for e in found}
    # A library that is loaded can print, too: two answers for one name are none.
    return named if len(named) == len(found) else None


# As glibc says it, and musl, whose loader stands under glibc's name in some images.
_ABSENT = (
    "{}: cannot open shared object file: No such file or directory",
    "Error loading shared library {}: No such file or directory",
)


def there(load: Event) -> bool:
    """Something has the library's name, be it cut, empty (a left-over mount point) or whole."""
    return not load.error.startswith(tuple(text.format(load.name) for text in _ABSENT))


def _cached(seen: Seen, names: set[str]) -> tuple[str, ...]:
    """Paths in the loader's cache of libraries with these names."""
    ran = seen.step("ldconfig")
    found = _LDCONFIG.findall(ran.out if ran else "")
    return tuple(dict.fromkeys(path for name, path in found if name in names))


def _absent_drivers(seen: Seen) -> set[str]:
    """Driver libraries that the loader was asked for and did not find."""
    loaded = loads(seen.step("loads")) or {}
    return {name for name in DRIVER_LIBRARIES if name in loaded and not there(loaded[name])}


def stale(seen: Seen) -> tuple[str, ...]:
    """Paths of driver libraries that the loader's cache names and the loader did not find."""
    return _cached(seen, _absent_drivers(seen))


class Packages(NamedTuple):
    """Python packages (name to version), torch's version and CUDA, the folder of their cuBLAS."""

    python: str | None
    versions: dict[str, str]
    torch: str | None
    torch_cuda: str | None
    error: str
    cublas: str | None = None


def packages(ran: Ran | None) -> Packages:
    """What `kernels/packages.py` printed; empty where there is no Python."""
    nothing = Packages(None, {}, None, None, "")
    if ran is None or not ran.ok:
        return nothing
    try:
        answer = json.loads(ran.out)
        torch = answer["torch"] or {}
        return Packages(
            str(answer["python"]),
            {str(name): str(value) for name, value in answer["packages"].items()},
            torch.get("version"),
            torch.get("cuda"),
            str(answer["error"]),
            answer.get("cublas"),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return nothing._replace(error="the list of packages cannot be read")


def apt(ran: Ran | None) -> dict[str, str] | None:
    """Package to version as dpkg lists them; None = no dpkg."""
    if ran is None or not ran.ok:
        return None
    pairs = (line.split("=", 1) for line in ran.out.splitlines() if "=" in line)
    return {name.split(":")[0]: text for name, text in pairs}


def baked(seen: Seen) -> tuple[str, ...]:
    """Paths of driver libraries that the loader takes from the image itself, without a GPU.

    A cache written while a driver was mounted still names it in an image made of that container:
    what is not there either when it is asked for by its path is none. What is there is one, though
    the loader did not take it here: it may for another user, word size or processor. The local
    engine has no image: there only what lies in the prefix counts.
    """
    loaded = loads(seen.step("loads")) or {}
    absent, drivers = _absent_drivers(seen), {*DRIVER_LIBRARIES}
    paths = [load.path or name for name, load in loaded.items() if name in drivers - absent]
    paths += _cached(seen, drivers - absent)
    if looked := seen.step("loads-cached"):
        by_path = loads(looked) or {}
        paths += [path for path in stale(seen) if path not in by_path or there(by_path[path])]
    if seen.subject.kind == "prefix":
        prefix = PurePosixPath(seen.subject.name)
        paths = [path for path in paths if prefix in PurePosixPath(path).parents]
    return tuple(dict.fromkeys(paths))


def injected(seen: Seen) -> str:
    """What the image puts into every program, so that it can answer in its place; empty = nothing.

    The local engine has no image: what is loaded first there is this machine's own affair.
    """
    if seen.subject.kind == "prefix":
        return ""
    found = [f"{name}={seen.image.env.get(name)}" for name in _FIRST if seen.image.env.get(name)]
    listed = seen.step("preload")
    if listed and listed.ok and listed.out.strip():
        found.append(f"/etc/ld.so.preload with {listed.out.split()[0]}")
    return ", ".join(found)[:200]


def other_versions(
    wanted: Pairs, have: dict[str, str], *, missing: bool, local: bool = False
) -> tuple[str, ...]:
    """Locked packages that the image has in another version (or, if ``missing``, lacks).

    With ``local`` a wheel's local version (``+cu126``) may be left out of the lock; in Debian's
    versions a plus is like any other character.
    """
    found = []
    for name, text in wanted:
        now = have.get(name)
        if now is None and missing:
            found.append(f"{name} {text} is missing")
        elif now is not None and text not in {now, now.split("+")[0] if local else now}:
            found.append(f"{name} {now}, locked {text}")
    return tuple(found)
