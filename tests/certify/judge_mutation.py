"""Judges with one thing broken each: which verdict on a simulated device turns wrong?

Each mutant is one change of one place of a judge: a comparison turned round, a condition that is
never met, a threshold moved, a control left out, a verdict or an owner that is another. It is
killed where any verdict on any scenario is not the one that the unbroken judge gives. Scenarios are
devices healthy and sick, controls that find nothing, and every step ended in every way there is.
"""

import ast
import contextlib
import copy
import importlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import NamedTuple

import envbuild.certify
from envbuild.certify import verdicts
from envbuild.certify.seen import Ran, Seen
from envbuild.certify.suites import SUITES
from envbuild.values.certificate import Check, SuiteResult
from envbuild.values.codec import Pairs, replace
from tests.certify.simulated.devices import device
from tests.certify.simulated.inside import Inside, inside
from tests.certify.simulated.machine import HEALTHY, Machine, Trouble, observe
from tests.certify.simulated.sick import CONTROLS, SICK, WITH

HOME = Path(envbuild.certify.__file__).parent
SHARED = ("verdicts", "limits", "stats", "answers", "floors", "suites.common", "suites.bounds")
_TITLES = (WITH, "GTX 1080 Ti", "GTX 1650", "A100 1g MIG", "RTX 3080 on WSL", "Jetson AGX Orin")
_TURNED = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
# What tests say of the judges of a suite, without running anything.
_TESTS = {
    "smoke": ("judge", "judge_smoke"),
    "toolchain": ("judge", "judge_toolchain"),
    "fast": ("judge_fast", "limits", "stats"),
    "torch": ("judge_torch", "judge_frameworks", "words"),
    "cupy": ("judge_frameworks", "framework_cases", "words"),
    "numba": ("judge_frameworks",),
    "triton": ("judge_frameworks",),
    "cuda-python": ("judge_frameworks",),
    "correct": ("judge_correct", "sanitizer"),
    "tools": ("tools",),
    "multi": ("multi",),
}
_WORDS = {"fail": "pass", "inconclusive": "pass", "void": "pass", "skip": "pass"}
_OWNERS = {"machine": "image", "image": "machine", "suite": "image"}


class Mutant(NamedTuple):
    """One change: where, and what of."""

    module: str
    line: int
    what: str
    tree: ast.Module


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


# ---- scenarios ---------------------------------------------------------------------------------


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


# ---- mutants -----------------------------------------------------------------------------------


def modules() -> tuple[str, ...]:
    """Modules of judges: what the suites share, and each suite's own."""
    own = sorted(HOME.glob("suites/**/*.py"))
    names = [".".join(path.relative_to(HOME).with_suffix("").parts) for path in own]
    kept = [n.removesuffix(".__init__") for n in names if n not in {"suites.__init__", *SHARED}]
    return (*SHARED, *dict.fromkeys(kept))


def suites_of(module: str) -> tuple[str, ...]:
    """The suites whose verdicts a module has a part in."""
    part = [*module.split("."), ""][1].replace("_", "-")
    if part in SUITES:
        return (part,)
    return {
        "suites.compiling": ("toolchain",),
        "suites.loading": ("toolchain",),
        "suites.frameworks": ("cupy", "torch", "numba"),
        "suites.bounds": ("cupy", "torch"),
        "suites.words": ("torch",),
    }.get(module, ("smoke", "cupy", "fast", "correct", "tools"))


def mutants(module: str) -> Iterator[Mutant]:
    """Every change of every place of a module."""
    path = HOME.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    called = _called(module, str(path))
    idle = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and not _start(function) & called
        for node in ast.walk(function)
    }
    for i, node in enumerate(ast.walk(tree)):
        if id(node) in idle:
            continue
        for what, change in _changes(node):
            broken = copy.deepcopy(tree)
            place = next(n for j, n in enumerate(ast.walk(broken)) if j == i)
            change(place)
            yield Mutant(
                module, getattr(node, "lineno", 0), what, ast.fix_missing_locations(broken)
            )


@cache
def _called(module: str, path: str) -> frozenset[int]:
    """First lines of the functions in a file that judging calls; the others make steps."""
    found: set[int] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == path:
            found.add(frame.f_code.co_firstlineno)

    for suite in suites_of(module):
        for one in scenarios(suite)[:80]:
            sys.setprofile(note)
            judged(one)
            sys.setprofile(None)
    return frozenset(found)


