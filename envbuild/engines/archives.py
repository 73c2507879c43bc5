"""A private toolkit folder from a vendor's archives: fetched once, checked by hash, whole or not.

Layout: ``cuda``, the toolkit as compilers and build systems expect it.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import requests

from envbuild.engines import names, prefix, unpack
from envbuild.engines.wheels import sha256
from envbuild.errors import InputError, MachineError, StaleError
from envbuild.io import http
from envbuild.io.net import Net
from envbuild.render import archive, quote
from envbuild.values.finding import Step
from envbuild.values.lock import Lock, Part
from envbuild.values.plan import Plan

_TRIES = 3
_ROOM = 6  # how many times its archives' bytes a toolkit needs: they, and what is in them


def make(plan: Plan, lock: Lock, root: Path, net: Net, say: Callable[[str], None]) -> Path:
    """Fetch, check and unpack the archives into ``root/KEY``; the caller holds ``root``'s lock.

    Archives that were fetched stay in ``root/archives``, so that a run that was cut short goes on.

    Raises:
        InputError: they are not for this machine, or the plan does not say where they are.
        StaleError: one does not have its locked hash, or is refused.
        MachineError: no room, no network, no right to write, or no program for what was packed.
    """
    if lock.platform != names.platform_here() or plan.layout.archive is None:
        what = f"the lock is for {lock.platform}, and this machine is {names.platform_here()}"
        raise InputError(what, fix="make the lock on this machine: envbuild lock")
    if any(part.path.endswith(".conda") for part in lock.parts) and shutil.which("zstd") is None:
        what = "conda packages are unpacked by the program zstd, which is not here"
        raise MachineError(what, fix="install the package zstd")
    url = archive.mirrored(archive.address(plan.layout.archive), net.toolkit_mirror)
    final = root / prefix.key(lock.parts)
    try:
        store = root / "archives"
        store.mkdir(parents=True, exist_ok=True)
        prefix.sweep(root)
        prefix.check_room(root, _ROOM * sum(part.size or 0 for part in lock.parts) >> 20)
        paths = fetch(lock.parts, url, store, net, say)
        say(f"unpack    {len(paths)} archives into {final}")
        shutil.rmtree(final, ignore_errors=True)
        hashes = [part.sha256 for part in lock.parts]
        unpack.unpack(zip(paths, hashes, strict=True), final / "cuda")
    except unpack.Refused as e:
        shutil.rmtree(final, ignore_errors=True)
        what = f"an archive is refused: {e}"
        raise StaleError(what, fix="take another mirror, and tell who runs this one") from e
    except OSError as e:
        shutil.rmtree(final, ignore_errors=True)
        what = f"the prefix cannot be written: {e.strerror or e}"
        raise MachineError(what, fix="free some space; what was fetched is kept") from e
    return final


def steps(lock: Lock, root: Path) -> tuple[Step, ...]:
    """What `make` does; nothing is done."""
    folder = root / prefix.key(lock.parts)
    return (
        Step(
            why="fetch the locked archives (those that are there with their hash are kept)",
            text=f"download into {root / 'archives'}: " + ", ".join(p.path for p in lock.parts),
            check="the sha256 of each file is the lock's",
        ),
        Step(
            why="make a private toolkit folder of them",
            text=f"unpack them into {folder / 'cuda'}, laid over each other, and link lib64",
            check=f"{folder}/cuda/bin/nvcc --version",
        ),
    )


def fetch(
    parts: tuple[Part, ...], url: str, store: Path, net: Net, say: Callable[[str], None]
) -> list[Path]:
    """The files of the parts in ``store``; those already there with the right hash are kept.

    Args:
        parts: what to fetch.
        url: what their paths are relative to, here.
        store: the folder.
        net: CA.
        say: takes a line for each file that is fetched.

    Raises:
        StaleError: the source serves other bytes than the lock names.
        MachineError: a file cannot be had.
    """
    paths = []
    for i, part in enumerate(parts, 1):
        path = store / quote.path(part.path).rpartition("/")[2]
        if not (path.is_file() and sha256(path) == part.sha256):
            say(f"fetch     {i}/{len(parts)} {path.name}")
            download(f"{url}/{part.path}", path, part.sha256, net)
        paths.append(path)
    return paths


def download(url: str, path: Path, wanted: str, net: Net) -> None:
    """One file, whole and with its hash, or none.

    Raises:
        StaleError: the source serves other bytes.
        MachineError: it cannot be had.
    """
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=path.parent) as folder:
        new, got = Path(folder) / path.name, ""
        for turn in range(_TRIES):
            try:
                response = http.get(url, net, stream=True)
                with new.open("wb") as f:
                    for piece in http.pieces(response):
                        f.write(piece)
            except requests.RequestException as e:
                if turn == _TRIES - 1:
                    what = f"{path.name} broke off each time it was fetched"
                    raise MachineError(what, fix="run it again: files that came are kept") from e
                continue
            if (got := sha256(new)) == wanted:
                new.replace(path)
                return
    what = f"{path.name} does not have the hash of the lock"
    why = f"sha256 {got} came, {wanted} is locked: changed at the source, or cut on the way"
    raise StaleError(what, why=why, fix="look at the source; then make the lock again")
