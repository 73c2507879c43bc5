"""Locked wheels: fetched once, checked by hash, unpacked without leaving the folder."""

import hashlib
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from envbuild.errors import InputError, MachineError, StaleError
from envbuild.io import pip, proc, unfetched
from envbuild.io.net import Net
from envbuild.render import quote
from envbuild.values.codec import Pairs, replace
from envbuild.values.lock import Wheel

_TRIES = 3
# What pip says of an index that answers, and does not have these bytes.
_LOST = ("No matching distribution", "DO NOT MATCH THE HASHES")
_TIMEOUT = 3600.0  # seconds a wheel; pip gives up much sooner on a dead connection


def check_fit(wheels: tuple[Wheel, ...]) -> None:
    """All wheels can be used by this Python on this machine.

    Raises:
        InputError: one cannot, or its file name is none.
    """
    from packaging.tags import sys_tags
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    here = set(sys_tags())
    for wheel in wheels:
        try:
            tags = parse_wheel_filename(wheel.file)[3]
        except InvalidWheelFilename as e:
            what = f"the lock names {wheel.file!r}, which is no wheel"
            raise InputError(what, fix="make the lock again: envbuild lock") from e
        quote.requirement(f"{wheel.name}=={wheel.version}")
        if PurePosixPath(wheel.file).name != wheel.file or here.isdisjoint(tags):
            what = f"{wheel.file} is not for this machine and Python"
            raise InputError(what, fix="make the lock on this machine: envbuild lock")


def fetch(
    wheels: tuple[Wheel, ...],
    store: Path,
    net: Net,
    say: Callable[[str], None],
    indexes: Pairs,
    *,
    python: str | None = None,
) -> list[Path]:
    """The files of the wheels in ``store``; those already there with the right hash are kept.

    Args:
        wheels: what to fetch.
        store: the folder, made if missing.
        net: index and CA.
        say: takes a line for each wheel that is fetched.
        indexes: address of each index that is not pip's default, by its name in the lock.
        python: version of the Python that they are for, None = this one on this machine.

    Raises:
        StaleError: an index serves other bytes than the lock names.
        MachineError: a wheel cannot be had.
    """
    store.mkdir(parents=True, exist_ok=True)
    paths = []
    for i, wheel in enumerate(wheels, 1):
        path = store / wheel.file
        if not (path.is_file() and sha256(path) == wheel.sha256):
            say(f"fetch     {i}/{len(wheels)} {wheel.file}")
            _download(wheel, path, _nets(wheel, net, indexes), _for(wheel, python), say)
        paths.append(path)
    return paths


def sha256(path: Path) -> str:
    """Hash of a file, in hex."""
    sha = hashlib.sha256()
    with path.open("rb") as f:
        while block := f.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()


def _for(wheel: Wheel, python: str | None) -> list[str]:
    """Flags of pip for another Python or machine, as far as the file itself asks for one."""
    if python is None:
        return []
    from packaging.utils import parse_wheel_filename

    tags = parse_wheel_filename(wheel.file)[3]
    found = ["--python-version", python, "--implementation", "cp"]
    for flag, words in (
        ("--platform", {tag.platform for tag in tags} - {"any"}),
        ("--abi", {tag.abi for tag in tags}),
    ):
        found += [part for word in sorted(words) for part in (flag, word)]
    return found


def _nets(wheel: Wheel, net: Net, indexes: Pairs) -> dict[str, Net]:
    """The indexes by their names in the lock; the one that the wheel is from comes first."""
    found = {name: replace(net, index_url=url) for name, url in indexes}
    own = found.pop(wheel.index, net)
    return {wheel.index: own} | ({} if own is net else {"the default index": net}) | found


def _download(
    wheel: Wheel,
    path: Path,
    nets: dict[str, Net],
    flags: list[str],
    say: Callable[[str], None],
) -> None:
    """From its own index; what that one lost or changed, from another that has the same bytes."""
    refusals = list[Exception]()
    for name, net in nets.items():
        if net.offline:
            what = f"{wheel.file} is not here yet, and --offline forbids to fetch it"
            raise MachineError(what, fix="run it once without --offline")
        if refusals:
            say(f"fetch     {wheel.index} does not give it: {name} is asked for the same sha256")
        said = _from(wheel, path, net, flags)
        if said is None:
            return
        refusals.append(_refusal(wheel, said))
        if not any(text in said for text in _LOST):
            break
    raise refusals[0]


