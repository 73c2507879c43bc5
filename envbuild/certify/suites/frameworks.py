"""What the framework suites share: is it in the image, what its probe said, numbers against bounds.

A part of a framework is a process of its own (`kernels/frameworks/*.py`), so that one that dies or
hangs is a finding of its own check. Where the import takes seconds the parts are forked from a
process that has done it; what does not come to its end that way runs again by itself. They run
only where `smoke` came through: code that is not the framework's is right on this GPU, so a
framework's failure is the image's.
"""

import json
import re
from collections.abc import Callable, Sequence

from envbuild.certify import facts
from envbuild.certify.answers import Answer, read
from envbuild.certify.arithmetic import terms
from envbuild.certify.seen import Seen, Spoken
from envbuild.certify.steps import Bench, Step
from envbuild.certify.suites.words import plain
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Blame, Check, Control, Verdict
from envbuild.values.codec import Pairs, replace

Stopped = tuple[Verdict, str, Blame | None]
_CC = re.compile(r"\d{1,2}\.\d")
_STAGE = re.compile(r'^\{"event": "doing", "name": "([^"]*)"\}', re.MULTILINE)
# Whatever is compiled at run time is compiled in this run, and nothing of it stays.
_CACHES = (
    "CUDA_CACHE_PATH",
    "CUPY_CACHE_DIR",
    "NUMBA_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
)


class Said(Spoken, frozen=True):
    """One line of a framework's probe; fields that another kind of line has keep their defaults.

    Attributes:
        control: what was made wrong on purpose; empty = the result itself.
        wrong: elements that differ (kind ``equal``).
        error: largest error, in units of the sum of the products of its element (kind ``near``);
            None = not a finite number.
        says: text of an exception, or of a refusal that was asked for; empty = not refused.
        targets: as the framework lists them, ``sm_80``, ``compute_90``.
        ms: durations of single launches, in milliseconds.
    """

    control: str = ""
    wrong: int = -1
    compared: int = 0
    error: float | None = None
    kind: str = ""
    version: str = ""
    cuda: str = ""
    other: str = ""
    nvrtc: str = ""
    ptxas: str = ""
    target: str = ""
    path: str = ""
    cc: str = ""
    targets: tuple[str, ...] = ()
    available: bool = False
    on: bool = False
    off: bool = False
    count: int = -1
    number: int = 0
    bytes: int = 0
    ms: tuple[float, ...] = ()


# The largest error that a result may have.
Bound = Callable[[Said], float]
# What a part said, and why there is nothing more to judge in it (None = it came to its end).
Heard = tuple[Answer[Said], Stopped | None]


def installed(seen: Seen, *names: str) -> tuple[str, str] | None:
    """(distribution, version) of the first of these that the image has.

    A name that ends with ``*`` is a prefix.
    """
    have = facts.packages(seen.step("packages")).versions
    for name in names:
        for one, version in have.items():
            if one == name or (name.endswith("*") and one.startswith(name[:-1])):
                return one, version
    return None


def missing(seen: Seen, what: str, *names: str) -> Stopped | None:
    """(verdict, reason, blame) where the framework is not there to be tried; None = it is."""
    if seen.choice.reason:
        return "skip", seen.choice.reason, "machine"
    if seen.step("packages") is None:
        return "inconclusive", "the image was not looked at", "suite"
    if facts.packages(seen.step("packages")).python is None:
        return "skip", f"there is no python3 in the image, so no {what}", "image"
    if installed(seen, *names) is None:
        return "skip", f"{what} is not in the image", "image"
    return None


def device_cc(seen: Seen) -> str:
    """Compute capability of the device in use; empty = unknown."""
    cc = (seen.choice.gpu.cc if seen.choice.gpu else None) or ""
    return cc if _CC.fullmatch(cc) else ""


