"""A private toolkit folder from locked wheels: whole or not there, and the same bytes again.

Layout: ``site`` (the wheels, importable), ``bin`` (their scripts), ``cuda`` (the toolkit as
compilers and build systems expect it: ``bin include lib lib64``).
"""

import contextlib
import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from envbuild.engines import nvrtc, wheels
from envbuild.errors import MachineError
from envbuild.io import files
from envbuild.io.net import Net
from envbuild.values.codec import Pairs
from envbuild.values.lock import Part, Wheel

# PATH splits at a colon, and nvcc hands the path of its own folder to a shell.
_UNFIT = re.compile(r"""[:;&|<>()$`"'*?\\\n\r]""")
_LAYOUT = "1"  # part of every name: raise it when the same wheels are to be laid out anew
_FLOOR_MIB = 2048  # wheels and their contents, where the plan does not say its size
_VERSIONED = re.compile(r"(lib[^/]+?\.so)\.[\d.]+")


def key(locked: tuple[Wheel, ...] | tuple[Part, ...]) -> str:
    """Name of the prefix that these wheels or archives make."""
    parts = [_LAYOUT, *sorted(one.sha256 for one in locked)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


def make(
    locked: tuple[Wheel, ...],
    root: Path,
    net: Net,
    say: Callable[[str], None],
    *,
    size_mib: int | None = None,
    indexes: Pairs | None = None,
) -> Path:
    """Fetch, check and unpack the wheels into ``root/KEY``; the caller holds the lock of ``root``.

    ``size_mib`` is the room it takes, ``indexes`` the address of each index but pip's own, by name.
    Wheels that were fetched stay in ``root/wheels``, so that a run that was cut short goes on.

    Raises:
        InputError: a wheel is not for this machine.
        StaleError: a wheel does not have its locked hash, or is refused.
        MachineError: no room, no network, no right to write.
    """
    wheels.check_fit(locked)
    final, new = root / key(locked), root / f".new-{key(locked)}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        sweep(root)
        check_room(root, size_mib or _FLOOR_MIB)
        paths = wheels.fetch(locked, root / "wheels", net, say, indexes or Pairs())
        say(f"unpack    {len(paths)} wheels into {final}")
        for path in paths:
            wheels.unpack(path, new)
        link_toolkit(new)
        shutil.rmtree(final, ignore_errors=True)
        new.replace(final)
    except OSError as e:
        what = f"the prefix cannot be written: {e.strerror or e}"
        raise MachineError(what, fix="free some space; what was fetched is kept") from e
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return final


def check_place(root: Path) -> None:
    """A toolkit can work below this folder.

    Raises:
        MachineError: its path holds what PATH or nvcc's shell would read as something else.
    """
    if found := _UNFIT.search(str(root)):
        what = f"no toolkit can work in {str(root)!r}"
        why = f"its path holds {found[0]!r}, which PATH and nvcc's shell read as something else"
        raise MachineError(what, why=why, fix="work in another folder")


def check_room(root: Path, need_mib: int) -> None:
    """There is as much free space as the prefix needs.

    Raises:
        MachineError: there is not.
    """
    free = shutil.disk_usage(root).free >> 20
    if free < need_mib:
        what = f"{root} has {free} MiB free, the prefix needs {need_mib} MiB"
        raise MachineError(what, fix="free some space, or work in a folder on another disk")


def sweep(root: Path) -> None:
    """Remove what a killed run left; nobody else works here while we hold the lock."""
    for path in (*root.glob(".new-*"), *root.glob("*/.fetch-*"), *root.glob("*/.unpack-*")):
        shutil.rmtree(path, ignore_errors=True)


def link_toolkit(prefix: Path) -> None:
    """Make ``cuda`` out of the wheels' folders, and the names that linkers look for."""
    vendor, cuda = prefix / "site" / "nvidia", prefix / "cuda"
    whole = sorted(p for p in vendor.glob("cu[0-9]*") if p.is_dir())
    if whole:
        cuda.symlink_to(whole[-1].relative_to(prefix))
    else:  # wheels up to 12.x: a folder for each component
        for component in sorted(p for p in vendor.glob("*") if p.is_dir()):
            _merge(component, cuda, "../" + component.relative_to(prefix).as_posix())
    lib = cuda / "lib"
    if lib.is_dir():
        with contextlib.suppress(FileExistsError):
            (cuda / "lib64").symlink_to("lib")
        for path in sorted(lib.iterdir()):
            versioned = _VERSIONED.fullmatch(path.name)
            if versioned:
                with contextlib.suppress(FileExistsError):
                    (lib / versioned[1]).symlink_to(path.name)
        if any(lib.glob("libnvrtc.so*")) and not (cuda / "bin" / "nvcc").exists():
            script = b"#!/usr/bin/env python3\n" + Path(nvrtc.__file__).read_bytes()
            files.write(prefix / "bin" / "nvrtc", script, executable=True)


def _merge(source: Path, target: Path, up: str) -> None:
    """Mirror the folders of ``source`` in ``target``, each file a relative link (``up`` leads)."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(source.iterdir()):
        if entry.is_dir():
            _merge(entry, target / entry.name, f"../{up}/{entry.name}")
        elif entry.suffix != ".py":
            with contextlib.suppress(FileExistsError):
                (target / entry.name).symlink_to(f"{up}/{entry.name}")
