"""What a good plan still has to say: why this one, what to watch, what can go wrong."""

from collections.abc import Iterator
from typing import NamedTuple

from envbuild.matrix.model import DistroToolkit, ImageTag, WheelToolkit
from envbuild.planner import drivers
from envbuild.planner.choose import Choice
from envbuild.planner.gencode import Code, runs_on
from envbuild.planner.ranges import numbers
from envbuild.planner.rules import images
from envbuild.planner.rules import torch as torch_rules
from envbuild.planner.rules.packages import row_for
from envbuild.planner.table import Table, cite
from envbuild.planner.target import Card, Target
from envbuild.values.finding import Finding, Severity


class Chosen(NamedTuple):
    """A plan as the notes see it."""

    table: Table
    target: Target
    choice: Choice
    codes: tuple[Code, ...]
    cc: tuple[str, ...]


def notes(chosen: Chosen) -> tuple[Finding, ...]:
    """All notes, in the order of the list below."""
    return tuple(finding for note in _NOTES for finding in note(chosen))


def _note(id: str, severity: Severity, says: str, source: str, why: str = "") -> Finding:
    return Finding(id=id, severity=severity, says=says, why=why, source=source)


def no_cc(chosen: Chosen) -> Iterator[Finding]:
    """No card was named: nothing says that the plan fits one."""
    if not chosen.cc:
        says = "no compute capability was given: nothing here is checked against a GPU"
        toolkit = chosen.table.toolkits[chosen.choice.place.cuda]
        yield _note("no-cc", "warn", says, cite(toolkit, toolkit.cuda), "give --cc or --gpu")


def why_this(chosen: Chosen) -> Iterator[Finding]:
    """The chosen toolkit: its target, compiler and place."""
    place = chosen.choice.place
    toolkit = chosen.table.toolkits.get(place.cuda)
    if toolkit is None:
        return
    has = ", ".join(f"sm_{c.target}" for c in chosen.codes[:8])
    parts = [f"assembles {has}"] if has else []
    parts.append(f"takes gcc up to {toolkit.gcc_max}")
    what = {"image": "the vendor's tag exists", "framework": "the framework's wheels bring it"}
    parts.append(
        what.get(
            "framework" if place.kind == "framework" else place.source, f"{place.source} has it"
        )
    )
    source = f"{cite(toolkit, toolkit.cuda)} · {place.cite}"
    yield _note("toolkit-chosen", "info", f"CUDA {place.cuda}: {'; '.join(parts)}", source)


def kepler_ptx(chosen: Chosen) -> Iterator[Finding]:
    """PTX is left out where the last driver cannot compile it."""
    for cc in chosen.cc:
        row = chosen.table.capabilities.get(cc)
        if row is not None and not row.ptx_jit and chosen.codes:
            says = f"{row.arch} ({cc}) gets finished code only: R{row.last_branch}, its last driver, cannot compile the PTX of CUDA {chosen.choice.place.cuda}"
            yield _note("ptx-left-out", "info", says, cite(row, cc))
            return


def last_branch(chosen: Chosen) -> Iterator[Finding]:
    """Cards that newer drivers ignore: never 'latest'. Vanishes once the driver is known to fit."""
    if chosen.target.driver is not None or chosen.target.platform.startswith("jetson"):
        return
    archs: dict[int, list[str]] = {}
    for cc in chosen.cc:
        row = chosen.table.capabilities.get(cc)
        if (
            row is not None
            and row.last_branch is not None
            and row.arch not in archs.setdefault(row.last_branch, [])
        ):
            archs[row.last_branch].append(row.arch)
    for number, names in archs.items():
        last = drivers.branch(chosen.table, number)
        if last is not None:
            says = f"R{number} is the last driver branch for {', '.join(names)}; newer ones do not drive it: never take the latest, pin {number}"
            yield _note("driver-last-branch", "watch", says, cite(last, str(number)))


def host_window(chosen: Chosen) -> Iterator[Finding]:
    """One image may serve cards that no single Linux machine can hold together."""
    table = chosen.table
    if chosen.target.platform == "wsl2" or chosen.target.every_cc:
        return
    rows = [table.capability(cc) for cc in chosen.cc]
    flavours = {row.module: row for row in rows if row.module != "either" and not row.tegra}
    if len(flavours) == 2:
        old, new = flavours["proprietary"], flavours["open"]
        says = f"one image serves both, but no single Linux machine can hold them: {old.arch} ({old.cc}) needs the proprietary kernel modules, {new.arch} ({new.cc}) the open ones"
        yield _note(
            "host-modules",
            "watch",
            says,
            f"{cite(old, old.cc)} · {cite(new, new.cc)}",
            "on separate machines of a fleet it is fine",
        )
        return
    lasts = [row for row in rows if row.last_branch is not None]
    for row in rows:
        need = row.first_driver
        if need is None or not lasts:
            continue
        end = min(lasts, key=lambda r: r.last_branch or 0)
        if numbers(need)[0] > (end.last_branch or 0):
            says = f"no single Linux machine can hold them: {row.arch} ({row.cc}) needs driver {need}, {end.arch} ({end.cc}) ends with R{end.last_branch}"
            yield _note("host-window", "watch", says, f"{cite(row, row.cc)} · {cite(end, end.cc)}")
            return


