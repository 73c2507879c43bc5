"""Frameworks and packages: what they reach less far than the toolkit."""

from collections.abc import Iterator

from envbuild.planner.gencode import runs_on
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import numbers
from envbuild.planner.rules.packages import row_for
from envbuild.planner.rules.torch import covers, key, triton_of
from envbuild.planner.table import cite
from envbuild.values.finding import Finding


def cudnn_floor(chosen: Chosen) -> Iterator[Finding]:
    """The library cuDNN has left the older cards."""
    if chosen.target.l4t is not None:
        return  # L4T brings its own
    for row in chosen.table.matrices.cudnn:
        # Below 5.0 no cuDNN that fits these toolkits has code at all.
        if any((5, 0) <= numbers(cc) < numbers(row.cc_min) for cc in chosen.cc):
            says = (
                f"cuDNN {row.cudnn_from} and newer have no code below {row.cc_min}: "
                "not the -cudnn- tags made after it"
            )
            yield note("cudnn-floor", "watch", says, cite(row, row.cudnn_from))


def package_level(chosen: Chosen) -> Iterator[Finding]:
    """Packages that emit PTX cap the toolkit at the driver's level; unknown ones are not judged."""
    target, place = chosen.target, chosen.choice.place
    for wanted in target.packages:
        if wanted.name not in chosen.table.packages:
            says = f"{wanted.name} has no row in the matrices: installed as it is, not judged"
            yield note("package-unknown", "warn", says, place.cite)
            continue
        row = row_for(chosen.table, wanted, place.cuda, target.cc)
        if row is None:
            continue
        source = cite(row, row.name)
        if row.needs_jit:
            level = "the driver must be at the toolkit's level"
            if target.driver_cuda is not None:
                level = f"this driver compiles up to CUDA {target.driver_cuda}"
            says = f"{wanted.name} emits PTX for the driver's JIT compiler: {level}"
            yield note("package-jit", "info", says, source)
        if wanted.range is not None and row.version and row.version not in wanted.range:
            says = f"{wanted} was not looked at; the row is about {row.name} {row.version}"
            yield note("package-version", "info", says, source)


def torch_compile(chosen: Chosen) -> Iterator[Finding]:
    """The compiler behind torch.compile reaches fewer cards than the wheel."""
    build, table = chosen.choice.build, chosen.table
    triton = triton_of(table, build.triton) if build is not None and build.triton else None
    if build is None or triton is None:
        return
    source = cite(triton, triton.triton)
    for row in chosen.capabilities:
        cc = row.cc
        if numbers(cc) < numbers(triton.inductor_min):
            says = (
                f"torch.compile does not work on cc {cc}: Inductor and Triton need "
                f"{triton.inductor_min} or newer; eager mode works"
            )
            yield note("torch-compile", "warn", says, source)
        elif row.target not in triton.targets:
            says = (
                f"Triton {build.triton} has a ptxas of its own that does not know sm_{row.target}: "
                f"torch.compile fails on cc {cc} unless TRITON_PTXAS_PATH names a newer one"
            )
            yield note("triton-ptxas", "warn", says, source)
        elif numbers(cc) < numbers(triton.cc_min):
            says = (
                f"Triton supports cc {triton.cc_min} and newer: "
                f"on {cc} torch.compile falls back and is not promised"
            )
            yield note("triton-floor", "watch", says, source)


def torch_ptx(chosen: Chosen) -> Iterator[Finding]:
    """The wheel reaches a card only through PTX."""
    build, table = chosen.choice.build, chosen.table
    if build is None:
        return
    for row in chosen.capabilities:
        if not any(runs_on(target, row, table) for target in build.targets):
            says = (
                f"torch {build.torch} has only PTX for cc {row.cc}: the driver compiles it at "
                f"the first start and must be at CUDA {build.cuda}"
            )
            yield note("torch-ptx", "warn", says, cite(build, key(build)))


def torch_newest(chosen: Chosen) -> Iterator[Finding]:
    """Not asked for: the newest torch with code for these cards."""
    target, table = chosen.target, chosen.table
    if target.torch is not None or not chosen.cc or target.every_cc:
        return
    for build in table.builds:
        fits = all(covers(table, build, row) for row in chosen.capabilities)
        if build.arch == target.arch and fits:
            says = (
                f"torch was not asked for; newest with code for {', '.join(chosen.cc)}: "
                f"{build.torch} from {build.index} (CUDA {build.cuda})"
            )
            yield note("torch-newest", "info", says, cite(build, key(build)))
            return
    row = chosen.capabilities[0] if chosen.capabilities else None
    if row is not None:
        says = f"no build of torch in these matrices has code for {', '.join(chosen.cc)}"
        own = ": Jetsons have builds of their own" if row.tegra else ""
        beside = f" on {target.arch}" if target.arch != "x86_64" and not own else ""
        yield note("torch-none", "info", f"{says}{beside}{own}", cite(row, row.cc))
