"""One toolkit: what it makes, with which compilers, where it is to be had."""

import re
from collections.abc import Iterator

from envbuild.errors import InputError
from envbuild.matrix.answers.cards import ordered_targets
from envbuild.matrix.answers.common import capability, ordered, serving, words
from envbuild.matrix.load import load, load_reference
from envbuild.matrix.model import Toolkit
from envbuild.matrix.show import Line, line, span, unknown
from envbuild.planner.ranges import minor, numbers


def cuda(text: str, cc: str) -> Iterator[Line]:
    """A major (``12``), a minor (``12.9``) or a patch release of it (``12.9.1``).

    Raises:
        InputError: no such toolkit; names the nearest.
    """
    rows = {row.cuda: row for row in load().toolkits}
    wanted = re.sub(r"^(?:cuda)?[ -]?v?", "", text.strip().lower())
    of_major = [row for cuda, row in rows.items() if cuda.partition(".")[0] == wanted]
    if of_major:
        yield from _major(of_major, cc)
        return
    try:
        row = rows.get(minor(wanted))
        numbers(wanted)
    except InputError:
        row = None
    if row is None:
        raise unknown("--cuda", text, ordered(rows))
    exact = wanted if wanted.count(".") > 1 else ""
    if exact and exact not in (releases := _releases(row.cuda)):
        says = f"{exact} is in no row; of {row.cuda} these are: {words(releases) or 'none'}"
        yield line("release", says, "toolkits", row.cuda, row, note=False)
    if cc:
        yield _known(row, cc)
    yield from _itself(row)
    yield from _images(row.cuda, exact)
    yield from _packages(row.cuda, exact)
    builds = [b for b in load().torch if b.cuda == row.cuda and (not cc or serving(b, cc))]
    for index in dict.fromkeys(b.index for b in builds):
        some = [b for b in builds if b.index == index]
        releases = ordered(b.torch for b in some)
        newest = next(b for b in some if b.torch == releases[-1])
        says = f"{span(releases, releases)} from {index}"
        yield line("torch", says, "torch", f"{newest.torch}-{index}", newest, note=False)


def _major(rows: list[Toolkit], cc: str) -> Iterator[Line]:
    """A line for each minor release, the newest first."""
    for row in sorted(rows, key=lambda row: numbers(row.cuda), reverse=True):
        targets = ordered_targets(t for t in row.targets if t.isdigit())
        says = _known(row, cc).says if cc else f"sm_{targets[0]} to sm_{targets[-1]}"
        says = words([says, f"gcc up to {row.gcc_max}", row.driver and f"driver {row.driver}"])
        yield line(row.cuda, says, "toolkits", row.cuda, row)


def _releases(cuda: str) -> list[str]:
    """The patch releases of a minor that any row is about."""
    named = [tag.cuda for tag in load().images]
    named += [".".join(wheel.release.split(".")[:3]) for wheel in load().wheels]
    named += [release for repo in load().repositories for release in repo.releases]
    return ordered(release for release in named if minor(release) == cuda)


def _known(row: Toolkit, cc: str) -> Line:
    one = capability(cc)
    names = [t for t in row.targets if t.rstrip("af") in {one.target, *one.aliases}]
    if names:
        says = f"assembles {' '.join(f'sm_{t}' for t in names)} for {one.arch}"
    else:
        low, high = ordered_targets(iter(row.targets))[0], ordered_targets(iter(row.targets))[-1]
        says = f"has no target for {cc}: sm_{low} to sm_{high}"
    return line("cc", says, "toolkits", row.cuda, row)


def _itself(row: Toolkit) -> Iterator[Line]:
    targets = " ".join(ordered_targets(iter(row.targets)))
    yield line("targets", targets, "toolkits", row.cuda, row)
    limits = [f"gcc up to {row.gcc_max}", row.clang_max and f"clang up to {row.clang_max}"]
    yield line("compilers", words(limits), "toolkits", row.cuda, row)
    shipped = [
        f"{row.driver} shipped with it" if row.driver else "no driver of it is sourced",
        f"Windows {row.driver_windows}" if row.driver_windows else "",
        f"PTX ISA {row.ptx}" if row.ptx else "",
    ]
    yield line("driver", words(shipped), "toolkits", row.cuda, row)
    for floor in load().floors:
        if floor.major == numbers(row.cuda)[0]:
            says = f"finished code runs from {floor.linux} on (minor-version compatibility)"
            yield line("driver", says, "floors", str(floor.major), floor)
    for clash in load().glibc_clashes:
        if numbers(row.cuda) < numbers(clash.cuda_below):
            says = f"its headers clash with glibc {clash.glibc_from} and newer ({clash.symbol})"
            yield line("clash", says, "glibc_clashes", clash.glibc_from, clash)


def _images(cuda: str, exact: str) -> Iterator[Line]:
    for tag in load().images:
        if minor(tag.cuda) == cuda and exact in {"", tag.cuda}:
            cudnn = f"{tag.cudnn} {tag.cudnn_version or ''}".strip() if tag.cudnn else ""
            state = "deleted or past its end of life" if tag.withdrawn else ""
            says = words([f"{tag.cuda} {tag.os}: {' '.join(tag.flavours)}", cudnn, state])
            yield line("images", says, "images", f"{tag.cuda}-{tag.os}", tag)
    for seen in load_reference().digests:
        if minor(seen.cuda) == cuda and exact in {"", seen.cuda}:
            says = f"{seen.tag}, {seen.arch or 'all platforms'}: {seen.digest}"
            yield line("digests", says, "digests", f"{seen.tag}-{seen.arch or 'index'}", seen)
    for ngc in load_reference().ngc:
        major_alone = ngc.cuda == cuda.partition(".")[0]
        if ngc.cuda and (major_alone or (minor(ngc.cuda) == cuda and exact in {"", ngc.cuda})):
            parts = [ngc.framework or "", f"CUDA {ngc.cuda}", f"Python {ngc.python or 'unknown'}"]
            yield line("ngc", words([ngc.tag, *parts]), "ngc", ngc.tag, ngc)


def _packages(cuda: str, exact: str) -> Iterator[Line]:
    for wheel in load().wheels:
        if wheel.cuda == cuda and exact in {"", wheel.release}:
            says = f"{wheel.release}, {'with' if wheel.nvcc else 'without'} nvcc"
            yield line("wheels", says, "wheels", wheel.release, wheel)
    for distro in load().distro:
        if distro.cuda == cuda:
            says = f"{distro.os}: {' '.join(distro.packages)} {distro.version}"
            yield line("distro", says, "distro", f"{distro.os}-{cuda}", distro)
    for repo in load().repositories:
        low = repo.cuda_min is None or numbers(cuda) >= numbers(repo.cuda_min)
        high = repo.cuda_max is None or numbers(cuda) <= numbers(repo.cuda_max)
        if low and high:
            yield line(repo.kind, f"{repo.name}: {repo.url or ''}", "repositories", repo.name, repo)
    for jetson in load().jetson:
        if jetson.cuda == cuda:
            says = f"L4T {jetson.l4t} ({jetson.devices})"
            yield line("jetson", says, "jetson", jetson.l4t, jetson)
