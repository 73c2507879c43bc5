"""Look at an image as it is: run the probes in it, keep what they said. No verdicts here."""

import contextlib
import secrets
from collections.abc import Callable
from datetime import datetime, timezone

from envbuild import __version__
from envbuild.certify import (
    codes,
    devices,
    facts,
    guard,
    probes,
    sessions,
    steps,
    stranger,
    subject,
)
from envbuild.certify.card import card_of
from envbuild.certify.floors import floors
from envbuild.certify.seen import NOT_STARTED, Ceiling, Ran, Seen, Session
from envbuild.certify.suites import GPU, SUITES, smoke
from envbuild.certify.terms import covers, toolkit_row
from envbuild.certify.terms import terms as make_terms
from envbuild.errors import ImageError, MachineError
from envbuild.host import usage
from envbuild.host.look import here
from envbuild.io.workspace import private_folder
from envbuild.matrix.model import Matrices
from envbuild.values.codec import Value, replace
from envbuild.values.host import Host
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import MatrixId, Plan

# Whatever runtime is the daemon's default: no driver must come in where none was asked for.


class Policy(Value):
    """What is asked of a certificate.

    Attributes:
        require: suites that must pass.
        also: suites to run beside them, which decide nothing.
        cc: compute capabilities to certify for, instead of what the image promises.
        access: GPU access mode to use, None = the best here.
        device: uuid of the GPU to use, None = the first that fits.
        faults: let a kernel fault in a process of its own; health daemons see it.
        trusted: the image was built here, or its maker is known: no hole keeps the GPU from it.
        wait: seconds to wait for a GPU that another run works on.
    """

    require: tuple[str, ...] = ("smoke",)
    also: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    access: str | None = None
    device: str | None = None
    faults: bool = False
    trusted: bool = False
    wait: float = guard.WAIT


def observe(
    engine: steps.Runner,
    image: Image,
    *,
    plan: Plan | None,
    lock: Lock | None,
    host: Host,
    matrices: Matrices,
    policy: Policy,
    suites: tuple[str, ...],
    say: Callable[[str], None],
) -> Seen:
    """Run what the suites need, in the image as it is.

    Where a required suite needs a GPU and there is none, only suites that are required too and
    need none are run: the answer is already known.

    Raises:
        MachineError: the engine cannot run anything, the image is for another processor, or a
            stranger's image could get out of its container.
        ImageError: the image answers in the probes' place.
        InputError: nothing says what the image promises.
    """
    subject.check_platform(image, _machine())
    about, ref = subject.subject(engine, image, None)
    engine_facts = engine.probe()
    usable = [
        gpu
        for gpu in host.gpus
        if gpu.source != "pci" and gpu.cc and policy.device in {None, gpu.uuid}
    ]
    terms = make_terms(
        image,
        plan=plan,
        lock=lock,
        matrices=matrices,
        cc=policy.cc,
        device_cc=usable[0].cc if usable else None,
    )
    if terms.lock == image.labels.get("envbuild.lock"):
        # A lock that the image does not name is compared with it, but is not what it is.
        about = replace(about, lock=terms.lock)
    choice = devices.choose(host, engine_facts, terms.promise, policy.device, policy.access)
    blocked = bool(choice.reason) and bool(GPU & set(policy.require))
    asked = tuple(s for s in suites if not blocked or (s in policy.require and s not in GPU))
    if not policy.trusted and GPU & set(asked):
        stranger.check(image.ref, host, engine_facts, choice, matrices.holes)
    seen = Seen(
        image=image,
        subject=about,
        terms=terms,
        engine=engine_facts,
        choice=choice,
        gpus=tuple(gpu for gpu in host.gpus if gpu.source != "pci"),
        asked=suites if not blocked else (*asked, *(s for s in policy.require if s in GPU)),
        nonce=secrets.token_hex(8),
        count=sessions.COUNT,
        probes_at="",
        scratch_at="",
        card=card_of(choice.gpu),
        faults=policy.faults,
        driver=host.driver.version if host.driver else None,
        platform=host.platform,
        inside=host.inside_container,
        probes=probes.hashes(),
        started=_now(),
        finished="",
        tool=f"envbuild {__version__}",
        matrix=MatrixId(date=matrices.date, digest=matrices.digest),
    )
    if asked:
        with private_folder() as folder:
            # The loader names the real path of what it took.
            home = folder.resolve()
            bench = steps.Bench(engine, ref, home / "probes", home / "scratch")
            seen = _in_folder(bench, seen, matrices=matrices, wait=policy.wait, say=say)
        subject.confirm(engine, image, ref)
    return replace(seen, finished=_now())


