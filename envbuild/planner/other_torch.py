"""The way out of a refusal that is another release of torch: the nearest that serves."""

from envbuild.planner.choose import choose, feasible
from envbuild.planner.conflict import Parts, eased
from envbuild.planner.ranges import numbers, parse
from envbuild.planner.spell import command, describe
from envbuild.planner.table import Table
from envbuild.planner.target import Target, Wanted
from envbuild.values.codec import replace
from envbuild.values.finding import Step


def nearest(table: Table, target: Target, dropped: Parts) -> Step | None:
    """The first newer release that serves, else the last older one, beside what stays.

    None = the version was not what is given up, none serves, or it is the newest that does, which
    the correction without a version finds.
    """
    torch = target.torch
    at = _exact(torch) if torch is not None and any(p.field == "torch" for p in dropped) else None
    if at is None:
        return None
    rest = eased(target, tuple(p for p in dropped if p.field != "torch"))
    if feasible(table, _with(rest, ".".join(map(str, at)))):
        return None  # another build of this very release does
    every = sorted({build.torch for build in table.builds}, key=numbers)
    newer = [version for version in every if numbers(version) > at]
    older = [version for version in every if numbers(version)[: len(at)] < at]
    serving = (v for v in (*newer, *reversed(older)) if feasible(table, _with(rest, v)))
    version = next(serving, None)
    free = choose(table, replace(rest, torch=Wanted(name="torch")))
    newest = free.build.torch if free is not None and free.build is not None else None
    if version is None or version == newest:
        return None
    other = _with(rest, version)
    choice = choose(table, other)
    if choice is None:
        return None
    side = "first newer" if version in newer else "last older"
    why = f"with the {side} torch that serves this: {describe(other, choice)}"
    return Step(why=why, argv=command(other))


def _exact(torch: Wanted) -> tuple[int, ...] | None:
    """The one version that was asked for; None = a range, or any."""
    clauses = torch.range.clauses if torch.range is not None else ()
    return clauses[0][1] if len(clauses) == 1 and clauses[0][0] == "==" else None


def _with(target: Target, version: str) -> Target:
    return replace(target, torch=Wanted(name="torch", range=parse(f"=={version}", "--torch")))
