"""Framework builds: architectures in the wheel, index, Python; Triton and torch.compile."""

from functools import lru_cache

from envbuild.matrix.model import Capability, TorchBuild, TritonBuild
from envbuild.planner.gencode import runs_on
from envbuild.planner.ranges import numbers, parse
from envbuild.planner.rules.base import error, rule
from envbuild.planner.table import Place, Table, cite
from envbuild.planner.target import Target
from envbuild.values.finding import Finding


def key(build: TorchBuild) -> str:
    """How findings name the row."""
    return f"{build.torch}-{build.index}"


@rule("build", asked=("torch",))
def torch_version(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """The version asked for."""
    del table
    wanted = target.torch.range if target.torch else None
    if wanted is None or build.torch in wanted:
        return None
    says = f"torch {build.torch} is not {wanted.text}"
    return error("torch-version", says, cite(build, key(build)))


@rule("build", "arch")
def torch_arch(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """Builds for the CPU architecture."""
    del table
    if target.arch in {None, build.arch}:
        return None
    return error("torch-arch", f"this build is for {build.arch}", cite(build, key(build)))


@rule("build", each="cc")
def torch_code(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """The wheel must have code that runs on each card."""
    for cc in target.cc:
        row = table.capability(cc)
        if not covers(table, build, row):
            has = " ".join(f"sm_{t}" for t in build.targets)
            says = (
                f"torch {build.torch} from {build.index} (CUDA {build.cuda}) "
                f"has no code for cc {cc} (sm_{row.target}), only {has}"
            )
            why = f"a build from source, or {_instead(table, row, build.arch)}"
            return error("torch-code", says, cite(build, key(build)), why)
    return None


def covers(table: Table, build: TorchBuild, row: Capability) -> bool:
    """SASS that runs on the card, or PTX at or below it that the driver can compile."""
    if any(runs_on(target, row, table) for target in build.targets):
        return True
    return any(t.isdigit() and int(t) <= int(row.target) for t in build.ptx) and row.ptx_jit


def _instead(table: Table, row: Capability, arch: str) -> str:
    for build in table.builds:
        if build.arch == arch and covers(table, build, row):
            return f"torch {build.torch} from {build.index}, the newest with code for {row.cc}"
    return f"none: no build has code for {row.cc}"


@lru_cache(maxsize=4096)
def python_fits(build: TorchBuild, python: str | None) -> bool:
    """The wheel exists for this interpreter; an unknown interpreter fits."""
    if python is None:
        return True
    if build.pythons:
        return python in build.pythons
    return not build.python or python in parse(build.python, "python")


@rule(("os",), asked=("torch", "packages"))
def python_there(table: Table, place: Place, target: Target) -> Finding | None:
    """Python packages need a base whose own Python is known."""
    del target
    os = table.os_of(place)
    known = os is not None and os.python is not None and os.family == "apt"
    if place.os is None or known:
        return None
    says = f"Python packages are not installed on {place.os}: its Python is not in the matrices"
    return error("python", says, cite(os, os.id) if os is not None else place.cite)


def triton_of(table: Table, version: str) -> TritonBuild | None:
    """What a Triton release reaches."""
    at = numbers(version)
    return next((t for t in table.triton if numbers(t.triton) <= at), None)


@rule(("kind",), "torch", "needs_compiler", binds=("framework",))
def compiler_wanted(table: Table, place: Place, target: Target) -> Finding | None:
    """A compiler, unless framework wheels bring all that runs."""
    del table
    if target.torch is not None and not target.needs_compiler:
        return None
    return error("no-compiler", "framework wheels bring no compiler for the GPU", place.cite)


@rule(("kind",), "needs_compiler", "source", "flavour", asked=("torch",))
def plain_base(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred: the plain system that framework wheels need, unless a source was named."""
    del table
    asked = target.source not in {None, "wheels"} or target.flavour is not None
    if place.kind == "framework" or target.torch is None or target.needs_compiler or asked:
        return None
    says = "the framework's wheels bring their own CUDA beside that of the base"
    return Finding(id="cuda-twice", severity="info", says=says, source=place.cite)
