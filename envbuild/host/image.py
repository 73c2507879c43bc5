"""Look inside an image: the value that `doctor` reads, from the probes that certifying uses."""

import platform
import secrets
from datetime import datetime, timezone

from envbuild import __version__
from envbuild.certify import facts, image, probes, sessions, steps, subject
from envbuild.certify.seen import Choice, Seen, Session, Terms
from envbuild.certify.suites import frameworks
from envbuild.engines.find import holding
from envbuild.errors import ImageError, MachineError
from envbuild.host.detect import environment
from envbuild.io.workspace import private_folder
from envbuild.matrix.load import load
from envbuild.values.codec import Pairs, replace
from envbuild.values.host import EngineFacts
from envbuild.values.image import Image, ImageFacts
from envbuild.values.plan import MatrixId

# Whatever runtime is the daemon's default: what the driver would bring is no fact of the image.
# Frameworks that say without a GPU what they were built for, by the package that holds them.
_BUILDS = {"torch": "torch.build", "cupy": "cupy.build"}


def image_facts(ref: str, engine: str | None = None) -> ImageFacts:
    """What an image holds: toolkit, frameworks, what its loader resolves; no GPU is used.

    Nothing is fetched: an image that no engine has is not looked at.

    Args:
        ref: the image, as its engine calls it.
        engine: docker or podman; None = the one that has it.

    Raises:
        MachineError: no engine has it or can run it here.
        ImageError: the probes do not run in it.
    """
    found = holding(ref, engine)
    here = found.engine.inspect(ref)
    if here is None:
        what = f"{found.engine.name} has no image {ref}"
        raise MachineError(what, fix=f"fetch it first: {found.engine.name} pull {ref}")
    subject.check_platform(here, platform.machine())
    inside = image.image_facts(_look(found.engine, found.facts, here))
    # An image's environment may hold what was baked in by mistake: only what we know is told.
    kept = environment(dict(inside.env))
    path = inside.env.get("PATH")
    return replace(inside, env=Pairs((*kept, *([("PATH", path)] if path else []))))


def _look(engine: steps.Runner, answers: EngineFacts, here: Image) -> Seen:
    about, ref = subject.subject(engine, here, None)
    with private_folder() as folder:
        home = folder.resolve()
        home.chmod(0o755)
        bench = steps.Bench(engine, ref, home / "probes", home / "scratch")
        probes.stage(bench.probes, subject.architecture(here))
        # The image's own user may be anybody; the folder above is ours alone to remove.
        (bench.scratch / "cut").mkdir(parents=True)
        for path in (bench.scratch, bench.scratch / "cut"):
            path.chmod(0o777)
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        matrices = load()
        seen = Seen(
            image=here,
            subject=about,
            terms=Terms(cuda=here.labels.get("envbuild.cuda")),
            engine=answers,
            choice=Choice(reason="no GPU is used"),
            asked=(),
            nonce=secrets.token_hex(8),
            count=0,
            probes_at=bench.probe(),
            scratch_at=bench.out(),
            started=now,
            finished=now,
            tool=f"envbuild {__version__}",
            matrix=MatrixId(date=matrices.date, digest=matrices.digest),
        )
        session = steps.run(bench, "look", sessions.look(bench, locked=True))
        if not session.steps:
            what = f"the probes do not run in {here.ref}"
            why = session.says.strip()[-400:] or f"exit code {session.rc} and no output"
            raise ImageError(what, why=why, fix=f"start it by hand: {engine.name} run {here.ref}")
        seen = _with(seen, session)
        if again := sessions.look_again(bench, facts.stale(seen)):
            seen = _with(seen, steps.run(bench, "look-again", again))
        names = facts.packages(seen.step("packages")).versions
        asked = [
            frameworks.step(bench, seen, step)
            for package, step in _BUILDS.items()
            if any(name == package or name.startswith(f"{package}-") for name in names)
        ]
        return _with(seen, steps.run(bench, "builds", asked)) if asked else seen


def _with(seen: Seen, session: Session) -> Seen:
    return replace(seen, sessions=(*seen.sessions, session))
