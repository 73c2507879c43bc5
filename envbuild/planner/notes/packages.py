"""Frameworks and packages: what they reach less far than the toolkit."""

from collections.abc import Iterator

from envbuild.matrix.model import Capability, PackageRule, TorchBuild, TritonBuild
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import numbers
from envbuild.planner.rules.packages import own_range, row_for
from envbuild.planner.rules.torch import (
    JETSONS,
    companion,
    covers,
    finished,
    key,
    least_driver,
    newest,
    pinned,
    system_of,
    triton_of,
)
from envbuild.planner.table import cite
from envbuild.planner.target import COMPANIONS, Target, Wanted
from envbuild.values.finding import Finding


def taken(chosen: Chosen, wanted: Wanted) -> PackageRule | None:
    """The row that the plan takes for a package, beside its torch and on its base's Python."""
    place, build = chosen.choice.place, chosen.choice.build
    python, _ = system_of(chosen.table, chosen.target, place.os)
    cc, arch = chosen.target.cc, chosen.target.arch
    return row_for(chosen.table, wanted, place.cuda, cc, arch, build=build, python=python)


def cudnn_floor(chosen: Chosen) -> Iterator[Finding]:
    """The library cuDNN has left the older cards."""
    if chosen.target.l4t is not None:
        return  # L4T brings its own
    below = [
        row
        for row in chosen.table.matrices.cudnn
        if any(numbers(cc) < numbers(row.cc_min) for cc in chosen.cc)
    ]
    for row in sorted(below, key=lambda row: numbers(row.cudnn_from))[:1]:
        says = (
            f"cuDNN {row.cudnn_from} and newer have no code below {row.cc_min}: "
            "not the -cudnn- tags made after it"
        )
        yield note("cudnn-floor", "watch", says, cite(row, row.cudnn_from))


def package_level(chosen: Chosen) -> Iterator[Finding]:
    """Packages that emit PTX cap the toolkit at the driver's level; unknown ones are not judged."""
    target, place = chosen.target, chosen.choice.place
    for wanted in target.packages:
        build = chosen.choice.build
        if wanted.name in COMPANIONS and build is not None:
            version, pair = companion(chosen.table, build, wanted.name)
            if version is not None and pair is not None:
                says = f"{wanted.name} {version} is the one that goes with torch {build.torch}"
                yield note("torch-pair", "info", says, cite(pair, pair.torch))
                continue
        if build is not None and (one := pinned(chosen.table, build, wanted)) is not None:
            says = f"torch {build.torch} requires {' '.join(filter(None, one))} itself"
            yield note("torch-pins", "info", says, cite(build, key(build)))
            continue
        if build is not None and (bound := _bound(build, wanted)) is not None:
            says = f"torch {build.torch} needs {bound} and does not say so"
            yield note("package-needs", "info", says, cite(build, key(build)))
            continue
        if wanted.name not in chosen.table.packages:
            says = (
                f"{wanted.name} has no row in the matrices: neither it nor what it pulls in is "
                "judged"
            )
            if build is None:
                says += "; if it is built on torch, add --with torch, so that its build fits too"
            yield note("package-unknown", "warn", says, "matrices/packages")
            continue
        row = taken(chosen, wanted)
        if row is None:
            continue
        source = cite(row, row.name)
        if row.needs_jit:
            level = "the driver must be at the toolkit's level"
            if target.driver_cuda is not None:
                level = f"this driver compiles up to CUDA {target.driver_cuda}"
            says = f"{wanted.name} emits PTX for the driver's JIT compiler: {level}"
            yield note("package-jit", "info", says, source)
        range = own_range(row, wanted)
        if wanted.range is not None and range is None:
            says = f"{wanted} goes beside {row.name} {row.version}; whether it may is pip's to say"
            yield note("package-beside", "info", says, source)
        if range is not None and row.version and row.version not in range:
            says = f"{wanted} was not looked at; the row is about {row.name} {row.version}"
            # Wheels for some Pythons alone: whether that version has one for this is not known.
            python = system_of(chosen.table, target, place.os)[0] if row.pythons else None
            says += (
                f": whether it has a wheel for Python {python} is pip's to say" if python else ""
            )
            inside = row.version_min is not None and not row.pythons
            yield note("package-version", "info" if inside else "warn", says, source)


def _bound(build: TorchBuild, wanted: Wanted) -> str | None:
    """What a torch needs of this package and does not state, ``numpy<2``."""
    return next((text for text in build.beside if text.partition("<")[0] == wanted.name), None)


