"""The apt closure: what apt would install on top of the base, package by package.

It is asked of the base's own release and package database: in the base through the engine, or,
where no engine can, by this machine's apt-get in a private root made from the base's files.
This machine's own apt state and settings are never read.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, TypeVar

from envbuild.engines.base import Engine
from envbuild.errors import MachineError, StaleError
from envbuild.io import files
from envbuild.io.net import Net, apt_auth, ca_bundle, logged_in, plain
from envbuild.io.proc import Completed
from envbuild.io.workspace import private_folder
from envbuild.lock import ask, repository
from envbuild.lock.archive import index, served, snapshot
from envbuild.lock.archive import sources as sources
from envbuild.render import archive, quote, templates
from envbuild.render.view import DUMMY, add_components, dummy
from envbuild.values.lock import AptPackage, Key, Lock
from envbuild.values.plan import Plan

T = TypeVar("T")
_INST = re.compile(r"^Inst (\S+) (?:\[[^]]*\] )?\((\S+) .*\[(\w+)\]\)", re.MULTILINE)
_FILE = re.compile(r"^'(\S+)' ([^_\s]+)_\S* \d+ SHA256:([0-9a-f]{64})$", re.MULTILINE)


class Closure(NamedTuple):
    """What is to be installed, where from, and what signs the vendor's part of it.

    Attributes:
        lines: ``suite component ...`` of the distribution's archive.
        key: the key of the vendor's repository, None without one.
        snapshot: the moment of the archive, where a snapshot service answered.
    """

    packages: tuple[AptPackage, ...]
    lines: tuple[str, ...]
    key: Key | None = None
    snapshot: str = ""


def closure(
    plan: Plan,
    base: str,
    platform: str,
    net: Net,
    engine: Engine | None,
    *,
    kept: Iterable[AptPackage] = (),
) -> Closure:
    """The packages that ``plan.apt`` brings along on this base, without recommendations.

    Args:
        plan: its ``apt``, and the components and placeholders of its ``layout``.
        base: the base image, pinned.
        platform: ``linux/amd64``.
        net: archive mirror, CA, network of containers.
        engine: runs apt in the base; None = the private root.
        kept: packages of an earlier lock whose versions stay; the archive must still have them.

    Raises:
        MachineError: no way to ask, or an archive does not have it.
        StaleError: the vendor's repository is not signed by the key that the plan pins.
    """
    return _ask(plan, _asked(plan, kept), Base(base, platform), net, engine, then=_resolve)


class Base(NamedTuple):
    """The base image, pinned, and its platform (``linux/amd64``)."""

    ref: str
    platform: str


class DebFile(NamedTuple):
    """A package's file: where it is today, and what the archive's index says of it."""

    package: AptPackage
    url: str
    stanza: str


def files_of(plan: Plan, made: Lock, net: Net, engine: Engine | None) -> tuple[DebFile, ...]:
    """Where each package of a lock is fetched.

    Raises:
        MachineError: no way to ask, or an archive no longer has a version.
        StaleError: an archive has other bytes for a version, or another closure.
    """
    if made.base is None:
        return ()
    base = Base(f"{made.base.ref}@{made.base.digest}", made.platform)
    found = _ask(plan, _asked(plan, made.apt), base, net, engine, then=_listed)
    wanted = {one.name: one for one in made.apt}
    for one in found:
        locked = wanted.get(one.package.name)
        if locked is None or locked.sha256 not in {"", one.package.sha256}:
            what = f"the archive's {one.package.name} {one.package.version} is not the lock's"
            raise StaleError(what, fix="make the lock again: envbuild lock --upgrade")
    if missing := sorted({*wanted} - {one.package.name for one in found}):
        what = f"the archive does not say where {missing[0]} is"
        raise MachineError(what, fix="make the lock again: envbuild lock --upgrade")
    return found


def _listed(
    question: ask.Ask, folder: Path, net: Net, vendor: repository.Repository | None
) -> tuple[DebFile, ...]:
    _suites(question, folder, net)
    said = _checked(question("files")).out
    stanzas = {}
    for text in re.split(r"\n\s*\n", said):
        fields = dict(re.findall(r"(?m)^(Package|Version|Architecture|SHA256): (\S+)", text))
        if text.lstrip().startswith("Package: "):
            stanzas[fields.get("SHA256", "")] = (fields, text.strip())
    found = []
    for url, _, sha256 in _FILE.findall(said):
        if sha256 in stanzas and not (vendor and vendor.serves(url)):
            fields, text = stanzas[sha256]
            package = AptPackage(
                name=fields["Package"],
                version=fields["Version"],
                arch=fields["Architecture"],
                sha256=sha256,
            )
            found.append(DebFile(package, logged_in(url, net.apt_mirror), text))
    return tuple(found)


def _ask(
    plan: Plan,
    packages: list[str],
    base: Base,
    net: Net,
    engine: Engine | None,
    *,
    then: Callable[[ask.Ask, Path, Net, repository.Repository | None], T],
) -> T:
    """Ask apt in the base, or in a root of its files."""
    vendor = repository.ask(plan, net)
    script = templates.fill(
        "apt-resolve.sh.j2",
        components=plan.layout.components,
        add_components=add_components(plan.layout.components),
        dummy=dummy(plan.layout.dummies),
        packages=packages,
        vendor=vendor and vendor._replace(url=plain(vendor.url)),
        key=archive.KEY,
    )
    with private_folder() as private:
        # Readable by apt's own user in a container; the folder around it is not.
        folder = private / "apt"
        folder.mkdir()
        folder.chmod(0o755)
        (folder / "apt.sh").write_bytes(script)
        # A plain base has no CA at all, and the vendor's repository speaks https.
        if bundle := ca_bundle(net) or (vendor and repository.common_ca()):
            (folder / "ca.pem").write_bytes(files.read(bundle))
        # In an address a login would be in the arguments of processes, and a slash in it ends it.
        (folder / "auth.conf").write_bytes(apt_auth(net.apt_mirror, vendor and vendor.url))
        if vendor:
            (folder / archive.KEY).write_bytes(vendor.key_data)
        first = None
        if engine is not None:
            try:
                return then(ask.in_base(folder, base.ref, net, engine), folder, net, vendor)
            except MachineError as e:
                first = e
        if ask.possible_here():
            try:
                return then(ask.in_root(folder, *base, net), folder, net, vendor)
            except MachineError as e:
                raise first or e from e
    raise first or MachineError(
        "the packages of the image cannot be resolved: no engine and no apt-get here",
        fix="install docker or podman, or lock on a machine with apt",
    )


def _asked(plan: Plan, kept: Iterable[AptPackage]) -> list[str]:
    pinned = {p.name: f"{quote.package(p.name)}={quote.version(p.version)}" for p in kept}
    return list(({quote.package(name): name for name in plan.apt} | pinned).values())


def _resolve(
    question: ask.Ask, folder: Path, net: Net, vendor: repository.Repository | None
) -> Closure:
    """First which suites the base knows, then what it would install from them."""
    lines = _suites(question, folder, net)
    said = _checked(question("resolve")).out
    places = {name: (url, sha256) for url, name, sha256 in _FILE.findall(said)}
    found = {}
    for name, version, arch in _INST.findall(said):
        if name != DUMMY:
            url, sha256 = places.get(name, ("", ""))
            theirs = vendor is not None and vendor.serves(url)
            found[name] = AptPackage(
                name=name,
                version=version,
                arch=arch,
                sha256=sha256,
                archive=vendor.name if vendor and theirs else "",
            )
    packages = tuple(found[name] for name in sorted(found))
    return Closure(packages, lines, vendor.key if vendor else None, snapshot(net.apt_mirror))


def _suites(question: ask.Ask, folder: Path, net: Net) -> tuple[str, ...]:
    """What the base's sources name; a mirror is told to serve the same."""
    lines = index(_checked(question("list")).out)
    if net.apt_mirror:
        lines = served(lines, net.apt_mirror, net)
        (folder / "sources.list").write_text(sources(lines, plain(net.apt_mirror)))
    return lines


def _checked(done: Completed) -> Completed:
    if done.rc == 0:
        return done
    errors = [line[3:] for line in done.err.splitlines() if line.startswith("E: ")]
    why = "; ".join(errors) or done.err.strip()[-300:]
    if refusal := repository.refusal(done.err):
        raise refusal
    raise MachineError(
        "apt cannot say what it would install on the base",
        why=f"no end after {done.seconds:.0f} s" if done.timed_out else why,
        fix="check the network, --apt-mirror and --ca-cert; the archive may lack a package",
    )
