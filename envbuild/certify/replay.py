"""Judging again, elsewhere: what was observed, with another host or other image facts in place."""

import json
import re
from collections.abc import Iterator

from envbuild.certify import devices
from envbuild.certify.probes import DRIVER_LIBRARIES
from envbuild.certify.seen import Ceiling, Ran, Seen, Session
from envbuild.certify.suites import SUITES, before
from envbuild.certify.terms import terms, toolkit_row
from envbuild.errors import InputError
from envbuild.matrix.model import Matrices
from envbuild.values.codec import replace
from envbuild.values.host import Host
from envbuild.values.image import ImageFacts, Resolved
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
    if unknown := [name for name in require if name not in SUITES]:
        what = f"there is no suite {', '.join(unknown)}"
        raise InputError(what, fix=f"one of {', '.join(SUITES)}")
    asked = dict.fromkeys((*before(require), *seen.asked, *require))
    seen = replace(seen, asked=tuple(name for name in SUITES if name in asked))
    if facts:
        image = replace(seen.image, labels=facts.labels, env=facts.env, user=facts.user)
        image = replace(image, ref=facts.ref, platform=facts.platform or image.platform)
        steps = {ran.step: ran for ran in _told(facts)}
        seen = replace(seen, image=image, sessions=tuple(_retold(s, steps) for s in seen.sessions))
    if plan or lock:
        cc = seen.terms.cc if seen.terms.origin == "flag" else ()
        fresh = terms(seen.image, plan=plan, lock=lock, matrices=matrices, cc=cc)
        seen = replace(seen, terms=fresh)
    if facts and (row := toolkit_row(matrices, _nvcc(facts) or seen.terms.cuda)):
        source = f"toolkits/{row.cuda} {row.status}"
        ceiling = Ceiling(cuda=row.cuda, gcc=row.gcc_max, clang=row.clang_max, source=source)
        seen = replace(seen, ceiling=ceiling)
    if host:
        choice = devices.choose(host, seen.engine, seen.terms.promise, None, None)
        driven = tuple(gpu for gpu in host.gpus if gpu.source != "pci")
        driver = host.driver.version if host.driver else None
        seen = replace(seen, choice=choice, gpus=driven, usage=(), driver=driver)
    return seen


def _retold(session: Session, steps: dict[str, Ran]) -> Session:
    """The look at the image with the steps that its facts tell anew; other sessions stay."""
    if session.name != "look":
        return session
    kept = tuple(ran for ran in session.steps if ran.step not in steps)
    return replace(session, steps=(*kept, *steps.values()))


def _nvcc(facts: ImageFacts) -> str | None:
    return next((tool.version for tool in facts.compilers if tool.name == "nvcc"), None)


def _told(facts: ImageFacts) -> Iterator[Ran]:
    """The facts in the words of the probes that would have found them."""
    tools = {tool.name: tool for tool in facts.compilers}
    found = [f"{tool.name} {tool.path}" for tool in facts.compilers if tool.path]
    found += [f"sh {facts.shell}"] if facts.shell else []
    yield Ran(step="which", rc=0, out="\n".join(found))
    if facts.os:
        name = facts.os.rstrip("0123456789.")
        yield Ran(step="os", rc=0, out=f"ID={name}\nVERSION_ID={facts.os[len(name) :]}\n")
    resolved = {name: Resolved(name=name) for name in DRIVER_LIBRARIES}
    resolved |= {one.name: one for one in facts.resolves}
    yield Ran(step="loads", rc=0, out="\n".join(_load(one) for one in resolved.values()))
    cached = (f"\t{path.rsplit('/', 1)[-1]} (libc6,x86-64) => {path}" for path in facts.drivers)
    yield Ran(step="ldconfig", rc=0, out="\n".join(cached))
    nvcc, host = tools.get("nvcc"), tools.get("gcc") or tools.get("clang")
    if nvcc and host:
        major, minor, *_ = [*(host.version or "0").split("."), "0"]
        cuda = " ".join([*(nvcc.version or "").split("."), "0", "0"][:3])
        line = f"envbuild_pair host {host.name} {major} {minor} cuda {cuda} end\n"
        yield Ran(step="pair", rc=0, out=line)
        yield Ran(step="pair-anyway", rc=0, out=line)
    torch = {tool.name: tool.version for tool in facts.framework}
    build = {"version": torch["torch"], "cuda": torch.get("torch.cuda")} if torch else None
    packages = dict(facts.packages)
    answer = {"python": facts.python, "packages": packages, "torch": build, "error": ""}
    python = Ran(step="packages", rc=0, out=json.dumps(answer))
    yield python if facts.python else Ran(step="packages", rc=127, err="python3 is not there")
    if facts.apt:
        lines = "\n".join(f"{name}={version}" for name, version in facts.apt)
        yield Ran(step="dpkg", rc=0, out=lines)


def _load(one: Resolved) -> str:
    missing = f"{one.name}: cannot open shared object file: No such file or directory"
    error = one.error or ("" if one.path else missing)
    said = re.fullmatch(r"(\d{1,3})\.(\d{1,2})", one.version or "0.0")
    if said is None:
        what = f"{one.name} cannot have the version {one.version!r}"
        raise InputError(what, fix="a CUDA version is written 13.0")
    major, minor = (int(part) for part in said.groups())
    event = {"event": "load", "name": one.name, "path": one.path or "", "error": error}
    return json.dumps({**event, "signal": 0, "version": major * 1000 + minor * 10})