def _in_folder(
    bench: steps.Bench,
    seen: Seen,
    *,
    matrices: Matrices,
    wait: float,
    say: Callable[[str], None],
) -> Seen:
    bench.probes.parent.chmod(0o755)
    probes.stage(bench.probes, subject.architecture(seen.image))
    # The image's own user may be anybody; the folder above is ours alone to remove.
    (bench.scratch / "cut").mkdir(parents=True)
    for path in (bench.scratch, bench.scratch / "cut"):
        path.chmod(0o777)
    seen = replace(seen, probes_at=bench.probe(), scratch_at=bench.out())
    seen = _look(bench, seen, say)
    found = facts.packages(seen.step("packages")).versions
    seen = replace(seen, floors=floors(matrices, found))
    if "toolchain" in seen.asked:
        seen = _compile(bench, seen, matrices, say)
    seen = replace(seen, codes=codes.found(bench, seen.terms.promise, seen.nonce))
    if "smoke" in seen.asked and not seen.choice.reason:
        return _guarded(bench, seen, wait, say)
    return seen


def _guarded(bench: steps.Bench, seen: Seen, wait: float, say: Callable[[str], None]) -> Seen:
    """The work on the GPU, with no other run beside it; a GPU that is never free is none."""
    with contextlib.ExitStack() as locks:
        try:
            locks.enter_context(guard.held(guard.needed(seen), wait, say))
        except MachineError as e:
            return replace(seen, choice=replace(seen.choice, reason=e.what))
        timed, look = bool(guard.TIMED & set(seen.asked)), here()
        seen = replace(seen, usage=usage.probe(look, "before") if timed else ())
        say(f"smoke     {seen.choice.gpu.name if seen.choice.gpu else 'GPU'}, {seen.choice.access}")
        seen = _work(bench, seen)
        if smoke.came_through(seen):
            seen = _further(bench, seen, say)
        after = usage.probe(look, "after") if timed else ()
        return replace(seen, usage=(*seen.usage, *after))


def _look(bench: steps.Bench, seen: Seen, say: Callable[[str], None]) -> Seen:
    say("toolchain looking at the image")
    locked = bool(len(seen.terms.apt) or len(seen.terms.wheels))
    session = steps.run(bench, "look", sessions.look(bench, locked=locked))
    if not session.steps and session.noise:
        what = f"{seen.image.ref} answers in the probes' place"
        why = f"{session.noise} lines of their output are not theirs, or not in their order"
        raise ImageError(what, why=why, fix="find what in it writes to the output of others")
    if not session.steps:
        ended = "do not start" if session.rc in {126, 127} else "do not come to their end"
        what = f"the probes {ended} in {seen.image.ref}"
        why = session.says.strip()[-400:] or f"exit code {session.rc} and no output"
        fix = "the engine must see this machine's temporary folder (set TMPDIR to a shared one)"
        raise MachineError(what, why=why, fix=fix)
    seen = _with(seen, session)
    again = sessions.look_again(bench, facts.stale(seen))
    return _with(seen, steps.run(bench, "look-again", again)) if again else seen