def package_company(chosen: Chosen) -> Iterator[Finding]:
    """What a package needs beside it: a version that it does not state, a torch."""
    for wanted in chosen.target.packages:
        build = chosen.choice.build
        row = taken(chosen, wanted)
        if row is not None and row.beside:
            says = f"{row.name} {row.version} needs {', '.join(row.beside)} and does not say so"
            yield note("package-needs", "info", says, cite(row, row.name))
        if row is not None and row.for_torch and build is not None:
            name = f"{row.name} {row.version}" if row.version else str(wanted)
            says = f"{name} is for torch {row.for_torch}"
            yield note("package-torch", "info", says, cite(row, row.name))


def torch_compile(chosen: Chosen) -> Iterator[Finding]:
    """The compiler behind torch.compile reaches fewer cards than the wheel."""
    build, table = chosen.choice.build, chosen.table
    triton = triton_of(table, build.triton) if build is not None and build.triton else None
    if build is None or triton is None:
        return
    for row in (row for row in chosen.capabilities if covers(table, build, row)):
        if numbers(row.cc) < numbers(triton.inductor_min):
            says = (
                f"torch.compile does not work on cc {row.cc}: Inductor and Triton need "
                f"{triton.inductor_min} or newer; eager mode works"
            )
            yield note("torch-compile", "warn", says, cite(triton, triton.triton))
        else:
            yield from _triton(triton, build.triton or "", row, "torch.compile")


def triton_reach(chosen: Chosen) -> Iterator[Finding]:
    """Triton by itself: its own ptxas and its floor."""
    for wanted in chosen.target.packages:
        row = taken(chosen, wanted)
        if row is None or row.name != "triton" or chosen.choice.build is not None:
            continue
        version = row.version or "0"
        if wanted.range is not None and version not in wanted.range:
            exact = [limit for op, limit in wanted.range.clauses if op == "=="]
            version = ".".join(map(str, exact[0])) if exact else version
        reach = triton_of(chosen.table, version)
        for capability in chosen.capabilities if reach is not None else ():
            if reach is not None:
                yield from _triton(reach, version, capability, "a kernel")


def _triton(reach: TritonBuild, version: str, row: Capability, what: str) -> Iterator[Finding]:
    source = cite(reach, reach.triton)
    if row.target not in reach.targets:
        says = (
            f"Triton {version} has a ptxas of its own that does not know sm_{row.target}: "
            f"{what} fails on cc {row.cc} unless TRITON_PTXAS_PATH names a newer one"
        )
        yield note("triton-ptxas", "warn", says, source)
    elif numbers(row.cc) < numbers(reach.cc_min):
        says = (
            f"Triton supports cc {reach.cc_min} and newer: "
            f"on {row.cc} {what} falls back and is not promised"
        )
        yield note("triton-floor", "watch", says, source)


def torch_ptx(chosen: Chosen) -> Iterator[Finding]:
    """The wheel reaches a card only through PTX; with the driver known, `torch_jit` has judged."""
    build, table = chosen.choice.build, chosen.table
    if build is None:
        return
    for row in chosen.capabilities:
        if covers(table, build, row) and not finished(table, build, row):
            says = (
                f"torch {build.torch} has only PTX for cc {row.cc}: the driver compiles it at "
                f"the first start and must be at CUDA {build.cuda}"
            )
            known = chosen.target.driver_cuda is not None
            yield note("torch-ptx", "info" if known else "warn", says, cite(build, key(build)))


def torch_last(chosen: Chosen) -> Iterator[Finding]:
    """A newer torch exists, and has no code for a card of the plan."""
    build, table = chosen.choice.build, chosen.table
    if build is None:
        return
    latest = next(b.torch for b in table.builds if b.arch == build.arch)
    for row in chosen.capabilities:
        last = newest(table, build.arch, (row.cc,))
        if last is not None and numbers(last.torch) < numbers(latest):
            later = (b for b in table.builds if b.arch == build.arch and covers(table, b, row))
            whole = ", in its cuDNN too" if next(later, last) is not last else ""
            says = (
                f"torch {last.torch} from {last.index} is the last with code for {row.arch} "
                f"(cc {row.cc}){whole}: {latest} has none"
            )
            yield note("torch-last", "watch", says, cite(last, key(last)))