def _start(function: ast.FunctionDef) -> set[int]:
    return {function.lineno, *(d.lineno for d in function.decorator_list)}


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[..., None]]]:
    """(what, how) of the changes that this kind of node can suffer."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNED:
        other = _TURNED[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} for {other.__name__}", _turn
    if isinstance(node, ast.BoolOp):
        yield "and for or", _swap
    if isinstance(node, ast.If | ast.IfExp):
        yield "a condition is never met", _never
    if isinstance(node, ast.Constant):
        if isinstance(node.value, float) and node.value != 0:
            yield f"{node.value} doubled", _double
            yield f"{node.value} halved", _halve
        if isinstance(node.value, str) and node.value in _WORDS:
            yield f"pass for {node.value}", _word
        if isinstance(node.value, str) and node.value in _OWNERS:
            yield f"{_OWNERS[node.value]} for {node.value}", _owner
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "settle":
        yield "controls are left out", _unsettled


def _turn(node: ast.Compare) -> None:
    node.ops[0] = _TURNED[type(node.ops[0])]()


def _swap(node: ast.BoolOp) -> None:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _never(node: ast.If) -> None:
    # What it names with := is still named.
    node.test = ast.BoolOp(ast.And(), [node.test, ast.Constant(value=False)])


def _double(node: ast.Constant) -> None:
    node.value = float(str(node.value)) * 2


def _halve(node: ast.Constant) -> None:
    node.value = float(str(node.value)) / 2


def _word(node: ast.Constant) -> None:
    node.value = _WORDS[str(node.value)]


def _owner(node: ast.Constant) -> None:
    node.value = _OWNERS[str(node.value)]


def _unsettled(node: ast.Call) -> None:
    node.func = ast.Lambda(
        args=ast.arguments([], [ast.arg("check")], ast.arg("controls"), [], [], None, []),
        body=ast.Name("check", ast.Load()),
    )


# ---- breaking ----------------------------------------------------------------------------------


class Broken:
    """A module with a mutant in its place; what others took from it is broken, too."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = f"envbuild.certify.{mutant.module}"
        self.module = importlib.import_module(self.name)
        self.code = compile(mutant.tree, str(self.module.__file__), "exec")
        self.codes: list[tuple[FunctionType, CodeType]] = []
        self.values: list[tuple[ModuleType, str, object]] = []

    def __enter__(self) -> None:
        fresh = ModuleType(self.name)
        fresh.__dict__.update({k: v for k, v in vars(self.module).items() if k.startswith("__")})
        exec(self.code, fresh.__dict__)  # noqa: S102 - our own source with one change
        for name, value in vars(fresh).items():
            old = vars(self.module).get(name)
            if getattr(value, "__module__", self.name) != self.name or name.startswith("__"):
                continue
            if isinstance(old, FunctionType) and isinstance(value, FunctionType):
                self._function(old, value)
            elif isinstance(old, type) and isinstance(value, type):
                for key, method in vars(value).items():
                    new, before = (getattr(m, "fget", m) for m in (method, vars(old).get(key)))
                    if isinstance(new, FunctionType) and isinstance(before, FunctionType):
                        self._function(before, new)
            elif old is not None and old != value:
                self._value(old, value)

    def __exit__(self, *_: object) -> None:
        for function, code in self.codes:
            function.__code__ = code
        for module, name, old in self.values:
            setattr(module, name, old)

    def _function(self, old: FunctionType, new: FunctionType) -> None:
        if old.__code__ != new.__code__:
            self.codes.append((old, old.__code__))
            old.__code__ = new.__code__

    def _value(self, old: object, new: object) -> None:
        for name, module in list(sys.modules.items()):
            if not name.startswith("envbuild.certify"):
                continue
            for key, value in list(vars(module).items()):
                if value is old and not key.startswith("__"):
                    self.values.append((module, key, old))
                    setattr(module, key, new)


def killed(mutant: Mutant, limit: int | None = None) -> str:
    """The scenario that it falls by; empty = none of them, or of the first ``limit``."""
    wanted = {suite: right(suite)[:limit] for suite in suites_of(mutant.module)}
    with Broken(mutant):
        for suite, verdicts_ in wanted.items():
            for one, before in zip(scenarios(suite), verdicts_, strict=False):
                if judged(one) != before:
                    return f"{suite}: {one.title}"
    return ""


def fails_tests(mutant: Mutant) -> bool:
    """Whether tests of the judges fail with it; asked of what no scenario kills."""
    import pytest

    names = {name for suite in suites_of(mutant.module) for name in _TESTS.get(suite, ())}
    files = [str(Path(__file__).with_name(f"test_{name}.py")) for name in sorted(names)]
    quiet = ("-x", "-q", "-p", "no:cacheprovider", "--no-header", "--no-summary")
    nowhere = io.StringIO()
    with Broken(mutant), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        return pytest.main([*quiet, *files]) == pytest.ExitCode.TESTS_FAILED


def report(only: str = "", every: int = 1) -> int:
    """Break each place in turn, say what survives both, and the rates."""
    total, by_tests = 0, 0
    alive: list[Mutant] = []
    for module in modules():
        if only not in module:
            continue
        found = list(mutants(module))[::every]
        left = [mutant for mutant in found if not killed(mutant)]
        still = [mutant for mutant in left if not fails_tests(mutant)]
        total, by_tests, alive = total + len(found), by_tests + len(left), [*alive, *still]
        print(
            f"{module}: of {len(found)}, {len(found) - len(left)} change a verdict on a simulated "
            f"device, {len(left) - len(still)} more fail a test",
            flush=True,
        )
        for mutant in still:
            print(f"    line {mutant.line}: {mutant.what}")
    print(
        f"{total - len(alive)} of {total} mutants of judges are killed, {total - by_tests} of them "
        "by simulated devices alone"
    )
    return int(bool(alive))
