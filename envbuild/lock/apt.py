"""The apt closure: what apt would install on top of the base, package by package.

It is asked of the base's own release and package database: in the base through the engine, or,
where no engine can, by this machine's apt-get in a private root made from the base's files.
This machine's own apt state and settings are never read.
"""

import re
from pathlib import Path
from typing import NamedTuple

from envbuild.engines.base import Engine
from envbuild.errors import MachineError
from envbuild.io import files
from envbuild.io.net import Net, ca_bundle
from envbuild.io.proc import Completed
from envbuild.io.workspace import private_folder
from envbuild.lock import ask
from envbuild.lock.archive import index, served
from envbuild.lock.archive import sources as sources
from envbuild.render import quote, templates
from envbuild.render.view import DUMMY, add_components, dummy
from envbuild.values.lock import AptPackage
from envbuild.values.plan import Plan

_INST = re.compile(r"^Inst (\S+) (?:\[[^]]*\] )?\((\S+) .*\[(\w+)\]\)", re.MULTILINE)


class Closure(NamedTuple):
    """What is to be installed, and the ``suite component ...`` lines it was found in."""

    packages: tuple[AptPackage, ...]
    lines: tuple[str, ...]


def closure(plan: Plan, base: str, platform: str, net: Net, engine: Engine | None) -> Closure:
    """The packages that ``plan.apt`` brings along on this base, without recommendations.

    Args:
        plan: its ``apt``, and the components and placeholders of its ``layout``.
        base: the base image, pinned.
        platform: ``linux/amd64``.
        net: archive mirror, CA, network of containers.
        engine: runs apt in the base; None = the private root.

    Raises:
        MachineError: no way to ask, or the archive does not have it.
    """
    script = templates.fill(
        "apt-resolve.sh.j2",
        components=plan.layout.components,
        add_components=add_components(plan.layout.components),
        dummy=dummy(plan.layout.dummies),
        packages=[quote.package(name) for name in plan.apt],
    )
    with private_folder() as private:
        # Readable by apt's own user in a container; the folder around it is not.
        folder = private / "apt"
        folder.mkdir()
        folder.chmod(0o755)
        (folder / "apt.sh").write_bytes(script)
        if bundle := ca_bundle(net):
            (folder / "ca.pem").write_bytes(files.read(bundle))
        first = None
        if engine is not None:
            try:
                return _resolve(ask.in_base(folder, base, net, engine), folder, net)
            except MachineError as e:
                first = e
        if ask.possible_here():
            try:
                return _resolve(ask.in_root(folder, base, platform, net), folder, net)
            except MachineError as e:
                raise first or e from e
    raise first or MachineError(
        "the packages of the image cannot be resolved: no engine and no apt-get here",
        fix="install docker or podman, or lock on a machine with apt",
    )


def _resolve(question: ask.Ask, folder: Path, net: Net) -> Closure:
    """First which suites the base knows, then what it would install from them."""
    lines = index(_checked(question("list")).out)
    if net.apt_mirror:
        lines = served(lines, net.apt_mirror, net)
        (folder / "sources.list").write_text(sources(lines, net.apt_mirror))
    found = {
        name: AptPackage(name=name, version=version, arch=arch)
        for name, version, arch in _INST.findall(_checked(question("resolve")).out)
        if name != DUMMY
    }
    return Closure(tuple(found[name] for name in sorted(found)), lines)


def _checked(done: Completed) -> Completed:
    if done.rc == 0:
        return done
    errors = [line[3:] for line in done.err.splitlines() if line.startswith("E: ")]
    why = "; ".join(errors) or done.err.strip()[-300:]
    raise MachineError(
        "apt cannot say what it would install on the base",
        why=f"no end after {done.seconds:.0f} s" if done.timed_out else why,
        fix="check the network, --apt-mirror and --ca-cert; the archive may lack a package",
    )