def require_brand(chosen: Chosen) -> Iterator[Finding]:
    """With no driver known: on which drivers the tag does not start on a GeForce."""
    target, tag = chosen.target, chosen.choice.place.row
    if (
        target.driver is not None
        or not isinstance(tag, ImageTag)
        or target.platform.startswith("jetson")
    ):
        return
    asks = images.requires(tag)
    toolkit = chosen.table.toolkits.get(asks)
    cards = target.cards or (Card(cc=""),)
    if toolkit is None or all(c.brand and c.brand in tag.require_brands for c in cards):
        return
    least = toolkit.driver_windows if target.platform == "wsl2" else toolkit.driver
    under = f"below {least}" if least else f"below CUDA {asks}"
    says = f"on a GeForce with a driver {under} the tag {tag.cuda} does not start (or ends in error 804): --cuda of that driver's level, or a plain OS base"
    yield _note("image-require-brand", "watch", says, chosen.choice.place.cite)


def cudnn_floor(chosen: Chosen) -> Iterator[Finding]:
    """cuDNN has left the older cards."""
    for row in chosen.table.matrices.cudnn:
        below = [cc for cc in chosen.cc if numbers(cc) < numbers(row.cc_min)]
        if below and numbers(below[-1]) >= (5, 0):
            says = f"cuDNN {row.cudnn_from} and newer have no code below {row.cc_min}: not the -cudnn- tags made after it"
            yield _note("cudnn-floor", "watch", says, cite(row, row.cudnn_from))


def turing_tensor(chosen: Chosen) -> Iterator[Finding]:
    """cc 7.5 is two things."""
    wished = [f for f in chosen.target.features if f in {"tensor-cores", "int8"}]
    unknown = [c for c in chosen.target.cards if c.cc == "7.5" and c.tensor_cores is None]
    if wished and unknown:
        row = chosen.table.features[wished[0]]
        says = "GeForce GTX 16, MX450/550 and T400 to T1200 are cc 7.5 without tensor cores, although their code assembles: name the GPU (--gpu)"
        yield _note("tensor-cores-by-die", "watch", says, cite(row, row.name))


def package_level(chosen: Chosen) -> Iterator[Finding]:
    """Packages that emit PTX cap the toolkit at the driver's level."""
    target = chosen.target
    for wanted in target.packages:
        row = row_for(chosen.table, wanted, chosen.choice.place.cuda, target.cc)
        if row is None:
            if wanted.name not in chosen.table.packages:
                says = f"{wanted.name} has no row in the matrices: installed as it is, not judged"
                yield _note("package-unknown", "warn", says, chosen.choice.place.cite)
            continue
        if row.needs_jit:
            level = (
                f"driver {target.driver} compiles up to CUDA {target.driver_cuda}"
                if target.driver_cuda and target.driver
                else "the driver must be at that toolkit's level"
            )
            says = f"{wanted.name} emits PTX for the driver's JIT compiler: the toolkit stays at or below the driver ({level})"
            yield _note("package-jit", "info", says, cite(row, row.name))
        if wanted.range is not None and row.version and row.version not in wanted.range:
            says = f"{wanted} was not looked at; the matrices know {row.name} {row.version}"
            yield _note("package-version", "info", says, cite(row, row.name))


def torch_compile(chosen: Chosen) -> Iterator[Finding]:
    """torch.compile needs Triton, which reaches fewer cards than the wheel."""
    build, table = chosen.choice.build, chosen.table
    if build is None or build.triton is None:
        return
    triton = torch_rules.triton_of(table, build.triton)
    if triton is None:
        return
    source = cite(triton, triton.triton)
    for cc in chosen.cc:
        row = table.capabilities.get(cc)
        if row is None:
            continue
        if numbers(cc) < numbers(triton.inductor_min):
            says = f"torch.compile does not work on cc {cc}: Inductor and Triton need {triton.inductor_min} or newer; eager mode does"
            yield _note("torch-compile", "warn", says, source)
        elif not any(runs_on(t, row, table) and _own(t, row.target) for t in triton.targets):
            says = f"Triton {build.triton} brings a ptxas of its own that does not know sm_{row.target}: torch.compile fails on cc {cc} unless TRITON_PTXAS_PATH names a newer one"
            yield _note("triton-ptxas", "warn", says, source)
        elif numbers(cc) < numbers(triton.cc_min):
            says = f"Triton supports cc {triton.cc_min} and newer; on {cc} torch.compile falls back and is not promised"
            yield _note("triton-floor", "watch", says, source)


