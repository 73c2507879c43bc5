"""The plan's content: what a place, a build and the targets mean for the image."""

import re
from collections.abc import Iterable, Iterator

from envbuild.matrix.model import (
    DistroToolkit,
    ImageTag,
    JetsonRow,
    PackageRule,
    Repository,
    TorchBuild,
    WheelToolkit,
)
from envbuild.planner import drivers
from envbuild.planner.choose import Choice
from envbuild.planner.gencode import Code, codes, every_code, flags
from envbuild.planner.ranges import Range, minor, numbers
from envbuild.planner.rules.compilers import gcc_for
from envbuild.planner.rules.packages import left_to_torch, own_range, row_for
from envbuild.planner.rules.torch import companion, system_of
from envbuild.planner.table import Place, Table
from envbuild.planner.target import COMPANIONS, Card, Target, Wanted
from envbuild.planner.tools import toolkit_of
from envbuild.values.codec import Pairs
from envbuild.values.plan import (
    Archive,
    HostCompiler,
    ImageChoice,
    Layout,
    Size,
    TorchChoice,
)


def plan_codes(table: Table, target: Target, place: Place) -> tuple[Code, ...]:
    """What the plan's own compiler makes; nothing where none is in it."""
    toolkit = table.toolkits.get(place.cuda)
    if place.kind == "framework" or not compiles(target):
        return ()
    if toolkit is None:
        # L4T's own toolkits can be older than the rows of toolkits; its row names the cards.
        rows = [table.capability(cc) for cc in target.cc]
        return tuple(Code(row.cc, row.target, row is rows[-1]) for row in rows)
    if target.every_cc:
        return every_code(table, toolkit)
    return codes(table, toolkit, target.cc, target.features)


def compiles(target: Target) -> bool:
    """The image (or host) is to compile: not so for its base and runtime flavours."""
    return target.needs_compiler or target.on_host


def image(table: Table, target: Target, place: Place) -> ImageChoice:
    """The base image; nothing for ``where: host``."""
    os = table.os_of(place)
    row = place.row
    if place.os is None:
        return ImageChoice(os=target.host_os, glibc=target.glibc)
    glibc = os.glibc if os is not None else None
    if isinstance(row, ImageTag):
        flavour = target.image_flavour
        cudnn = f"{row.cudnn}-" if cudnn_from_tag(table, target, place) else ""
        return ImageChoice(
            ref=f"docker.io/nvidia/cuda:{row.cuda}-{cudnn}{flavour}-{row.os}",
            flavour=flavour,
            os=row.os,
            glibc=glibc,
            runtime_ref=os.image if os is not None else None,
        )
    if isinstance(row, JetsonRow):
        return ImageChoice(ref=row.image, flavour=target.image_flavour, os=place.os)
    flavour = target.image_flavour if place.kind == "compiler" else "base"
    ref = os.image if os is not None else None
    return ImageChoice(ref=ref, flavour=flavour, os=place.os, glibc=glibc)


def cudnn_from_tag(table: Table, target: Target, place: Place) -> bool:
    """CuDNN comes with the vendor's tag: it exists there, and has code for every card."""
    tag = place.row
    wished = any(w.name == "cudnn" and w.range is None for w in target.packages)
    if not isinstance(tag, ImageTag) or tag.cudnn is None or not wished or target.torch:
        return False
    if target.image_flavour not in tag.cudnn_flavours:
        return False
    known = tag.cudnn_version
    below = [
        f for f in table.matrices.cudnn if any(numbers(c) < numbers(f.cc_min) for c in target.cc)
    ]
    return all(known is not None and numbers(known) < numbers(f.cudnn_from) for f in below)


def host_compiler(table: Table, target: Target, place: Place) -> HostCompiler | None:
    """The gcc that nvcc calls; where nothing is compiled with nvcc, the one of the system."""
    if place.kind == "framework":
        os = table.os_of(place)
        return HostCompiler(name="gcc", version=str(os.gcc)) if os and os.gcc else None
    if not compiles(target):
        return None
    toolkit = table.toolkits.get(place.cuda)
    gcc = gcc_for(table, place, target)
    return HostCompiler(
        name="gcc",
        version=str(gcc) if gcc is not None else None,
        max=toolkit.gcc_max if toolkit is not None else None,
    )


def torch(table: Table, build: TorchBuild | None) -> TorchChoice | None:
    """Version and index; the address is a row."""
    if build is None:
        return None
    url = next((i.url for i in table.matrices.torch_indexes if i.index == build.index), None)
    return TorchChoice(version=build.torch, index=build.index, index_url=url)