def _compile(
    bench: steps.Bench, seen: Seen, matrices: Matrices, say: Callable[[str], None]
) -> Seen:
    programs = facts.which(seen.step("which"))
    compiler = facts.compiler(seen)
    row = toolkit_row(matrices, facts.toolkit(seen) or seen.terms.cuda)
    if row:
        source = f"toolkits/{row.cuda} {row.status}"
        ceiling = Ceiling(cuda=row.cuda, gcc=row.gcc_max, clang=row.clang_max, source=source)
        seen = replace(seen, ceiling=ceiling)
    listing = seen.step("targets")
    words = (listing.out if listing and compiler == "nvcc" else "").split()
    targets = tuple(word[3:] for word in words if word.startswith("sm_"))
    other = sessions.other_target(seen.terms.promise, targets or (row.targets if row else ()))
    if compiler == "nvcc":
        pair = facts.pair(seen.step("pair")) or facts.pair(seen.step("pair-anyway"))
        above = sessions.above_ceiling(bench, seen.ceiling, pair.host if pair else "gcc", programs)
        work = sessions.compile_nvcc(
            bench, seen.terms, other, above, seen.nonce, cuobjdump="cuobjdump" in programs
        )
    elif compiler == "nvrtc":
        work = sessions.compile_nvrtc(bench, seen.terms, other, seen.nonce)
    else:
        return seen
    say(f"toolchain compiling for sm_{', sm_'.join(seen.terms.promise)}")
    return _with(seen, steps.run(bench, "compile", work))


def _work(bench: steps.Bench, seen: Seen) -> Seen:
    gpu = seen.choice.gpu
    target = covers(seen.terms.promise, gpu.cc) if gpu and gpu.cc else None
    options = ("image.fatbin", f"image.{target}.cubin")
    code = next((one for one in options if (bench.scratch / one).is_file()), None)
    work = tuple(sessions.work(bench, seen.nonce, code, gpu))
    seen = _run(bench, seen, steps.Work("work", work))
    if code and not smoke.came_through(seen):
        work = tuple(sessions.reference(bench, seen.nonce, gpu))
        seen = _run(bench, seen, steps.Work("reference", work))
    return seen


def _further(bench: steps.Bench, seen: Seen, say: Callable[[str], None]) -> Seen:
    """The suites after `smoke`, each asked what it needs next until it has seen enough.

    Ctrl-C ends the container at work and the run; what was seen before it is kept.
    """
    for name in seen.asked:
        next_work = getattr(SUITES[name], "next_work", None)
        while next_work and (work := next_work(bench, seen)):
            say(f"{name:<9} {work.name}")
            try:
                seen = _run(bench, seen, work)
            except KeyboardInterrupt:
                return replace(seen, interrupted=True)
    return seen


def _run(bench: steps.Bench, seen: Seen, work: steps.Work) -> Seen:
    """One container run, with the chosen GPU where it wants one.

    Where no container comes up, that is a result too: what was seen so far is kept.
    """
    gpu, access, devices = seen.choice.gpu, seen.choice.access, work.devices
    if not work.gpu:
        access, devices = "none", ()
    elif devices is None:
        devices = (gpu.uuid,) if gpu and gpu.uuid and len(seen.gpus) > 1 else ()
    try:
        session = steps.run(
            bench, work.name, work.steps, access=access, devices=devices, user=work.user
        )
    except MachineError as e:
        session = Session(name=work.name, rc=NOT_STARTED, says=f"{e.what}: {e.why or e.fix}")
    return _with(seen, session)


def _with(seen: Seen, session: Session) -> Seen:
    short = tuple(_short(ran) for ran in session.steps)
    return replace(seen, sessions=(*seen.sessions, replace(session, steps=short)))


def _short(ran: Ran) -> Ran:
    """Of what nvcc -E prints, the line that matters, so that recordings stay readable."""
    if not ran.step.startswith(("pair", "ceiling ")):
        return ran
    line = facts.pair_line(ran.out)
    return replace(ran, out=f"{line}\n" if line else "", cut=False)


def _machine() -> str:
    import platform

    return platform.machine()


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
