"""Framework builds: architectures in the wheel, index, Python; Triton and torch.compile."""

from functools import lru_cache

from envbuild.matrix.model import Capability, JetsonRow, TorchBuild, TorchPair, TritonBuild
from envbuild.planner import drivers
from envbuild.planner.gencode import runs_on
from envbuild.planner.ranges import numbers, parse
from envbuild.planner.rules.base import error, rule
from envbuild.planner.table import Place, Table, cite, remember
from envbuild.planner.target import COMPANIONS, PINNED, Target, Wanted
from envbuild.values.finding import Finding

JETSONS = "Jetsons have builds of their own, from NVIDIA"


def key(build: TorchBuild) -> str:
    """How findings name the row."""
    return f"{build.torch}-{build.index}"


@rule("build", asked=("torch",))
def torch_version(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """The version asked for."""
    del table
    wanted = target.torch.range if target.torch else None
    if wanted is None:
        return None
    says = f"torch {build.torch} is not {wanted.text}"
    if build.torch in wanted:
        if wanted.local in {"", build.index}:
            return None
        says = f"torch {build.torch} from {build.index} is not +{wanted.local}"
    return error("torch-version", says, cite(build, key(build)))


@rule("build", "as_of")
def torch_released(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """What came after the date that counts is not there yet."""
    day = _first_day(table, build.torch) if target.as_of < table.matrices.date else ""
    if not target.as_of or day <= target.as_of:
        return None
    says = f"torch {build.torch} came after {target.as_of}"
    return error("torch-later", says, cite(build, key(build)))


def _first_day(table: Table, version: str) -> str:
    """The day of a release: that of the wheel whose upload was seen, empty where none was."""
    return next((b.released for b in table.matrices.torch if b.torch == version and b.released), "")


@rule("build", "arch")
def torch_arch(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """Builds for the CPU architecture."""
    if target.arch in {None, build.arch}:
        return None
    for row in table.matrices.torch:
        if (row.torch, row.arch, row.cuda) == (build.torch, target.arch, None):
            says = (
                f"torch {row.torch} from {row.index} for {target.arch} is a build for the CPU "
                "alone, and none with CUDA is in these matrices"
            )
            return error("torch-arch", says, cite(row, key(row)))
    says = f"torch {build.torch} from {build.index} is built for {build.arch} alone"
    return error("torch-arch", says, cite(build, key(build)))


@rule("build", each="cc")
def torch_code(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """The wheel must have code that runs on each card."""
    for cc in target.cc:
        row = table.capability(cc)
        if not covers(table, build, row):
            has = " ".join(f"sm_{t}" for t in build.targets)
            says = (
                f"torch {build.torch} from {_indexes(table, build)} (CUDA {build.cuda}) "
                f"has no code for cc {cc} (sm_{row.target}), only {has}"
            )
            if row.tegra and newest(table, build.arch, (cc,)) is None:
                says = f"no build of torch here has code for cc {cc} (sm_{row.target}): {JETSONS}"
            why = f"a build from source, or {_instead(table, row, build.arch)}"
            return error("torch-code", says, cite(build, key(build)), why)
    return None


def _indexes(table: Table, build: TorchBuild) -> str:
    """All indexes that have a release with the same CUDA and code: ``pypi and cu128``."""
    same = ("torch", "cuda", "arch", "targets", "ptx")
    alike = [b for b in table.builds if all(getattr(b, f) == getattr(build, f) for f in same)]
    return " and ".join(b.index for b in alike)


def covers(table: Table, build: TorchBuild, row: Capability) -> bool:
    """SASS that runs on the card, or PTX at or below it that some driver of it compiles."""
    if finished(table, build, row):
        return True
    ptx = any(t.isdigit() and int(t) <= int(row.target) for t in build.ptx)
    return ptx and build.cuda is not None and drivers.last_compiles(table, row, build.cuda)


def finished(table: Table, build: TorchBuild, row: Capability) -> bool:
    """The wheel has SASS that runs on the card."""
    return any(runs_on(target, row, table) for target in build.targets)


@rule("build", asked=("driver_cuda",), each="cc")
def torch_jit(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """A wheel that reaches a card through PTX alone needs a driver at its level."""
    level = target.driver_cuda
    if level is None or build.cuda is None or numbers(build.cuda) <= numbers(level):
        return None
    for cc in target.cc:
        row = table.capability(cc)
        if covers(table, build, row) and not finished(table, build, row):
            says = (
                f"torch {build.torch} from {build.index} has only PTX of CUDA {build.cuda} for "
                f"cc {cc}, and the driver compiles up to CUDA {level}"
            )
            why = "minor-version compatibility covers finished code, not PTX: error 222"
            return error("torch-jit", says, cite(build, key(build)), why)
    return None


@rule("build", each="cc")
def torch_cudnn(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """Preferred: a wheel whose own cuDNN still has code for each card."""
    for cc in target.cc:
        row = table.capability(cc)
        if not left_by_cudnn(table, build, row):
            continue
        says = (
            f"torch {build.torch} from {build.index} brings cuDNN {build.cudnn}, "
            f"which has no code for cc {cc}: convolutions fail"
        )
        last = newest(table, build.arch, (cc,))
        if last is not None and not left_by_cudnn(table, last, row):
            says += f"; torch {last.torch} from {last.index} is the last whose cuDNN has it"
        source = cite(build, key(build))
        return Finding(id="torch-cudnn", severity="warn", says=says, source=source)
    return None


def left_by_cudnn(table: Table, build: TorchBuild, row: Capability) -> bool:
    """The cuDNN that the wheel pins has left this card."""
    return build.cudnn is not None and any(
        numbers(build.cudnn) >= numbers(floor.cudnn_from)
        and numbers(row.cc) < numbers(floor.cc_min)
        for floor in table.matrices.cudnn
    )


def newest(
    table: Table, arch: str | None, cc: tuple[str, ...], target: Target | None = None
) -> TorchBuild | None:
    """The newest build with code for all of these cards, if there is one in its cuDNN too.

    With a target, of those that run on its driver.
    """
    on = (target.driver, target.driver_cuda, target.windows) if target is not None else ()
    key = ("newest", arch, cc, on)
    if key not in table.memo:
        capabilities = [table.capabilities[one] for one in cc if one in table.capabilities]
        able = [
            build
            for build in table.builds
            if build.arch == arch
            and all(covers(table, build, row) for row in capabilities)
            and (target is None or runs(table, build, capabilities, target))
        ]
        whole = (b for b in able if not any(left_by_cudnn(table, b, row) for row in capabilities))
        remember(table, key, next(whole, able[0] if able else None))
    found = table.memo[key]
    return found if isinstance(found, TorchBuild) else None


def runs(table: Table, build: TorchBuild, rows: list[Capability], target: Target) -> bool:
    """The driver in hand, if any is known, starts this build and compiles what it has as PTX."""
    least = least_driver(table, build, windows=target.windows)
    if target.driver is not None and least and numbers(target.driver) < numbers(least):
        return False
    level = target.driver_cuda
    above = level is not None and numbers(build.cuda or "0") > numbers(level)
    return not above or all(finished(table, build, row) for row in rows)


def least_driver(table: Table, build: TorchBuild, *, windows: bool) -> str | None:
    """The lowest driver that starts the build: the floor of its CUDA's major."""
    floor = drivers.floor(table, build.cuda) if build.cuda is not None else None
    return drivers.floor_text(floor, windows=windows) if floor is not None else None


def _instead(table: Table, row: Capability, arch: str) -> str:
    build = newest(table, arch, (row.cc,))
    if build is None:
        return f"none: no build has code for {row.cc}"
    return f"torch {build.torch} from {build.index}, the newest with code for {row.cc}"


@lru_cache(maxsize=4096)
def python_fits(build: TorchBuild, python: str | None) -> bool:
    """The wheel exists for this interpreter; an unknown interpreter fits."""
    if python is None:
        return True
    if build.pythons:
        return python in build.pythons
    return not build.python or python in parse(build.python, "python")


def companion(table: Table, build: TorchBuild, name: str) -> tuple[str | None, TorchPair | None]:
    """The version of a companion that goes with a build, and the row that says so."""
    row = next((pair for pair in table.matrices.torch_pairs if pair.torch == build.torch), None)
    if row is None:
        return None, None
    return (row.torchvision if name == "torchvision" else row.torchaudio), row


@rule("build", asked=("packages",))
def torch_pair(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """A companion in the version asked for goes with one torch."""
    for wanted in target.packages:
        if wanted.name in COMPANIONS and wanted.range is not None:
            version, row = companion(table, build, wanted.name)
            if row is not None and version is not None and version not in wanted.range:
                says = f"{wanted.name} {version} goes with torch {build.torch}, not {wanted}"
                return error("torch-pair", says, cite(row, row.torch))
    return None


def pinned(table: Table, build: TorchBuild, wanted: Wanted) -> tuple[str, str | None] | None:
    """What the wheel requires of a package itself: its name and version; None = nothing."""
    rows = table.packages.get(wanted.name)
    name = rows[0].name if rows else wanted.name
    if name not in PINNED:
        return None
    version = getattr(build, name, None)
    if name == "triton" and version is None:
        # One release of torch requires one Triton, whatever its CUDA.
        same = (b.triton for b in table.builds if (b.torch, b.arch) == (build.torch, build.arch))
        version = next(filter(None, same), None)
    return name, version


@rule("build", asked=("packages",))
def torch_pins(table: Table, build: TorchBuild, target: Target) -> Finding | None:
    """A wheel of torch requires one version of Triton and cuDNN, and pip takes no other."""
    for wanted in target.packages:
        one = pinned(table, build, wanted)
        if one is None or wanted.range is None or (one[1] is not None and one[1] in wanted.range):
            continue
        own = f"{one[0]} {one[1] or 'of its own, which is not in these matrices'}"
        says = f"torch {build.torch} from {build.index} requires {own}, not {wanted}"
        return error("torch-pins", says, cite(build, key(build)))
    return None


def unfit(build: TorchBuild, python: str | None, glibc: str | None) -> str:
    """Why the wheel does not run beside this interpreter and C library, empty = it does."""
    if not python_fits(build, python):
        has = f"{build.pythons[0]} to {build.pythons[-1]}" if build.pythons else build.python
        return f"torch {build.torch} has wheels for Python {has}, not for {python}"
    if glibc is not None and build.glibc is not None and numbers(glibc) < numbers(build.glibc):
        return f"the wheels of torch {build.torch} need glibc {build.glibc}, not {glibc}"
    return ""


def system_of(table: Table, target: Target, os: str | None) -> tuple[str | None, str | None]:
    """Python and C library of a base, or of this machine."""
    if os is None:
        return target.python, target.glibc
    row = table.oses.get(os)
    return (row.python, row.glibc) if row is not None else (None, None)


@rule(("os",), asked=("torch", "packages"))
def python_there(table: Table, place: Place, target: Target) -> Finding | None:
    """Python packages need a base whose own Python is known."""
    del target
    os = table.os_of(place)
    known = os is not None and os.python is not None and os.family == "apt"
    if place.os is None or known:
        return None
    says = f"Python packages are planned for Ubuntu and Debian alone, not for {place.os}"
    if isinstance(place.row, JetsonRow):
        says = f"Python packages are not planned for images of L4T: {JETSONS}"
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