def step(bench: Bench, seen: Seen, name: str, *argv: str, seconds: float = 90.0) -> Step:
    """One part, with the image's own python3; what it caches goes to the scratch folder.

    The probe is called as the step is: ``torch_graph.py`` of ``torch.graph``.
    """
    caches = tuple(f"{cache}={bench.out('cache')}" for cache in _CACHES)
    env = (*caches, "PYTHONDONTWRITEBYTECODE=1", "TORCHINDUCTOR_COMPILE_THREADS=1")
    gpu = seen.choice.gpu
    if gpu and gpu.uuid and gpu.uuid.startswith("GPU-"):
        env = (*env, f"CUDA_VISIBLE_DEVICES={gpu.uuid}")
    program = bench.probe(f"frameworks/{name.replace('.', '_').replace('-', '_')}.py")
    return Step(name, ("python3", program, seen.nonce, *argv), env, seconds)


def forked(bench: Bench, seen: Seen, name: str, module: str, parts: Sequence[Step]) -> Step:
    """One step that imports a module once and forks each of the parts from there."""
    listed = [(part.name, part.seconds, part.argv[1:]) for part in parts]
    program = bench.probe("frameworks/envbuild_apart.py")
    argv = ("python3", program, seen.nonce, module, json.dumps(listed))
    seconds = 60.0 + sum(part.seconds for part in parts)
    return Step(name, argv, parts[0].env, seconds, tuple(part.name for part in parts))


def unheard(seen: Seen, parts: Sequence[Step], what: str) -> list[Step]:
    """Those that did not come to their end, where the image has all that they need."""
    stopped = ((part, answer(seen, part.name, what)[1]) for part in parts)
    return [part for part, why in stopped if why and why[0] != "skip"]


def answer(seen: Seen, name: str, what: str) -> Heard:
    """What one step said; ``what`` is the framework with its version, for the reason."""
    found = read(seen, name, Said, owner="image", once=("build", "device", "error", "missing"))
    if not found.whole:
        return found, _unended(seen, name, found)
    twice = [(s.name, s.control) for s in found.lines if s.event in {"equal", "near"}]
    if len(set(twice)) != len(twice):
        return found, ("inconclusive", f"the answer of {name} names a result twice", "suite")
    device = found.one("device")
    if device and device_cc(seen) not in {"", device.cc}:
        reason = f"{what} took a device of cc {device.cc}, cc {device_cc(seen)} was chosen"
        return found, ("inconclusive", reason, "image")
    if missing := found.one("missing"):
        free = "free memory" in missing.says
        lacks = f"there are no {missing.says}" if free else f"the image lacks {missing.says}"
        return found, ("skip", lacks, "machine" if free else "image")
    if error := found.one("error"):
        ran = seen.step(name)
        said = (f"{error.kind}: {error.says}", ran.err if ran else "")
        word = plain(said, what, device_cc(seen), seen.driver or "")
        return found, (word.verdict, word.reason, word.blame)
    if found.one("end") is None:
        return found, ("inconclusive", f"{name} did not come to its end", "image")
    return found, None


def gated(build: Check, seen: Seen, name: str, what: str) -> Heard:
    """What one step said; nothing is run of a framework whose build does not fit the device."""
    if build.verdict == "pass":
        return answer(seen, name, what)
    verdict: Verdict = "skip" if build.verdict == "fail" else build.verdict
    return Answer(), (verdict, f"not run: {build.reason}", build.blame)


def _unended(seen: Seen, name: str, found: Answer[Said]) -> Stopped:
    """A part that died or hung, and where; loading a framework may be slow for any reason."""
    ran = seen.step(name)
    stages = _STAGE.findall(ran.out) if ran else []
    if not stages:
        return found.verdict, found.reason, found.blame
    reason = f"{found.reason}, in the stage: {stages[-1]}"
    slow = ran is not None and ran.timed_out and stages[-1].startswith("import ")
    return "inconclusive" if slow else found.verdict, reason, found.blame


