"""Certify an image: observe, judge, state. The certificate says what ran and nothing more."""

from collections.abc import Callable

from envbuild.certify import facts
from envbuild.certify.judge import judge
from envbuild.certify.observe import Policy, observe
from envbuild.certify.seen import Event, Seen, events
from envbuild.certify.steps import Runner
from envbuild.certify.suites import SUITES, before, check_known
from envbuild.errors import InputError
from envbuild.matrix.model import Matrices
from envbuild.values.certificate import Certificate, Device, Runtimes
from envbuild.values.host import Host
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

_DEFAULT = Policy()

__all__ = ["Policy", "certify", "observations", "state"]


def certify(
    engine: Runner,
    image: Image,
    *,
    plan: Plan | None = None,
    lock: Lock | None = None,
    host: Host,
    policy: Policy = _DEFAULT,
    matrices: Matrices | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Certificate:
    """Run the suites that ``policy`` requires, and those before them, on the image as it is.

    Args:
        engine: what runs the image.
        image: as the engine's ``inspect``, ``build`` or ``pull`` gave it.
        plan: what it was built from; None = its labels, else the GPU here.
        lock: compared with what the image holds.
        host: this machine.
        policy: suites, device, access mode.
        matrices: None = the installed ones.
        say: gets a line for each thing that starts.

    Raises:
        InputError: a suite, a GPU or the image's promise is not known.
        MachineError: the engine cannot run anything here.
        StaleError: the image was changed meanwhile.
        KeyboardInterrupt: somebody ended the run; `observations` gives what it saw before.
    """
    seen = observations(
        engine,
        image,
        plan=plan,
        lock=lock,
        host=host,
        policy=policy,
        matrices=matrices,
        say=say,
    )
    if seen.interrupted:
        raise KeyboardInterrupt
    return state(seen, policy.require)


def observations(
    engine: Runner,
    image: Image,
    *,
    plan: Plan | None = None,
    lock: Lock | None = None,
    host: Host,
    policy: Policy = _DEFAULT,
    matrices: Matrices | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Seen:
    """The first half of ``certify``: everything that judging needs, to be kept and replayed."""
    wanted = (*policy.require, *policy.also)
    check_known(wanted)
    if not policy.require:
        raise InputError("no suite is required", fix=f"one of {', '.join(SUITES)}")
    if matrices is None:
        from envbuild.matrix.load import load

        matrices = load()
    return observe(
        engine,
        image,
        plan=plan,
        lock=lock,
        host=host,
        matrices=matrices,
        policy=policy,
        suites=tuple(dict.fromkeys((*before(wanted), *wanted))),
        say=say,
    )


def state(
    seen: Seen, require: tuple[str, ...], *, replayed: bool = False, node: str | None = None
) -> Certificate:
    """The certificate that follows from observations; a replay is marked and certifies nothing."""
    result = judge(seen, require)
    device = _device(seen)
    return Certificate(
        verdict=result.verdict,
        exit=result.exit,
        subject=seen.subject,
        cc=seen.terms.cc,
        node=node,
        device=device,
        runtimes=_runtimes(seen),
        engine=seen.engine.name,
        engine_version=seen.engine.version,
        access=seen.choice.access if device else "none",
        suites=result.suites,
        not_run=tuple(name for name in SUITES if name not in seen.asked),
        probes=seen.probes,
        started=seen.started,
        finished=seen.finished,
        tool=seen.tool,
        matrix=seen.matrix,
        recorded="replayed" if replayed else "run",
    )


def _work_events(seen: Seen) -> tuple[Event, ...]:
    ran = seen.step("smoke")
    try:
        return events(ran.out) if ran else ()
    except InputError:
        return ()


def _device(seen: Seen) -> Device | None:
    e = next((e for e in _work_events(seen) if e.event == "device"), None)
    if e is None:
        return None
    return Device(
        name=e.name,
        uuid=e.uuid,
        cc=f"{e.major}.{e.minor}",
        memory_mib=e.bytes >> 20,
        sms=e.sms,
        pci_bus=e.bus,
    )


def _runtimes(seen: Seen) -> Runtimes:
    driver = next((e for e in _work_events(seen) if e.event == "driver"), None)
    loaded = (facts.loads(seen.step("loads")) or {}).values()
    cudart = next((e.version for e in loaded if e.version), 0)
    python = facts.packages(seen.step("packages"))
    return Runtimes(
        driver=seen.driver,
        driver_cuda=facts.version(driver.cuda) if driver and driver.cuda else None,
        toolkit=facts.toolkit(seen) or (facts.version(cudart) if cudart else None),
        framework=f"torch {python.torch} (CUDA {python.torch_cuda})" if python.torch else None,
    )