def packages(table: Table, target: Target, choice: Choice) -> tuple[str, ...]:
    """Python requirements, pinned where a version is known."""
    place, build = choice.place, choice.build
    found: list[str] = []
    if isinstance(place.row, WheelToolkit) and toolkit_of(target, place) is None:
        found.append(_toolkit_wheels(place.row, build, compiles(target)))
    if build is not None:
        local = "" if build.unmarked or build.index == "pypi" else f"+{build.index}"
        found += [f"torch=={build.torch}{local}", *build.beside]
    found += _wished(table, target, choice)
    if _compiles_at_run_time(table, target) and not isinstance(place.row, WheelToolkit):
        wheels = [w for w in table.matrices.wheels if w.cuda == place.cuda]
        if wheels and build is None:
            # Their CUDA wheels are unpinned: a newer NVVM would emit PTX that the driver refuses.
            found.append(f"cuda-toolkit[{','.join(wheels[0].extras)}]=={wheels[0].release}")
    return _joined(found)


def _joined(found: Iterable[str]) -> tuple[str, ...]:
    """One requirement a package, with the bounds of all that ask for it."""
    bounds: dict[str, dict[str, None]] = {}
    for text in found:
        name = re.split("[<>=!~]", text, maxsplit=1)[0]
        bound = text.removeprefix(name)
        bounds.setdefault(name, {}).update({bound: None} if bound else {})
    return tuple(name + ",".join(every) for name, every in bounds.items())


def _wished(table: Table, target: Target, choice: Choice) -> Iterator[str]:
    """The packages asked for; torch pins its cuDNN, others take any and may leave a card out."""
    place, old = choice.place, False
    python, _ = system_of(table, target, place.os)
    for wanted in target.packages:
        if choice.build is not None and wanted.name in COMPANIONS:
            version, _ = companion(table, choice.build, wanted.name)
            yield f"{wanted.name}=={version}" if version else str(wanted)
            continue
        if left_to_torch(table, target, wanted):
            continue
        cc, arch = target.cc, target.arch
        row = row_for(table, wanted, place.cuda, cc, arch, build=choice.build, python=python)
        if row is not None and row.name == "cudnn" and cudnn_from_tag(table, target, place):
            continue
        if row is not None and row.sdist:
            # Only wheels are installed: it is built on top, see `notes.sources`.
            yield from row.build_needs
            continue
        old = old or (row is not None and row.cudnn)
        if row is not None and wanted.range is not None and own_range(row, wanted) is None:
            yield wanted.name + _pin(wanted.range, None)
        yield requirement(row, wanted)
        yield from row.beside if row is not None else ()
    cudnn = row_for(table, Wanted(name="cudnn"), place.cuda, target.cc, target.arch)
    if old and choice.build is None and cudnn is not None and "<" in cudnn.requirement:
        yield requirement(cudnn, Wanted(name="cudnn"))


def _toolkit_wheels(row: WheelToolkit, build: TorchBuild | None, whole: bool) -> str:
    # In one prefix there is one release: with torch it is the patch release that torch pins.
    release = f"{row.cuda}.*" if build is not None else row.release
    extras = row.extras if whole else ("cudart",)
    return f"cuda-toolkit[{','.join(extras)}]=={release}"


def requirement(row: PackageRule | None, wanted: Wanted) -> str:
    """What pip is asked for: the row's, in the version asked for or else its own."""
    if row is None:
        return str(wanted)
    bare, _, bound = row.requirement.partition("<")
    range = own_range(row, wanted)
    if range is not None:
        pin = _pin(range, row.version)
        return f"{bare}{pin},<{bound}" if bound and not pin.startswith("==") else bare + pin
    return f"{bare}=={row.version}" if row.version else row.requirement


def _pin(range: Range, version: str | None) -> str:
    """The range as pip reads it: where few parts are written, people mean what begins with them."""
    (op, limit), *more = range.clauses
    if op != "==" or more:
        return range.text
    text = ".".join(map(str, limit))
    return f"=={text}" if len(limit) > 2 or text == version else f"=={text}.*"


def _compiles_at_run_time(table: Table, target: Target) -> bool:
    return any(
        row.needs_jit or row.compiles
        for wanted in target.packages
        for row in table.packages.get(wanted.name, ())
    )


def apt(table: Table, target: Target, choice: Choice, python: bool) -> tuple[str, ...]:
    """System packages that the rendering installs; nothing is installed on a host."""
    place, os = choice.place, table.os_of(choice.place)
    if os is None or os.family != "apt":
        return ()
    found: list[str] = []
    row = place.row
    if isinstance(row, DistroToolkit):
        found += row.packages
        found += [] if f"g++-{row.gcc}" in found else [f"g++-{row.gcc}"]
    elif isinstance(row, Repository):
        found += row.tools
        if row.kind == "apt":
            major, minor = numbers(place.cuda)[:2]
            found.append(row.package.format(major=major, minor=minor))
    runtime_compiler = _calls_compiler(table, target, choice.build)
    nvcc = place.kind == "compiler" and compiles(target)
    if not isinstance(row, DistroToolkit) and (nvcc or runtime_compiler):
        gcc = gcc_for(table, place, target) if nvcc else os.gcc
        own = gcc is None or gcc == os.gcc
        if not (own and isinstance(row, ImageTag)):
            found.append("g++" if own else f"g++-{gcc}")
    if python:
        found += ["python3", "python3-venv"]
        # Triton and extensions compile against Python.h when they first run.
        found += ["python3-dev"] if runtime_compiler else []
    return tuple(dict.fromkeys(found))