def _from(wheel: Wheel, path: Path, net: Net, flags: list[str]) -> str | None:
    """Fetch a wheel of one index; what pip said where that has no such bytes, else None."""
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=path.parent) as folder:
        said = ""
        for _ in range(_TRIES):
            said = _pip_download(wheel, Path(folder), net, flags)
            files = [p for p in Path(folder).glob("*.whl") if sha256(p) == wheel.sha256]
            if files:
                files[0].replace(path)
                return None
            if "No matching distribution" in said:
                break
    return said


def _pip_download(wheel: Wheel, folder: Path, net: Net, flags: list[str]) -> str:
    requirements = folder / "requirements.txt"
    line = f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n"
    requirements.write_text(line, encoding="utf-8")
    argv = [*download_argv(str(requirements), str(folder)), *flags]
    done = proc.run(argv, timeout=_TIMEOUT, env=pip.environment(net))
    if "No space left" in done.err:
        what = f"the disk is full: {wheel.file} could not be stored"
        raise MachineError(what, fix="free some space; what was fetched is kept")
    return done.out + done.err


def download_argv(requirements: str, folder: str) -> list[str]:
    """The pip command that fetches hashed requirements and nothing else."""
    flags = ["--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--require-hashes"]
    return [*pip.command(), "download", *flags, "--dest", folder, "-r", requirements]


def _refusal(wheel: Wheel, said: str) -> Exception:
    lines = [line for line in said.splitlines() if line.strip()]
    if "DO NOT MATCH THE HASHES" in said:
        got = next((line.split()[-1] for line in lines if line.strip().startswith("Got")), "?")
        what = f"{wheel.file} does not have the hash of the lock"
        why = (
            f"sha256 {got} came, {wheel.sha256} is locked: changed at the index, or cut on the way"
        )
        return StaleError(what, why=why, fix="look at the index; then make the lock again")
    what = f"{wheel.file} cannot be fetched"
    if found := unfetched.first(said):
        sign, line = found
        return sign.kind(f"{what}: {sign.says}", why=line.removeprefix("ERROR: "), fix=sign.fix)
    error = next((line for line in reversed(lines) if line.startswith("ERROR")), "pip failed")
    fix = "check network, --index-url and --ca-cert; wheels that came are kept"
    return MachineError(what, why=error.removeprefix("ERROR: "), fix=fix)


def unpack(path: Path, prefix: Path) -> None:
    """Unpack one wheel: modules to ``site``, scripts to ``bin``, data to the prefix itself.

    Raises:
        StaleError: it is no zip file, or holds a path or link that could leave the prefix.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    _extract(archive, entry, prefix / _place(entry, path.name))
    except zipfile.BadZipFile as e:
        what = f"{path.name} is no wheel: {e}"
        raise StaleError(what, fix="remove it and run again") from e


def _place(entry: zipfile.ZipInfo, wheel: str) -> PurePosixPath:
    name = PurePosixPath(entry.filename)
    linked = stat.S_ISLNK(entry.external_attr >> 16)
    if linked or name.is_absolute() or ".." in name.parts or "\\" in entry.filename:
        what = f"{wheel} is refused: it holds {entry.filename!r}, which leads out of the prefix"
        raise StaleError(what, fix="do not use this index; tell who runs it")
    if len(name.parts) > 2 and name.parts[0].endswith(".data"):
        rest = PurePosixPath(*name.parts[2:])
        return {"scripts": "bin" / rest, "data": rest}.get(name.parts[1], "site" / rest)
    return "site" / name


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as source, target.open("wb") as f:
        shutil.copyfileobj(source, f, 1 << 20)
    executable = (entry.external_attr >> 16) & 0o111
    target.chmod(0o755 if executable else 0o644)