def _own(target: str, wanted: str) -> bool:
    # ptxas assembles for the card's own target; code of a lower one is never asked of it.
    return target == wanted


def torch_ptx(chosen: Chosen) -> Iterator[Finding]:
    """The wheel reaches a card only through PTX."""
    build, table = chosen.choice.build, chosen.table
    for cc in chosen.cc if build is not None else ():
        row = table.capabilities.get(cc)
        if build is None or row is None or any(runs_on(t, row, table) for t in build.targets):
            continue
        says = f"torch {build.torch} has only PTX for cc {cc}: the driver compiles it at the first start and must be at CUDA {build.cuda}"
        yield _note("torch-ptx", "warn", says, cite(build, torch_rules.key(build)))


def torch_newest(chosen: Chosen) -> Iterator[Finding]:
    """Not asked for: the newest torch with code for these cards."""
    target, table = chosen.target, chosen.table
    if target.torch is not None or not chosen.cc or target.every_cc:
        return
    rows = [table.capability(cc) for cc in chosen.cc]
    for build in table.builds:
        if build.arch == target.arch and all(torch_rules.covers(table, build, r) for r in rows):
            says = f"torch was not asked for; newest with code for {', '.join(chosen.cc)}: {build.torch} from {build.index} (CUDA {build.cuda})"
            yield _note("torch-newest", "info", says, cite(build, torch_rules.key(build)))
            return


def source_taken(chosen: Chosen) -> Iterator[Finding]:
    """No vendor tag of the chosen toolkit: the next source was taken."""
    place = chosen.choice.place
    target = chosen.target
    if target.where == "host" or place.kind == "framework" or target.source is not None:
        return
    if place.source == "image":
        return
    tags = chosen.table.of_source.get("image", 0) & chosen.table.of_cuda[place.cuda]
    which = "that fits" if tags else "is known"
    says = f"no vendor image of CUDA {place.cuda} {which}: {place.source} on a plain {place.os} is taken"
    yield _note("image-missing", "info", says, place.cite)


def wheels_for_old(chosen: Chosen) -> Iterator[Finding]:
    """Wheels were asked for and have no compiler for this toolkit: every other way by name."""
    target, table = chosen.target, chosen.table
    place = chosen.choice.place
    if target.source != "wheels" or place.source == "wheels":
        return
    row = next((w for w in table.matrices.wheels if w.cuda == place.cuda), None)
    if row is None or row.nvcc:
        return
    ways = [
        s for s in table.of_source if s != "wheels" and chosen.choice.alive & table.of_source[s]
    ]
    says = f"the wheels of CUDA {row.cuda} have no nvcc, only NVRTC for device code; ways with a compiler: {', '.join(map(str, ways))}"
    yield _note("wheels-without-nvcc", "warn", says, cite(row, row.release))


def platform(chosen: Chosen) -> Iterator[Finding]:
    """Jetson release assumed; WSL's one rule; Debian's driver libraries."""
    target, table = chosen.target, chosen.table
    if target.l4t is not None:
        row = table.jetson[target.l4t]
        if any(p.fact == "l4t" and p.origin == "default" for p in target.provenance):
            says = f"the L4T release is not known: planned for {row.l4t} (JetPack {row.jetpack}, CUDA {row.cuda}); give --l4t"
            yield _note("l4t-assumed", "warn", says, cite(row, row.l4t))
    if target.platform == "wsl2":
        floor = drivers.floor(table, chosen.choice.place.cuda)
        if floor is not None:
            says = "the Windows driver is the only driver: install no Linux driver inside WSL"
            yield _note("wsl-driver", "info", says, cite(floor, str(floor.major)))
    place = chosen.choice.place
    if isinstance(place.row, DistroToolkit) and place.os is not None:
        says = "the distribution's toolkit depends on driver libraries; a placeholder package keeps them out of the image"
        yield _note("distro-driver", "info", says, place.cite)


def prefix(chosen: Chosen) -> Iterator[Finding]:
    """One wheel prefix, one release."""
    place, build = chosen.choice.place, chosen.choice.build
    if isinstance(place.row, WheelToolkit) and build is not None:
        says = f"the toolkit is the one that torch {build.torch} pins (CUDA {place.cuda}): one prefix holds one release"
        yield _note("one-prefix", "info", says, place.cite)


_NOTES = (
    no_cc,
    why_this,
    source_taken,
    kepler_ptx,
    last_branch,
    host_window,
    require_brand,
    cudnn_floor,
    turing_tensor,
    package_level,
    torch_compile,
    torch_ptx,
    torch_newest,
    wheels_for_old,
    prefix,
    platform,
)
