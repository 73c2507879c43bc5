"""Judges with one thing broken each: a comparison turned round, a condition that is never met, a
threshold moved, a control left out, a verdict or an owner that is another."""

import ast
import copy
import importlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import NamedTuple

import envbuild.certify
from envbuild.certify.suites import SUITES
from tests.certify.judge_scenarios import judged, scenarios

HOME = Path(envbuild.certify.__file__).parent
SHARED = ("verdicts", "limits", "stats", "answers", "floors", "suites.common", "suites.bounds")
_TURNED = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_WORDS = {"fail": "pass", "inconclusive": "pass", "void": "pass", "skip": "pass"}
_OWNERS = {"machine": "image", "image": "machine", "suite": "image"}


class Mutant(NamedTuple):
    """One change: where, and what of."""

    module: str
    line: int
    what: str
    tree: ast.Module


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
