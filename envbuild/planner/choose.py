"""From verdicts to one choice: a plan is the AND of the masks, the choice its lowest set bit."""

from operator import attrgetter

import msgspec

from envbuild.matrix.model import TorchBuild
from envbuild.planner import rules
from envbuild.planner.rules.base import Rule, stand_in, verdict
from envbuild.planner.rules.packages import lacks_wheel
from envbuild.planner.rules.torch import system_of, unfit
from envbuild.planner.table import Place, Table, bits, lowest, remember
from envbuild.planner.target import Target
from envbuild.values.finding import Finding


class Choice(msgspec.Struct, frozen=True):
    """One place, one build where torch is wished for, and the preferences they fall short of.

    ``alive`` is the mask of all places that would do.
    """

    place: Place
    build: TorchBuild | None
    short: tuple[Finding, ...]
    alive: int


def places(table: Table, target: Target) -> int:
    """Places that no rule speaks against."""
    return _passed(table, target, "places", rules.HARD, table.all_places)


def builds(table: Table, target: Target) -> int:
    """Framework builds that no rule speaks against."""
    return _passed(table, target, "builds", rules.BUILDS, table.all_builds)


_READ = {
    "places": attrgetter("cards", *dict.fromkeys(f for r in rules.HARD for f in r.reads)),
    "builds": attrgetter("cards", *dict.fromkeys(f for r in rules.BUILDS for f in r.reads)),
}
"""What all rules together look at: machines that are equal in it have the same places."""


def _passed(table: Table, target: Target, axis: str, every: tuple[Rule, ...], mask: int) -> int:
    """The rows that all rules let pass; remembered, since conflicts are searched by trying."""
    for machine in target.machines:
        one = stand_in(table, machine)
        key = (axis, _READ[axis](one))
        known = table.memo.get(key)
        if not isinstance(known, int):
            known = -1
            for rule in every:
                known &= verdict(rule, table, one).mask
                if not known:
                    break
            remember(table, key, known)
        mask &= known
        if not mask:
            return 0
    return mask


def beside(table: Table, target: Target, build: int) -> int:
    """Places where a build can be: the toolkit's minor is the wheel's, Python and glibc fit.

    So does the Python of the packages beside it, whose versions follow from the build.
    """
    here = (target.python, target.glibc) if target.on_host else None
    wishes = (target.packages, target.cc, target.arch) if target.packages else None
    key = ("beside", build, here, wishes)
    known = table.memo.get(key)
    if isinstance(known, int):
        return known
    row = table.builds[build]
    mask = table.of_cuda.get(row.cuda, 0)
    for os, of_os in table.of_os.items():
        python, glibc = system_of(table, target, os)
        if unfit(row, python, glibc) or lacks_wheel(table, target, row, python):
            mask &= ~of_os
    remember(table, key, mask)
    return mask


def pairs(table: Table, target: Target, alive: int) -> list[tuple[int, int]]:
    """(build, its places) for each build that has a place left, preferred first."""
    found = []
    for build in bits(builds(table, target)):
        mask = alive & beside(table, target, build)
        if mask:
            found.append((build, mask))
    return found


def feasible(table: Table, target: Target) -> bool:
    """There is at least one plan."""
    alive = places(table, target)
    if target.torch is None or not alive:
        return bool(alive)
    return bool(pairs(table, target, alive))


def choose(table: Table, target: Target) -> Choice | None:
    """The plan's place and build; None = no plan."""
    alive = places(table, target)
    if not alive:
        return None
    build = None
    mask = alive
    if target.torch is not None:
        fitting = _better(table, target, pairs(table, target, alive))
        if not fitting:
            return None
        build, mask = _build(table, target, fitting)
        alive = 0
        for _, part in fitting:
            alive |= part
    chosen = _prefer(table, target, mask)
    newest = table.places[lowest(chosen)].cuda
    index, late = _settle(table, target, chosen & table.of_cuda[newest])
    place = table.places[index]
    early = [_said(rule, table, one, place) for rule in rules.BEFORE for one in target.machines]
    row = table.builds[build] if build is not None else None
    for rule in rules.BETTER if row is not None else ():
        early += [rule.judge(table, row, one) for one in target.machines]
    short: dict[str, Finding] = {}
    for finding in (*early, *late):
        if finding is not None:
            # What several machines fall short of is said once.
            short.setdefault(finding.id, finding)
    return Choice(place, row, tuple(short.values()), alive)


def _said(rule: Rule, table: Table, target: Target, place: Place) -> Finding | None:
    """What a preference says of this very place; a verdict speaks of one place of a group."""
    if rule.binds and not {place.kind, place.source} & set(rule.binds):
        return None
    row = table.toolkits.get(place.cuda) if rule.axis == "toolkit" else place
    return rule.judge(table, row, target) if row is not None else None


def _settle(table: Table, target: Target, mask: int) -> tuple[int, list[Finding | None]]:
    """The best of the few places that are left; the last preferences are asked of these alone."""
    left = bits(mask)
    said: dict[int, list[Finding | None]] = {i: [] for i in left}
    for rule in rules.AFTER:
        for i in left:
            said[i].append(_said(rule, table, target, table.places[i]))
        left = [i for i in left if said[i][-1] is None] or left
    return left[0], said[left[0]]


def _better(table: Table, target: Target, fitting: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Drop the builds that a preference speaks against, while anything remains."""
    for rule in rules.BETTER:
        for one in target.machines:
            mask = verdict(rule, table, one).mask
            fitting = [pair for pair in fitting if mask >> pair[0] & 1] or fitting
    return fitting


def _build(table: Table, target: Target, fitting: list[tuple[int, int]]) -> tuple[int, int]:
    """The newest version; of its builds the one at or below the driver's level."""
    newest = table.builds[fitting[0][0]].torch
    same = [pair for pair in fitting if table.builds[pair[0]].torch == newest]
    for build, mask in same:
        preferred = mask
        for rule in rules.BEFORE:
            for one in target.machines:
                preferred &= verdict(rule, table, one).mask
        if preferred:
            return build, mask
    return same[0]


def _prefer(table: Table, target: Target, mask: int) -> int:
    """Drop what a preference speaks against, while anything remains."""
    for rule in rules.BEFORE:
        for one in target.machines:
            mask = mask & verdict(rule, table, one).mask or mask
    return mask
