"""The end of the corridor: which suites an image must pass, and its certificate."""

from collections.abc import Callable
from typing import NamedTuple

from envbuild import __version__
from envbuild.certify import probes, run
from envbuild.engines.base import Engine
from envbuild.host.access import best_access
from envbuild.host.detect import this_machine
from envbuild.io.workspace import Workspace
from envbuild.matrix.load import load
from envbuild.values.certificate import Certificate
from envbuild.values.codec import Value, digest
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

_FILE = "certificate.json"


class Policy(NamedTuple):
    """Suites that must pass, and why these."""

    suites: tuple[str, ...]
    why: str


class _CertificateInputs(Value):
    """Everything a certificate depends on; the same inputs need no second run."""

    image: str
    plan: str
    lock: str
    suites: tuple[str, ...]
    engine: str
    gpus: tuple[str, ...]
    driver: str
    access: str
    probes: str
    matrix: str
    tool: str


def policy(plan: Plan, asked: tuple[str, ...]) -> Policy:
    """The suites to require: those asked for, else smoke where the plan's GPU is in this machine.

    Args:
        plan: its provenance says whether the cc was detected or declared.
        asked: ``--require``.
    """
    if asked:
        return Policy(asked, "asked for")
    if any(p.fact == "cc" and p.origin == "detected" for p in plan.provenance):
        return Policy(("smoke",), "the GPU is in this machine")
    return Policy(("toolchain",), "the cc was declared, no GPU was looked for")


def certified(
    space: Workspace,
    engine: Engine,
    image: Image,
    *,
    plan: Plan,
    lock: Lock | None,
    suites: tuple[str, ...],
    say: Callable[[str], None],
) -> Certificate:
    """The certificate of an image built here: the one that is there while nothing changed.

    Args:
        space: where it is kept; a certificate that certifies nothing is never taken again.
        engine: has the image.
        image: what was built.
        plan: what it promises.
        lock: what it was built from; None = a toolkit that was here.
        suites: must pass.
        say: gets a line for each thing that starts.

    Raises:
        MachineError: the engine cannot run anything here.
    """
    host = this_machine()
    access = best_access(host, engine.name)
    inputs = digest(
        _CertificateInputs(
            image=image.config,
            plan=digest(plan),
            lock=digest(lock) if lock else "",
            suites=suites,
            engine=f"{engine.name} {engine.probe().version or ''}",
            gpus=tuple(gpu.uuid or gpu.pci_bus or "" for gpu in host.gpus),
            driver=(host.driver.version if host.driver else None) or "",
            access=access,
            probes=digest(probes.hashes()),
            matrix=load().digest,
            tool=__version__,
        )
    )
    if space.fresh("certificate", inputs, _FILE):
        kept = space.load(Certificate, _FILE)
        if kept and kept.exit == 0:
            say(f"certify   nothing changed since {kept.finished}")
            return kept
    wanted = run.Policy(require=suites, trusted=True)
    made = run.certify(engine, image, plan=plan, lock=lock, host=host, policy=wanted, say=say)
    space.save(_FILE, made)
    space.stamp("certificate", inputs, _FILE)
    return made
