"""A machine that compiles by itself: the toolkit that is there already, and its host compiler."""

import re
from collections.abc import Iterator
from shlex import quote

from envbuild.planner.choose import feasible
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import minor, numbers, parse
from envbuild.planner.rules.compilers import gcc_for
from envbuild.planner.spell import command
from envbuild.planner.system import row_of
from envbuild.planner.table import cite
from envbuild.planner.tools import toolkit_of
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step

_INSTALL = {
    "apt": "apt-get update && apt-get install -y {}",
    "rpm": "dnf install -y gcc-c++ || zypper install -y gcc-c++",
}
"""The system's own compiler, by the family of the system."""


def here(chosen: Chosen) -> Iterator[Finding]:
    """The machine has the toolkit of this plan: nothing is installed."""
    version, path = toolkit_of(chosen.target, chosen.choice.place) or ("", "")
    if version:
        step = Step(
            why="let compilers and builds find it, in each shell that builds",
            text=f"export CUDA_HOME={quote(path)} PATH={quote(path)}/bin:$PATH",
            check=f"nvcc --version: release {minor(version)}",
        )
        says = f"CUDA {version} is here already, in {path}: no toolkit has to be installed"
        row = chosen.table.toolkits.get(chosen.choice.place.cuda)
        source = cite(row, row.cuda) if row is not None else chosen.choice.place.cite
        yield replace(note("toolkit-here", "info", says, source), steps=(step,))


def others_here(chosen: Chosen) -> Iterator[Finding]:
    """Toolkits of the machine that this plan does not take, and that would do as well."""
    target, place, table = chosen.target, chosen.choice.place, chosen.table
    tools = target.tools if target.on_host and place.kind == "compiler" else None
    if tools is None or target.cuda is not None or toolkit_of(target, place):
        return
    there = sorted({minor(version) for version, _ in tools.toolkits}, key=numbers, reverse=True)
    for cuda in there:
        other = replace(target, cuda=parse(cuda, "--cuda"))
        if cuda in table.toolkits and feasible(table, other):
            step = Step(why="plan with the toolkit that is there", argv=command(other))
            says = f"CUDA {cuda} is here already, and would do: nothing had to be installed"
            source = cite(table.toolkits[cuda], cuda)
            yield replace(note("toolkit-other", "info", says, source), steps=(step,))
            return


def compiler_missing(chosen: Chosen) -> Iterator[Finding]:
    """Nvcc compiles with the machine's own g++, which a gcc alone does not bring."""
    target, place, table = chosen.target, chosen.choice.place, chosen.table
    tools = target.tools if target.on_host and place.kind == "compiler" else None
    if tools is None or tools.compilers is None or place.source == "distro":
        return
    gcc = gcc_for(table, place, target)
    own = gcc is None or (target.gcc is not None and numbers(target.gcc)[0] == gcc)
    wanted = "g++" if own else f"g++-{gcc}"
    if wanted in tools.compilers or (own and f"g++-{gcc}" in tools.compilers):
        return
    row = row_of(table, target.system)
    step = Step(why="nvcc hands the host's part of the code to it", check=f"{wanted} --version")
    if row is None or (row.family == "rpm" and not own):
        step = replace(step, text=f"install {wanted} of this system's own packages")
    else:
        install = _INSTALL[row.family].format(wanted)
        step = replace(step, argv=("sudo", "sh", "-c", install))
    says = f"{wanted} is not on this machine: nvcc compiles nothing without it"
    toolkit = table.toolkits.get(place.cuda)
    source = cite(toolkit, place.cuda) if toolkit is not None else place.cite
    yield replace(note("host-compiler-missing", "warn", says, source), steps=(step,))


def as_root(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The same steps for root inside a container, which may have no sudo and needs none."""
    return tuple(
        replace(finding, steps=tuple(map(_plain, finding.steps))) if finding.steps else finding
        for finding in findings
    )


def _plain(step: Step) -> Step:
    argv = step.argv[1:] if step.argv[:1] == ("sudo",) else step.argv
    return replace(
        step,
        argv=tuple(_without(word) for word in argv),
        text=_without(step.text),
        check=_without(step.check),
    )


def _without(text: str) -> str:
    return re.sub(r"\bsudo (?=[a-z])", "", text)
