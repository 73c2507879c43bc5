"""Look at an image as it is: run the probes in it, keep what they said. No verdicts here."""

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from envbuild import __version__
from envbuild.certify import devices, facts, probes, sass, sessions, steps, subject
from envbuild.certify.seen import Ceiling, Code, Seen, Session
from envbuild.certify.suites import GPU
from envbuild.certify.terms import covers, toolkit_row
from envbuild.certify.terms import terms as make_terms
from envbuild.engines.base import Engine
from envbuild.errors import EnvbuildError, MachineError
from envbuild.matrix.model import Matrices
from envbuild.values.codec import Pairs, Value, replace
from envbuild.values.host import Host
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import MatrixId, Plan

# Whatever runtime is the daemon's default: no driver must come in where none was asked for.
_NO_GPU = Pairs({"NVIDIA_VISIBLE_DEVICES": "void"})
_LARGEST = 64 << 20


class Policy(Value):
    """What is asked of a certificate.

    Attributes:
        require: suites that must pass.
        cc: compute capabilities to certify for, instead of what the image promises.
        access: GPU access mode to use, None = the best here.
        device: uuid of the GPU to use, None = the first that fits.
    """

    require: tuple[str, ...] = ("smoke",)
    cc: tuple[str, ...] = ()
    access: str | None = None
    device: str | None = None


