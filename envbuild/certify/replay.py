"""Judging again, elsewhere: what was observed, with another host or other image facts in place."""

from envbuild.certify import builds, devices, image
from envbuild.certify import facts as look
from envbuild.certify.card import card_of
from envbuild.certify.floors import floors
from envbuild.certify.seen import Ceiling, Ran, Seen, Session
from envbuild.certify.suites import SUITES, before, check_known
from envbuild.certify.terms import terms, toolkit_row
from envbuild.matrix.model import Matrices
from envbuild.values.codec import replace
from envbuild.values.host import Host
from envbuild.values.image import ImageFacts
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan


def replay(
    seen: Seen,
    *,
    host: Host | None,
    facts: ImageFacts | None,
    plan: Plan | None,
    lock: Lock | None,
    require: tuple[str, ...],
    matrices: Matrices,
) -> Seen:
    """The observations as they would be on ``host``, of an image of which ``facts`` are known.

    Args:
        seen: what a run recorded (``certify --record``).
        host: replaces the machine: the GPU is chosen anew, and its driver is the one said here.
        facts: replace what the image itself was seen to be; how its probes ended stays.
        plan: replaces what the image promises.
        lock: what its packages are compared with.
        require: suites to judge, beside those that were observed.
        matrices: for targets and compiler ceilings.

    Raises:
        InputError: a suite is none, nothing says what the image promises, or a fact is no version.
    """
    check_known(require)
    asked = dict.fromkeys((*before(require), *seen.asked, *require))
    seen = replace(seen, asked=tuple(name for name in SUITES if name in asked))
    if facts:
        seen = _of(seen, facts, matrices)
    if plan or lock:
        cc = seen.terms.cc if seen.terms.origin == "flag" else ()
        fresh = terms(seen.image, plan=plan, lock=lock, matrices=matrices, cc=cc)
        seen = replace(seen, terms=fresh)
    if facts and (row := toolkit_row(matrices, _nvcc(facts) or seen.terms.cuda)):
        source = f"toolkits/{row.cuda} {row.status}"
        ceiling = Ceiling(cuda=row.cuda, gcc=row.gcc_max, clang=row.clang_max, source=source)
        seen = replace(seen, ceiling=ceiling)
    return _on(seen, host) if host else seen


def _of(seen: Seen, facts: ImageFacts, matrices: Matrices) -> Seen:
    """The observations of the image that these facts are of."""
    now = replace(seen.image, labels=facts.labels, env=facts.env, user=facts.user)
    now = replace(now, ref=facts.ref, platform=facts.platform or now.platform)
    steps = {ran.step: ran for ran in image.steps(facts)}
    # Facts that do not name the targets of torch leave those that were seen.
    known = replace(facts, arch_list=facts.arch_list or builds.arch_list(seen))
    told = {s.name: s for s in builds.told(known, seen.nonce) if _of_suite(s) in seen.asked}
    kept = [told.pop(s.name, _retold(s, steps)) for s in seen.sessions]
    seen = replace(seen, image=now, sessions=(*kept, *told.values()))
    return replace(seen, floors=floors(matrices, look.packages(seen.step("packages")).versions))


def _on(seen: Seen, host: Host) -> Seen:
    """The observations as of this machine: its GPU is chosen anew."""
    choice = devices.choose(host, seen.engine, seen.terms.promise, None, None)
    return replace(
        seen,
        choice=choice,
        card=card_of(choice.gpu),
        gpus=tuple(gpu for gpu in host.gpus if gpu.source != "pci"),
        driver=host.driver.version if host.driver else None,
        platform=host.platform,
        inside=host.inside_container,
        usage=(),
    )


def _of_suite(session: Session) -> str:
    return session.name.partition(".")[0]


def _retold(session: Session, steps: dict[str, Ran]) -> Session:
    """The look at the image with the steps that its facts tell anew; other sessions stay."""
    if session.name != "look":
        return session
    kept = tuple(ran for ran in session.steps if ran.step not in steps)
    return replace(session, steps=(*kept, *steps.values()))


def _nvcc(facts: ImageFacts) -> str | None:
    return next((tool.version for tool in facts.compilers if tool.name == "nvcc"), None)
