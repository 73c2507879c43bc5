"""Systems, Jetsons, engines, profilers and WSL."""

from collections.abc import Iterator

from envbuild.matrix.answers.common import least, ordered, table, words
from envbuild.matrix.load import load, load_reference
from envbuild.matrix.model import JetsonRow
from envbuild.matrix.show import Line, line, span, unknown
from envbuild.planner.ranges import minor, numbers
from envbuild.planner.words import system as spelled


def system(text: str) -> Iterator[Line]:
    """One operating system as a base: its compilers, C library and Python.

    Raises:
        InputError: no row is about it; names the nearest.
    """
    name = spelled(text, table())
    row = next((o for o in load().oses if o.id == name), None)
    if row is None:
        raise unknown("--base-os", text, [o.id for o in load().oses])
    others = [str(gcc) for gcc in row.gccs if gcc != row.gcc]
    says = words(
        [
            f"gcc {row.gcc}" if row.gcc else "",
            f"also {' '.join(others)}" if others else "",
            f"glibc {row.glibc}" if row.glibc else "",
            f"Python {row.python}" if row.python else "",
            f"supported until {row.ends}" if row.ends else "",
            row.image or "its vendor image is its only base here",
        ]
    )
    yield line("what", says, "oses", row.id, row)
    for clash in load().glibc_clashes:
        if row.glibc and numbers(row.glibc) >= numbers(clash.glibc_from):
            says = f"headers of CUDA below {clash.cuda_below} do not compile ({clash.symbol})"
            yield line("clash", says, "glibc_clashes", clash.glibc_from, clash)
    able = [k for k in load().toolkits if row.gccs and min(row.gccs) <= k.gcc_max]
    if able:
        order = ordered(k.cuda for k in load().toolkits)
        says = f"its compilers fit {span((k.cuda for k in able), order)}"
        yield line("toolkits", says, "toolkits", able[-1].cuda, able[-1], note=False)
    tags = [t for t in load().images if t.os == row.id and not t.withdrawn]
    if tags:
        releases = ordered(t.cuda for t in tags)
        newest = next(t for t in tags if t.cuda == releases[-1])
        says = f"vendor tags {', '.join(releases)}"
        yield line("images", says, "images", f"{newest.cuda}-{row.id}", newest, note=False)
    for distro in load().distro:
        if distro.os == row.id:
            says = f"its own archive has CUDA {distro.cuda}: {' '.join(distro.packages)}"
            yield line("distro", says, "distro", f"{row.id}-{distro.cuda}", distro)
    for repo in load().repositories:
        if row.id in repo.oses:
            yield line(repo.kind, f"{repo.name}: {repo.url or ''}", "repositories", repo.name, repo)


def l4t(text: str) -> Iterator[Line]:
    """One line of Jetson Linux.

    Raises:
        InputError: no row is about it; names those that are.
    """
    wanted = text.strip().lower().removeprefix("r")
    rows = [j for j in load().jetson if wanted == j.l4t or wanted.startswith(f"{j.l4t}.")]
    rows = rows or [j for j in load().jetson if j.l4t.startswith(f"{wanted}.")]
    rows = rows or [j for j in load().jetson if _called(j, wanted)]
    if not rows:
        names = [f"JetPack {j.jetpack}" for j in load().jetson]
        raise unknown("--l4t", text, [*ordered(j.l4t for j in load().jetson), *names])
    for j in rows:
        says = words(
            [
                f"JetPack {j.jetpack}",
                f"CUDA {j.cuda}",
                f"cc {' '.join(j.cc)}",
                j.devices,
                j.os,
                "images of servers" if j.platform == "jetson-sbsa" else j.image,
            ]
        )
        yield line(f"L4T {j.l4t}", says, "jetson", j.l4t, j)


def _called(row: JetsonRow, wanted: str) -> bool:
    """Its JetPack's number, or one of its devices (``orin``, ``jetson agx orin``)."""
    jetpack = wanted.removeprefix("jetpack").strip()
    if f"{row.jetpack} ".replace(" ", ".").startswith(f"{jetpack}.") and jetpack:
        return True
    devices = {word.strip().lower() for word in row.devices.split(",")}
    return not devices.isdisjoint(wanted.replace(",", " ").split())


def engine(text: str) -> Iterator[Line]:
    """A container engine, or the container toolkit.

    Raises:
        InputError: no row is about it; names the nearest.
    """
    rows = [e for e in load_reference().engines if e.engine == text.strip().lower()]
    if not rows:
        raise unknown("--engine", text, [e.engine for e in load_reference().engines])
    for e in rows:
        until = f"up to {e.until}: " if e.until else ""
        says = f"{least(e.since)}{until}{e.says}"
        yield line(e.feature, says, "engines", f"{e.engine}-{e.feature}", e)


def tool(text: str, cc: str) -> Iterator[Line]:
    """A profiler, debugger or checker.

    Raises:
        InputError: no row is about it; names the nearest.
    """
    name = text.strip().lower()
    rows = [t for t in load_reference().tools if t.tool == name]
    if not rows:
        raise unknown("--tool", text, [t.tool for t in load_reference().tools])
    for t in rows:
        low = t.cc_min is None or not cc or numbers(cc) >= numbers(t.cc_min)
        high = t.cc_max is None or not cc or numbers(cc) <= numbers(t.cc_max)
        says = words(
            [
                words([t.since and f"from {t.since}", t.until and f"to {t.until}"]),
                f"cc {t.cc_min or 'any'} to {t.cc_max or 'newest'}",
                f"CUDA {minor(t.cuda_min) if t.cuda_min else 'any'} to {t.cuda_max or 'newest'}",
                f"driver {t.driver} or newer" if t.driver else "",
                "inside WSL 2" if t.platform else "",
                t.needs,
            ]
        )
        yield line("serves" if low and high else "not", says, "tools", t.tool, t)


def wsl() -> Iterator[Line]:
    """What WSL 2 needs and does not do."""
    for row in load_reference().wsl:
        yield line(row.what, f"{least(row.least)}{row.says}", "wsl", row.what, row)