def observe(
    engine: Engine,
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
        MachineError: the engine cannot run anything, or the image is for another processor.
        InputError: nothing says what the image promises.
    """
    subject.check_platform(image, _machine())
    about, ref = subject.subject(engine, image, None)
    engine_facts = engine.probe()
    usable = [gpu for gpu in host.gpus if gpu.source != "pci" and gpu.cc]
    terms = make_terms(
        image,
        plan=plan,
        lock=lock,
        matrices=matrices,
        cc=policy.cc,
        device_cc=usable[0].cc if usable else None,
    )
    about = replace(about, lock=terms.lock)
    choice = devices.choose(host, engine_facts, terms.promise, policy.device, policy.access)
    blocked = bool(choice.reason) and bool(GPU & set(policy.require))
    asked = tuple(s for s in suites if not blocked or (s in policy.require and s not in GPU))
    seen = Seen(
        image=image,
        subject=about,
        terms=terms,
        engine=engine_facts,
        choice=choice,
        asked=suites if not blocked else (*asked, *(s for s in policy.require if s in GPU)),
        nonce=secrets.token_hex(8),
        count=sessions.COUNT,
        probes_at="",
        scratch_at="",
        driver=host.driver.version if host.driver else None,
        probes=probes.hashes(),
        started=_now(),
        finished="",
        tool=f"envbuild {__version__}",
        matrix=MatrixId(date=matrices.date, digest=matrices.digest),
    )
    if asked:
        with steps.scratch_folder() as name:
            bench = steps.Bench(engine, ref, Path(name, "probes"), Path(name, "scratch"))
            seen = _in_folder(bench, seen, host=host, matrices=matrices, say=say)
        subject.confirm(engine, image, ref)
    return replace(seen, finished=_now())


def _in_folder(
    bench: steps.Bench,
    seen: Seen,
    *,
    host: Host,
    matrices: Matrices,
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
    if "toolchain" in seen.asked:
        seen = _compile(bench, seen, matrices, say)
    seen = replace(seen, codes=_codes(bench))
    if "smoke" in seen.asked and not seen.choice.reason:
        say(f"smoke     {seen.choice.gpu.name if seen.choice.gpu else 'GPU'}, {seen.choice.access}")
        seen = _with(seen, _work(bench, seen, host))
    return seen


def _look(bench: steps.Bench, seen: Seen, say: Callable[[str], None]) -> Seen:
    say("toolchain looking at the image")
    locked = bool(len(seen.terms.apt) or len(seen.terms.wheels))
    session = steps.run(bench, "look", sessions.look(bench, locked=locked), env=_NO_GPU)
    if not session.steps:
        what = f"the probes do not start in {seen.image.ref}"
        why = session.says.strip()[-400:] or f"exit code {session.rc} and no output"
        fix = "the engine must see this machine's temporary folder (set TMPDIR to a shared one)"
        raise MachineError(what, why=why, fix=fix)
    return _with(seen, session)


def _compile(
    bench: steps.Bench, seen: Seen, matrices: Matrices, say: Callable[[str], None]
) -> Seen:
    programs = facts.which(seen.step("which"))
    pair = facts.pair(seen.step("pair")) or facts.pair(seen.step("pair-anyway"))
    row = toolkit_row(matrices, pair.cuda if pair else seen.terms.cuda)
    if row:
        source = f"toolkits/{row.cuda} {row.status}"
        ceiling = Ceiling(cuda=row.cuda, gcc=row.gcc_max, clang=row.clang_max, source=source)
        seen = replace(seen, ceiling=ceiling)
    listing = seen.step("targets")
    targets = tuple(word[3:] for word in (listing.out if listing else "").split())
    other = sessions.other_target(seen.terms.promise, targets or (row.targets if row else ()))
    say(f"toolchain compiling for sm_{', sm_'.join(seen.terms.promise)}")
    if "nvcc" in programs:
        work = sessions.compile_nvcc(bench, seen.terms, other, seen.ceiling, programs)
    elif "nvrtc" in programs:
        work = sessions.compile_nvrtc(bench, seen.terms, other)
    else:
        return seen
    return _with(seen, steps.run(bench, "compile", work, env=_NO_GPU))


def _work(bench: steps.Bench, seen: Seen, host: Host) -> Session:
    gpu = seen.choice.gpu
    name = None
    if gpu and gpu.cc:
        target = covers(seen.terms.promise, gpu.cc)
        options = ("image.fatbin", f"image.{target}.cubin")
        name = next((one for one in options if (bench.scratch / one).is_file()), None)
    alone = gpu is None or gpu.uuid is None or devices.only(host, gpu)
    return steps.run(
        bench,
        "work",
        sessions.work(bench, seen.nonce, name, gpu),
        access=seen.choice.access,
        devices=() if alone or gpu is None or gpu.uuid is None else (gpu.uuid,),
    )


def _codes(bench: steps.Bench) -> tuple[Code, ...]:
    """What our own reader finds in the files of device code."""
    compiled = sorted(bench.scratch.glob("image.*"))
    found = [
        _code("prebuilt", [bench.probes / "add.fatbin"]),
        _code("prebuilt-other", [bench.probes / f"other.{probes.OTHERS[0]}.cubin"]),
    ]
    if compiled:
        found.append(_code("image", compiled))
    if (bench.scratch / "other.fatbin").is_file():
        found.append(_code("other", [bench.scratch / "other.fatbin"]))
    return tuple(found)


def _code(name: str, paths: list[Path]) -> Code:
    """One Code of one or several files; what cannot be read is said in it."""
    sums = hashlib.sha256()
    targets: list[str] = []
    try:
        for path in paths:
            data = _plain_file(path)
            sums.update(data)
            targets += sass.targets(data)
    except (OSError, EnvbuildError) as e:
        what = e.what if isinstance(e, EnvbuildError) else str(e)
        return Code(name=name, sha256=sums.hexdigest(), error=what)
    return Code(name=name, sha256=sums.hexdigest(), targets=tuple(dict.fromkeys(targets)))


def _plain_file(path: Path) -> bytes:
    """Bytes of a file that an image may have written: no link is followed, no pipe waited for."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as f:
        if not stat.S_ISREG(os.fstat(f.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a plain file")
        return f.read(_LARGEST)


def _with(seen: Seen, session: Session) -> Seen:
    return replace(seen, sessions=(*seen.sessions, session))


def _machine() -> str:
    import platform

    return platform.machine()


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
