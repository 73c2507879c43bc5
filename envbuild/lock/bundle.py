"""Keep what a lock names: base, packages, wheels and archives in one folder, each by its hash."""

import hashlib
import posixpath
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

from envbuild.engines import archives, bundled, wheels
from envbuild.engines.base import Engine
from envbuild.errors import InputError, MachineError
from envbuild.io import files, oci, ocilayout
from envbuild.io.net import Net
from envbuild.lock.apt import DebFile, files_of
from envbuild.lock.text import dump_lock
from envbuild.render import archive, quote
from envbuild.values.codec import digest, dump
from envbuild.values.lock import Kept, Lock, LockBundle, LockedBase
from envbuild.values.plan import Plan

_HELD = ".held"
_PARTS = (bundled.BASE, bundled.DEBS, bundled.WHEELS, bundled.TOOLKIT)


def bundle(
    plan: Plan,
    lock: Lock,
    net: Net,
    engine: Engine | None,
    folder: Path,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> LockBundle:
    """Fetch what is not there yet; a run that was cut short goes on, other bytes are replaced.

    Args:
        plan: what the lock is of.
        lock: names every file by its hash.
        net: mirrors, CA.
        engine: asks apt in the base where the packages are.
        folder: where all goes; its manifest is written last.
        say: gets a line for each file that is fetched.

    Raises:
        InputError: its toolkit comes from a signed repository, which is not kept; or the folder
            holds other files.
        StaleError: a source serves other bytes than the lock names.
        MachineError: a source does not answer, or there is no room.
    """
    if lock.key is not None:
        what = "packages of the vendor's repository are not kept in a bundle"
        why = "apt checks the repository's own signed index, which names every release"
        raise InputError(what, why=why, fix="--toolkit-source redist gives the same toolkit")
    _ours(folder)
    try:
        # Two runs at once would write into each other's files.
        with files.locked(folder / _HELD, waiting=lambda: say(f"waiting   for {folder}")):
            _sweep(folder)
            found = _fetched(plan, lock, net, engine, folder=folder, say=say)
            files.write(folder / bundled.LOCK, dump_lock(lock))
            made = LockBundle(
                lock=digest(lock),
                platform=lock.platform,
                files=tuple(
                    Kept(
                        path=path.relative_to(folder).as_posix(),
                        sha256=wheels.sha256(path),
                        size=path.stat().st_size,
                    )
                    for path in sorted({*found, folder / bundled.LOCK})
                ),
            )
            files.write(folder / bundled.MANIFEST, dump(made))
    except OSError as e:
        what = f"{folder} cannot be written: {e.strerror or e}"
        raise MachineError(what, fix="free some space, run it again: what came is kept") from e
    return made


def _ours(folder: Path) -> None:
    """Bundles are swept of what killed runs left: never do that among somebody's own files.

    Raises:
        InputError: the folder holds something, and no run of ours began there.
    """
    known = {bundled.MANIFEST, bundled.LOCK, _HELD, *_PARTS}
    try:
        inside = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    except OSError as e:
        what = f"{folder} cannot be read: {e.strerror or e}"
        raise MachineError(what, fix="check its rights, or name another folder") from e
    if inside - known and not inside & {bundled.MANIFEST, _HELD}:
        what = f"{folder} holds {min(inside - known)}, and is no bundle"
        raise InputError(what, fix="name a new or empty folder, or an earlier bundle")


def _sweep(folder: Path) -> None:
    """Remove what a killed run left half-written; nobody else works here."""
    for part in _PARTS:
        for path in [*(folder / part).rglob(".fetch-*"), *(folder / part).rglob(".*.part")]:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _fetched(
    plan: Plan,
    lock: Lock,
    net: Net,
    engine: Engine | None,
    *,
    folder: Path,
    say: Callable[[str], None],
) -> list[Path]:
    """What the lock names, one kind after the other."""
    bases = [one for one in dict.fromkeys((lock.base, lock.runtime)) if one]
    found = _bases(bases, net, folder / bundled.BASE, say)
    if lock.apt:
        found += _debs(files_of(plan, lock, net, engine), folder / bundled.DEBS, net, say)
    if lock.wheels:
        store = folder / bundled.WHEELS
        found += wheels.fetch(lock.wheels, store, net, say, lock.index_urls, python=lock.python)
    return found + _parts(plan, lock, net, folder / bundled.TOOLKIT, say)


def _bases(
    bases: Iterable[LockedBase], net: Net, layout: Path, say: Callable[[str], None]
) -> list[Path]:
    """The images as an OCI layout, each under its own reference."""
    named = []
    for base in bases:
        manifest = oci.resolve(f"{base.ref}@{base.digest}", base.platform, net)
        named.append((base.ref, manifest))
    return ocilayout.write(layout, named, net, say) if named else []


def _debs(
    listed: Iterable[DebFile], folder: Path, net: Net, say: Callable[[str], None]
) -> list[Path]:
    """The packages, and the index by which apt finds them here."""
    folder.mkdir(parents=True, exist_ok=True)
    found, stanzas = [], []
    for package, url, stanza in listed:
        version = quote.version(package.version).replace(":", ".")
        name = f"{quote.package(package.name)}_{version}_{quote.package(package.arch)}.deb"
        path = folder / name
        if not (path.is_file() and wheels.sha256(path) == package.sha256):
            say(f"fetch     {name}")
            archives.download(url, path, package.sha256, net)
        found.append(path)
        kept = [line for line in stanza.splitlines() if not line.startswith("Filename: ")]
        stanzas.append("\n".join([*kept, f"Filename: ./{name}"]) + "\n")
    index = "\n".join(stanzas).encode()
    files.write(folder / "Packages", index)
    # apt takes no list without one; it is trusted as this folder is, by the bundle's hashes.
    release = f"SHA256:\n {hashlib.sha256(index).hexdigest()} {len(index)} Packages\n"
    files.write(folder / "Release", release.encode())
    return [*found, folder / "Packages", folder / "Release"]


def _parts(
    plan: Plan, lock: Lock, net: Net, folder: Path, say: Callable[[str], None]
) -> list[Path]:
    """The toolkit's archives, under the paths that they have at their source."""
    where = plan.layout.archive
    if where is None:
        return []
    address = archive.address(where)
    url = archive.mirrored(address, net.toolkit_mirror)
    found: list[Path] = []
    for part in lock.parts:
        inside = posixpath.dirname(f"{urlsplit(address).path.strip('/')}/{quote.path(part.path)}")
        store = folder / inside
        store.mkdir(parents=True, exist_ok=True)
        found += archives.fetch((part,), url, store, net, say)
    return found
