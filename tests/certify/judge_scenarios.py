"""What judges are tried on: devices healthy and sick, controls that find nothing, steps that end in
every way there is; and the verdicts of the unbroken judges."""

import json
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from envbuild.certify import verdicts
from envbuild.certify.seen import Ran, Seen
from envbuild.certify.suites import SUITES
from envbuild.values.certificate import Check, SuiteResult
from envbuild.values.codec import Pairs, replace
from tests.certify.simulated.devices import device
from tests.certify.simulated.inside import Inside, inside
from tests.certify.simulated.machine import HEALTHY, Machine, Trouble, observe
from tests.certify.simulated.sick import CONTROLS, SICK, WITH

_TITLES = (WITH, "GTX 1080 Ti", "GTX 1650", "A100 1g MIG", "RTX 3080 on WSL", "Jetson AGX Orin")


class Scenario(NamedTuple):
    """Observations, and the suite that judges them."""

    suite: str
    seen: Seen
    title: str


# Another suite, required and passed: what lies below it must not have failed.
_BESIDE = SuiteResult(
    name="made",
    required=True,
    verdict="pass",
    checks=(Check(id="made.passed", core=True, verdict="pass", says="it passes"),),
)
Verdicts = tuple[tuple[str, str, str | None, bool], ...]


@cache
def scenarios(suite: str) -> tuple[Scenario, ...]:
    """All of one suite; the ones that most mutants fall by come first."""
    first = [(title, device(title), HEALTHY) for title in _TITLES]
    named = [(n, t) for n, (t, check, _, _) in SICK.items() if check.startswith(f"{suite}.")]
    named += [(n, Trouble(green=(n,))) for n, c in CONTROLS.items() if c.startswith(f"{suite}.")]
    made = [*first, *((n, device(WITH), t) for n, t in named)]
    found = [
        Scenario(suite, observe(Machine(one, trouble=trouble), suite, faults=True), title)
        for title, one, trouble in made
    ]
    found += [
        Scenario(suite, observe(Machine(device(WITH), image), suite), title)
        for title, image in _images()
        if suite not in {"fast", "tools"}
    ]
    return (*found, *(Scenario(suite, now, title) for title, now in _ended(suite, found[0].seen)))


def _images() -> Iterator[tuple[str, Inside]]:
    """Images with something of their own the matter, on a healthy machine."""
    good = inside(device(WITH).cc)
    fewer = dict(good.packages)
    yield "no Python", good._replace(python="", packages=Pairs(), torch="")
    yield "no frameworks", good._replace(packages=Pairs({"numpy": "2.2.6"}), torch="")
    yield "torch for the CPU", good._replace(torch="2.8.0+cpu", torch_cuda="", targets=())
    yield "torch without a target", good._replace(targets=("sm_90", "compute_90"))
    yield "torch through PTX", good._replace(targets=("sm_70", "compute_70"))
    yield "torch of a newer CUDA", good._replace(torch="2.20.0+cu140", torch_cuda="14.0")
    yield "torch that lists nothing", good._replace(targets=())
    yield "another NVRTC", good._replace(nvrtc="11.8")
    yield "no NVRTC", good._replace(nvrtc="")
    yield "too new a gcc", good._replace(gcc="15.1")
    yield (
        "an older cupy",
        good._replace(
            packages=Pairs(
                {**{n: v for n, v in fewer.items() if "cupy" not in n}, "cupy": "13.6.0"}
            )
        ),
    )


def _ended(suite: str, healthy: Seen) -> Iterator[tuple[str, Seen]]:
    """Each step of the suite ended in each way."""
    own = {"smoke": {"work"}, "toolchain": {"look", "compile"}}.get(suite, {suite})
    for session in healthy.sessions:
        if session.name.partition(".")[0] not in own:
            continue
        for ran in session.steps:
            for way, other in _ways(ran):
                steps = tuple(
                    x for r in session.steps for x in ((other,) if r is ran else (r,)) if x
                )
                changed = replace(session, steps=steps)
                all_ = tuple(changed if s is session else s for s in healthy.sessions)
                yield f"{ran.step} {way}", replace(healthy, sessions=all_)
    yield "no GPU", replace(healthy, choice=replace(healthy.choice, gpu=None, reason="none here"))
    yield (
        "nothing ran",
        replace(
            healthy,
            sessions=tuple(s for s in healthy.sessions if s.name.partition(".")[0] not in own),
        ),
    )


def _ways(ran: Ran) -> Iterator[tuple[str, Ran | None]]:
    lines = ran.out.splitlines(keepends=True)
    yield "is missing", None
    yield "hangs", replace(ran, rc=-1, signal=9, timed_out=True, ms=9000)
    yield "crashes", replace(ran, rc=-1, signal=11)
    yield "fails", replace(ran, rc=1, out="", err="error: something")
    yield "cannot start", replace(ran, rc=127, out="", err="it cannot be started")
    yield "finds the disk full", replace(ran, rc=1, err="No space left on device")
    yield "floods", replace(ran, cut=True)
    yield "is silent", replace(ran, out="")
    yield "succeeds", replace(ran, rc=0)
    if len(lines) > 2:
        yield "prints half a line", replace(ran, out=ran.out[: len(ran.out) // 2])
        yield "ends before its end", replace(ran, out="".join(lines[:-1]))
        yield "says all of it twice", replace(ran, out=ran.out * 2)
        yield "is of another run", replace(ran, out=ran.out.replace('"nonce": "', '"nonce": "f'))
        kinds: set[str] = set()
        for i, line in enumerate(lines):
            kind = line[:40].partition(",")[0]
            for what, other in _others(line) if kind not in kinds else ():
                out = "".join((*lines[:i], other, *lines[i + 1 :]))
                yield f"has {what} in line {i}", replace(ran, out=out)
            kinds.add(kind)
            if not any(word in line for word in ('"health"', "l2.sweep", ".plain", ".pedantic")):
                yield f"loses line {i}", replace(ran, out="".join((*lines[:i], *lines[i + 1 :])))


def _others(line: str) -> Iterator[tuple[str, str]]:
    """The same event with one field of it another."""
    try:
        event = json.loads(line)
    except ValueError:
        return
    for name, value in event.items() if isinstance(event, dict) else ():
        more: tuple[object, ...] = ()
        if isinstance(value, bool):
            more = (not value,)
        elif isinstance(value, int | float):
            more = (0, value + 1, 999)
        elif isinstance(value, str):
            more = ("", "other")
        for other in more:
            yield f"{name} {other!r}", json.dumps({**event, name: other}) + "\n"
    yield (
        "a failure before it",
        json.dumps({"event": "failed", "call": "synchronize", "says": "X", "code": 719})
        + "\n"
        + line,
    )


def judged(one: Scenario) -> Verdicts | str:
    """Every verdict with its owner; an exception by its name."""
    try:
        checks = SUITES[one.suite].judge(one.seen)
        result = verdicts.suite(one.suite, checks, required=True, seconds=0)
        codes = (verdicts.run_exit((result,)), verdicts.run_exit((_BESIDE, result), (one.suite,)))
        below = verdicts.run_exit((_BESIDE, replace(result, required=False)), (one.suite,))
    except Exception as e:  # a judge that raises is broken, however it does
        return type(e).__name__
    found = tuple((c.id, c.verdict, c.blame, c.core) for c in checks)
    return (*found, (f"{codes} {below}", verdicts.word(codes[0]), None, False))


@cache
def right(suite: str) -> tuple[Verdicts | str, ...]:
    """What the unbroken judge says of each scenario."""
    return tuple(judged(one) for one in scenarios(suite))