def _calls_compiler(table: Table, target: Target, build: TorchBuild | None) -> bool:
    """A framework or package calls a C compiler when it runs."""
    if build is not None and build.triton is not None:
        return True
    rows = [row for wanted in target.packages for row in table.packages.get(wanted.name, ())]
    return any(row.needs_compiler for row in rows)


def archive_url(row: Repository, target: Target) -> str:
    """The archive's address for the target: a repository has a folder for each architecture."""
    url = row.url or ""
    folder = {"x86_64": "x86_64/", "aarch64": "sbsa/"}[target.arch or "x86_64"]
    return url + folder if row.kind == "apt" else url


def layout(table: Table, target: Target, place: Place, disable_require: bool) -> Layout:
    """What a rendering must know of the source."""
    row = place.row
    if isinstance(row, WheelToolkit):
        return Layout(prefix=row.prefix)
    if isinstance(row, DistroToolkit):
        return Layout(components=row.components, dummies=row.dummies)
    if isinstance(row, Repository) and row.url is not None:
        return Layout(
            archive=Archive(
                kind=row.kind,
                name=row.name,
                url=archive_url(row, target),
                key=row.key,
                key_file=row.key_file,
                parts=row.parts,
                never=row.never,
            )
        )
    if isinstance(row, ImageTag):
        # Outside the forward-compatibility list the image's newer libcuda ends in error 804;
        # on Kepler, which it no longer drives, in error 100. A tag that starts only because its
        # requirement is off is on a branch that its libcuda was not made for, whatever the card.
        driven = bool(target.cards) and all(
            card.forward_compat and _drives(table, row, card) for card in target.cards
        )
        return Layout(purge_compat=disable_require or not driven)
    return Layout()


def _drives(table: Table, tag: ImageTag, card: Card) -> bool:
    """The libcuda inside the tag is not newer than the card's last driver branch."""
    number = table.capability(card.cc).last_branch
    last = drivers.branch(table, number) if number is not None else None
    return last is None or last.cuda is None or numbers(minor(tag.cuda)) <= numbers(last.cuda)


def environment(
    table: Table, target: Target, choice: Choice, made: tuple[Code, ...], disable_require: bool
) -> Pairs:
    """Variables of the image: compiler, targets, GPU access."""
    place = choice.place
    found: dict[str, str] = {}
    home = _home(place)
    if home is not None:
        found["CUDA_HOME"] = home
    gcc = gcc_for(table, place, target)
    os = table.os_of(place)
    if place.kind == "compiler" and compiles(target):
        own = gcc is None or (os is not None and gcc == os.gcc and isinstance(place.row, ImageTag))
        if place.os is None and target.gcc is not None:
            own = numbers(target.gcc)[0] == gcc  # few systems have g++ under its version, too
        ccbin = "/usr/bin/g++" if own else f"/usr/bin/g++-{gcc}"
        if place.os is not None or gcc is not None:
            found |= {"NVCC_CCBIN": ccbin, "CUDAHOSTCXX": ccbin}
    if made:
        spelled = flags(made)
        found["CMAKE_CUDA_ARCHITECTURES"] = spelled.cmake
        found["CUDAARCHS"] = spelled.cmake
        found["TORCH_CUDA_ARCH_LIST"] = spelled.torch
    if place.os is not None:
        found["NVIDIA_VISIBLE_DEVICES"] = "all"
        found["NVIDIA_DRIVER_CAPABILITIES"] = "compute,utility"
        if disable_require:
            found["NVIDIA_DISABLE_REQUIRE"] = "true"
    return Pairs(found)


def _home(place: Place) -> str | None:
    if place.kind == "framework":
        return None
    if place.source == "distro":
        return "/usr"
    if place.os is not None or isinstance(place.row, JetsonRow):
        return "/usr/local/cuda"
    return f"/usr/local/cuda-{place.cuda}" if place.source == "apt" else None


def size(place: Place) -> Size:
    """Disk of the toolkit, where it was measured."""
    row = place.row
    if isinstance(row, DistroToolkit | WheelToolkit) and row.disk_mib is not None:
        return Size(disk_mib=row.disk_mib, basis=f"toolkit alone, {place.cite}")
    return Size(basis="not measured")