def torch_every(chosen: Chosen) -> Iterator[Finding]:
    """All cards were asked for, and a build of torch has code for some."""
    build, table = chosen.choice.build, chosen.table
    if build is None or not chosen.target.every_cc:
        return
    none = [row.cc for row in chosen.capabilities if not covers(table, build, row)]
    if none:
        says = (
            f"torch {build.torch} from {build.index} has no code for cc {', '.join(none)}: there "
            "only what does without torch runs"
        )
        yield note("torch-code", "warn", says, cite(build, key(build)))
    for other in table.builds:
        lacks = [t for t in other.targets if t not in build.targets]
        if (other.torch, other.arch) == (build.torch, build.arch) and lacks:
            says = (
                f"torch {build.torch} from {build.index} has no code for "
                f"{', '.join(f'sm_{t}' for t in lacks)}: its build from {other.index} "
                f"(CUDA {other.cuda}) has"
            )
            yield note("torch-every", "watch", says, cite(other, key(other)))


def torch_default(chosen: Chosen) -> Iterator[Finding]:
    """What pip installs when nobody names an index, where it would not run."""
    build, table, target = chosen.choice.build, chosen.table, chosen.target
    if build is None:
        return
    here = [
        b
        for b in table.matrices.torch
        if (b.index, b.arch) == ("pypi", target.arch) and (b.released or "") <= target.as_of
    ]
    default = max(here, key=lambda b: numbers(b.torch), default=None)
    if default is None or (default.torch, default.index) == (build.torch, build.index):
        return
    lacks = [row.cc for row in chosen.capabilities if not covers(table, default, row)]
    least = least_driver(table, default, windows=target.windows)
    if default.cuda is None:
        why = f"a build for the CPU alone on {target.arch}"
    elif lacks:
        why = f"CUDA {default.cuda}, without code for cc {', '.join(lacks)}"
    elif least is not None and target.driver and numbers(target.driver) < numbers(least):
        why = f"CUDA {default.cuda}, which needs driver {least}"
    else:
        return
    says = f"`pip install torch` without an index gives {default.torch}: {why}"
    yield note("torch-default", "watch", says, cite(default, key(default)))


def torch_unmarked(chosen: Chosen) -> Iterator[Finding]:
    """A build whose version the default index has too, with other contents."""
    build, table = chosen.choice.build, chosen.table
    if build is None or not build.unmarked:
        return
    url = next((i.url for i in table.matrices.torch_indexes if i.index == build.index), None)
    says = (
        f"torch {build.torch} of the default index is another wheel of the same version, without "
        f"CUDA: a pip of your own must be given --index-url {url}, alone"
    )
    yield note("torch-unmarked", "watch", says, cite(build, key(build)))


def torch_newest(chosen: Chosen) -> Iterator[Finding]:
    """Not asked for: the newest torch with code for these cards, on the driver in hand."""
    target, table = chosen.target, chosen.table
    early = target.as_of < table.matrices.date  # what was newest on an earlier day is not told
    if target.torch is not None or not chosen.cc or target.every_cc or early:
        return
    build = newest(table, target.arch, chosen.cc)
    if build is not None:
        here = newest(table, target.arch, chosen.cc, target)
        latest = next(b.torch for b in table.builds if b.arch == target.arch)
        says = f"torch was not asked for; newest with code for {', '.join(chosen.cc)}"
        if here is not None:
            says += "" if here == build else f" that driver {target.driver} runs"
            says += f": {_build(here)}"
            says += f", the last: {latest} has none" if latest != build.torch else ""
        if here != build:
            least = least_driver(table, build, windows=target.windows)
            enough = least is None or _has(target, least)
            needs = f"a driver of CUDA {build.cuda}" if enough else f"driver {least} or newer"
            says += f"{'; ' if here is not None else ': '}{_build(build)} needs {needs}"
        yield note("torch-newest", "info", says, cite(build, key(build)))
        return
    row = chosen.capabilities[0] if chosen.capabilities else None
    if row is not None:
        says = f"no build of torch in these matrices has code for {', '.join(chosen.cc)}"
        own = f": {JETSONS}" if row.tegra else ""
        beside = f" on {target.arch}" if target.arch != "x86_64" and not own else ""
        yield note("torch-none", "info", f"{says}{beside}{own}", cite(row, row.cc))


def _build(build: TorchBuild) -> str:
    return f"{build.torch} from {build.index} (CUDA {build.cuda})"


def _has(target: Target, driver: str) -> bool:
    return target.driver is not None and numbers(target.driver) >= numbers(driver)