def judged(
    check: Check,
    heard: Heard,
    names: Sequence[str],
    bound: Bound = lambda _: 0.0,
    *more: Control,
) -> Check:
    """The check by its results: all there, each within its bound, each control outside it.

    Args:
        check: its prototype.
        heard: what its part said.
        names: results that must be there; others count, too.
        bound: of a result of kind ``near``.
        more: controls that are of another form.
    """
    found, stopped = heard
    results = [s for s in found.lines if s.event in {"equal", "near"} and not s.control]
    spoilt = [s for s in found.lines if s.event in {"equal", "near"} and s.control]
    wrong = [text for text in (_fault(s, bound) for s in results) if text]
    check = replace(check, inputs=Pairs((*check.inputs, *_inputs(results, bound))))
    if wrong or not stopped:
        check = _bounded(check, results, bound)
    if wrong:
        # That the comparison can fail needs no further proof here.
        return ruled(check, "fail", "; ".join(wrong), "image")
    if stopped:
        return ruled(check, *stopped)
    have = {s.name for s in results}
    if lacking := [name for name in names if name not in have]:
        return ruled(check, "inconclusive", f"no result of {', '.join(lacking)}", "suite")
    controls = tuple(_control(s, bound) for s in spoilt)
    if bare := have - {s.name for s in spoilt}:
        return ruled(check, "inconclusive", f"no control of {', '.join(sorted(bare))}", "suite")
    return settle(check, *controls, *more)


def _bounded(check: Check, results: Sequence[Said], bound: Bound) -> Check:
    """The check with each result as numbers, and what a pass needs of them, to be done again."""
    numbers: dict[str, float] = {}
    bounds: list[str] = []
    for i, s in enumerate(results, 1):
        name = re.sub("[^A-Za-z0-9]+", "_", f"r{i}_{s.name}")[:40]
        numbers[f"{name}_compared"] = s.compared
        bounds.append(f"{name}_compared >= 1")
        if s.event == "equal":
            numbers[f"{name}_wrong"] = s.wrong
            bounds.append(f"{name}_wrong == 0")
        elif s.error is not None:
            numbers |= {f"{name}_error": s.error, f"{name}_allowed": bound(s)}
            bounds += [f"{name}_error >= 0", f"{name}_error <= {name}_allowed"]
    return replace(
        check,
        bounds=(*check.bounds, *bounds),
        terms=Pairs((*check.terms, *terms(numbers))),
    )


def refusal(line: Said | None, *words: str, says: str = "refused") -> tuple[Control, ...]:
    """The control of what must be refused, for a reason that holds one of these words."""
    if line is None:
        return ()
    red = any(word in line.says for word in words)
    says = says if red else f"not refused: {line.says[:120] or 'it was taken'}"
    return (Control(name=line.name, red=red, says=says),)


def _fault(s: Said, bound: Bound) -> str:
    """Why a result is wrong; empty where it is right."""
    if s.compared < 1:
        return f"{s.name}: nothing was compared"
    if s.event == "equal":
        return "" if s.wrong == 0 else f"{s.name}: {s.wrong} of {s.compared} elements are wrong"
    if s.error is None or s.error < 0:
        return f"{s.name}: not a finite number"
    limit = bound(s)
    return "" if s.error <= limit else f"{s.name}: error {s.error:.1e}, allowed {limit:.1e}"


def _control(s: Said, bound: Bound) -> Control:
    if s.event == "equal":
        red, says = s.wrong > 0, f"{s.wrong} of {s.compared} wrong"
        if s.control == "changed element":
            red = s.wrong == 1
    else:
        red = s.error is None or s.error > bound(s)
        says = "not a finite number" if s.error is None else f"error {s.error:.1e}"
    return Control(name=f"{s.name}: {s.control}", red=red and s.compared > 0, says=says)


def _inputs(results: Sequence[Said], bound: Bound) -> list[tuple[str, str]]:
    found = []
    for s in results:
        if s.event == "near":
            error = "not finite" if s.error is None else f"{s.error:.1e}"
            found.append((s.name, f"error {error}, allowed {bound(s):.1e}, {s.compared} elements"))
        else:
            found.append((s.name, f"{s.wrong} of {s.compared} elements wrong"))
    return found
