"""A compiler or a Python in hand: what takes it, and which systems have it."""

import re
from collections.abc import Iterator

from envbuild.matrix.answers.common import ordered, toolkits
from envbuild.matrix.load import load
from envbuild.matrix.show import Line, line, span, unknown
from envbuild.planner.ranges import numbers


def gcc(text: str) -> Iterator[Line]:
    """A major release of gcc (``14`` or ``13.3``): the toolkits that take it as host compiler.

    Raises:
        InputError: not a version.
    """
    found = re.fullmatch(r"(?:gcc|g\+\+)?[ -]?(\d{1,2})(?:\.\d+){0,2}", text.strip().lower())
    if found is None:
        every = {n for os in load().oses for n in os.gccs}
        raise unknown("--gcc", text, [str(n) for n in sorted(every)])
    wanted = int(found[1])
    taking = [row for row in load().toolkits if row.gcc_max >= wanted]
    refusing = [row for row in load().toolkits if row.gcc_max < wanted]
    if taking:
        says = f"{toolkits(row.cuda for row in taking)} take gcc {wanted}"
        first = min(taking, key=lambda row: numbers(row.cuda))
        yield line("toolkits", says, "toolkits", first.cuda, first, note=False)
    if refusing:
        last = max(refusing, key=lambda row: numbers(row.cuda))
        says = f"{toolkits(row.cuda for row in refusing)}: {last.cuda} takes gcc up to"
        yield line("not", f"{says} {last.gcc_max}", "toolkits", last.cuda, last, note=False)
    for os in load().oses:
        if wanted == os.gcc or wanted in os.gccs:
            says = f"{os.id}: its own" if wanted == os.gcc else f"{os.id}: as g++-{wanted}"
            yield line("systems", says, "oses", os.id, os)


def python(text: str) -> Iterator[Line]:
    """A minor release of Python (``3.13``): which torch and packages have wheels for it.

    Raises:
        InputError: nothing in these matrices has it; names those that are there.
    """
    wanted = re.sub(r"^(?:python|py|cp)[ -]?", "", text.strip().lower())
    wanted = ".".join(wanted.split(".")[:2])
    builds = [b for b in load().torch if wanted in b.pythons]
    packages = [r for r in load().packages if wanted in r.pythons]
    systems = [os for os in load().oses if os.python == wanted]
    if not (builds or packages or systems):
        raise unknown("--python", text, ordered(v for b in load().torch for v in b.pythons))
    if builds:
        every = ordered(b.torch for b in load().torch)
        newest = max(builds, key=lambda b: numbers(b.torch))
        says = f"{span({b.torch for b in builds}, every)} have wheels for Python {wanted}"
        yield line("torch", says, "torch", f"{newest.torch}-{newest.index}", newest, note=False)
    for r in packages:
        says = f"{r.requirement} {r.version}" if r.version else r.requirement
        yield line("packages", says, "packages", r.requirement, r)
    for os in systems:
        yield line("systems", f"{os.id}: its own", "oses", os.id, os)
