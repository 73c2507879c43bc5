"""Every toolkit with the one finding that decided about it, and the other ways."""

from collections.abc import Callable, Iterator

import msgspec

from envbuild.matrix.model import JetsonRow
from envbuild.planner import rules
from envbuild.planner.choose import Choice, beside, builds, pairs
from envbuild.planner.ranges import minor, numbers
from envbuild.planner.rules.base import Verdict, about, error, verdict, without_name
from envbuild.planner.rules.torch import system_of, unfit
from envbuild.planner.table import SOURCES, Table, bits, cite, lowest
from envbuild.planner.target import Target
from envbuild.values.codec import replace
from envbuild.values.finding import Finding
from envbuild.values.plan import Alternative

_KIND = (rules.platforms.right_side, rules.platforms.host_system, rules.torch.compiler_wanted)


class Hard(msgspec.Struct, frozen=True):
    """What all hard rules say of all places, so that each toolkit need only look.

    Attributes:
        says: the verdicts, in the rules' order.
        before: places that the first ``i`` rules leave; one entry more than rules.
        others: places that all rules but the one at ``i`` leave.
        kind: places of the kind asked for, see `kind_of`.
        builds: framework builds that no rule speaks against.
        torch: what all rules say of the framework builds, None = none is wished for.
    """

    says: tuple[Verdict, ...]
    before: tuple[int, ...]
    others: tuple[int, ...]
    kind: int = 0
    builds: int = 0
    torch: "Hard | None" = None

    def decided(self, mask: int, serves: Callable[[int], bool]) -> Finding | None:
        """The one rule that keeps these rows out; None = they stay in.

        Of the rules without which they would do, the last in their order: wishes come after
        facts, and a wish can be given up. Where no single rule is enough, the first that leaves
        none of them.
        """
        if mask & self.before[-1]:
            return None
        for judged, others in zip(reversed(self.says), reversed(self.others), strict=True):
            rest = mask & others
            if rest and serves(rest):
                return judged.about(lowest(rest))
        for judged, before, after in zip(self.says, self.before, self.before[1:], strict=False):
            if not mask & after:
                return judged.about(lowest(mask & before))
        return None


def hard(table: Table, target: Target) -> Hard:
    """What all hard rules say about a target."""
    says = tuple(verdict(rule, table, one) for rule in rules.HARD for one in target.machines)
    judged = _hard(says, table.all_places)
    kind = kind_of(table, target)
    if target.torch is None:
        return replace(judged, kind=kind)
    about_builds = tuple(verdict(rule, table, target) for rule in rules.BUILDS)
    torch = _hard(about_builds, table.all_builds)
    return replace(judged, kind=kind, builds=builds(table, target), torch=torch)


def _hard(says: tuple[Verdict, ...], every: int) -> Hard:
    before, after = [every], [every]
    for judged in says:
        before.append(before[-1] & judged.mask)
    for judged in reversed(says):
        after.append(after[-1] & judged.mask)
    others = (b & a for b, a in zip(before, reversed(after[:-1]), strict=False))
    return Hard(says, tuple(before), tuple(others))


def alternatives(table: Table, target: Target, choice: Choice | None) -> tuple[Alternative, ...]:
    """Each toolkit, newest first, and why it is or is not the one; then other sources."""
    judged = hard(table, target)
    lesser = _Lesser(table, target, choice) if choice is not None else None
    found = []
    for cuda in reversed(table.toolkits):
        out = decided(table, target, cuda, judged)
        if out is not None:
            why = without_name(cuda, out.says)
            found.append(Alternative(cuda=cuda, outcome="refuse", why=why, source=out.source))
        elif lesser is not None:
            found.append(lesser.judged(cuda))
    return (*found, *(_other_ways(table, choice) if choice is not None else ()))


def kind_of(table: Table, target: Target) -> int:
    """Places of the kind asked for.

    Images or this machine, with a compiler or beside a framework's wheels: what is of another
    kind is no answer to the request, whatever else speaks against it.
    """
    mask = table.all_places
    for rule in _KIND:
        mask &= verdict(rule, table, target).mask
    return mask


def decided(table: Table, target: Target, cuda: str, judged: Hard) -> Finding | None:
    """The one finding that keeps a toolkit out, about the best of its places; None = it is in."""
    mask = table.of_cuda.get(cuda, 0) & judged.kind
    if not mask:
        return _elsewhere(table, target, cuda)
    if judged.torch is None:
        return judged.decided(mask, bool)
    alive = bits(judged.builds & table.builds_of.get(cuda, 0))

    def serves(places: int) -> bool:
        return any(beside(table, target, i) & places for i in alive)

    left = mask & judged.before[-1]
    if not left:
        return judged.decided(mask, serves)
    return None if serves(left) else _no_build(table, target, cuda, left, judged.torch)


def _elsewhere(table: Table, target: Target, cuda: str) -> Finding | None:
    """Why no place of a toolkit is of the kind asked for."""
    toolkit, mask = table.toolkits[cuda], table.of_cuda.get(cuda, 0)
    rows = [table.places[i].row for i in bits(mask)]
    if not rows:
        return error("no-source", "no source of it is in these matrices", cite(toolkit, cuda))
    lines = [row.l4t for row in rows if isinstance(row, JetsonRow)]
    if len(lines) == len(rows):
        part = f"it is part of L4T {' and '.join(dict.fromkeys(lines))}, for Jetsons alone"
        return error("jetson", about(cuda, part), cite(toolkit, cuda))
    says = tuple(verdict(rule, table, target) for rule in _KIND)
    return _hard(says, table.all_places).decided(mask, bool)


def _no_build(table: Table, target: Target, cuda: str, places: int, judged: Hard) -> Finding | None:
    """Why no framework build can be beside these places."""
    wanted = target.torch.range if target.torch is not None else None
    if wanted is not None and not any(build.torch in wanted for build in table.builds):
        newest, oldest = table.builds[0], table.builds[-1]
        says = (
            f"no torch {wanted.text.removeprefix('==')} in these matrices, "
            f"which hold {oldest.torch} to {newest.torch}"
        )
        return error("torch-version", says, cite(newest, f"{newest.torch}-{newest.index}"))
    toolkit = table.toolkits[cuda]
    mine = table.builds_of.get(cuda, 0)
    if not mine:
        return error("torch-cuda", "no torch build uses it", cite(toolkit, cuda))
    finding = judged.decided(
        mine, lambda left: any(beside(table, target, i) & places for i in bits(left))
    )
    if finding is not None and finding.id == "torch-version":
        return error("torch-cuda", f"no build of {target.torch} uses it", cite(toolkit, cuda))
    if finding is not None:
        return finding
    build = table.builds[lowest(mine & judged.before[-1])]
    place = table.places[lowest(places)]
    says = unfit(build, *system_of(table, target, place.os)) + f" ({place.os or 'this machine'})"
    return error("torch-python", says, cite(build, f"{build.torch}-{build.index}"))


def against_source(table: Table, target: Target, choice: Choice) -> str:
    """Why the toolkit source that was asked for is not the one taken, empty = it has none."""
    mask = table.of_source.get(target.source or "", 0)
    left = mask & choice.alive
    if left:
        finding = _Lesser(table, target, choice).lost(left, choice.alive)
    else:
        judged = hard(table, target)
        mask = mask & judged.kind or mask
        finding = judged.decided(mask, bool)
        if finding is None:
            # No rule is against it, but no build of the framework can be beside it.
            newest = table.places[lowest(mask & judged.before[-1])].cuda
            finding = decided(table, target, newest, judged)
    return finding.says if finding is not None else ""


class _Lesser:
    """What the chosen toolkit has before each other one that would do."""

    def __init__(self, table: Table, target: Target, choice: Choice) -> None:
        self.table, self.choice = table, choice
        self.fitting = pairs(table, target, choice.alive) if target.torch is not None else []
        self.preferences = [
            verdict(rule, table, one) for rule in rules.BEFORE for one in target.machines
        ]

    def judged(self, cuda: str) -> Alternative:
        """One toolkit that no rule speaks against."""
        table, chosen = self.table, self.choice.place
        source = cite(table.toolkits[cuda], cuda)
        if chosen.cuda == cuda:
            return Alternative(cuda=chosen.release, outcome="ok", why="chosen", source=source)
        mine = table.of_cuda[cuda] & self.choice.alive
        lost = self.lost(mine, self.choice.alive) if self.choice.build is None else None
        if lost is not None:
            return Alternative(
                cuda=cuda,
                outcome="warn" if lost.severity == "warn" else "ok",
                why=without_name(cuda, lost.says),
                source=lost.source,
            )
        return Alternative(cuda=cuda, outcome="ok", why=self._why(cuda), source=source)

    def lost(self, mine: int, left: int) -> Finding | None:
        """The strongest preference that others keep to and these places do not."""
        for judged in self.preferences:
            kept = left & judged.mask or left
            if mine & left and not mine & kept:
                return judged.about(lowest(mine & left))
            left = kept
        return None

    def _why(self, cuda: str) -> str:
        chosen, build = self.choice.place, self.choice.build
        if build is None:
            return f"works too; {chosen.cuda} is newer"
        mine = [self.table.builds[i] for i, _ in self.fitting if self.table.builds[i].cuda == cuda]
        if numbers(mine[0].torch) < numbers(build.torch):
            return f"works too, with torch {mine[0].torch}; {build.torch} is newer"
        return (
            f"works too, with torch {mine[0].torch} from {mine[0].index}; {build.index} comes first"
        )


def _other_ways(table: Table, choice: Choice) -> Iterator[Alternative]:
    """The best place of each other source that is left, with the same toolkit where it has it."""
    for source in SOURCES:
        left = table.of_source.get(source, 0) & choice.alive
        if left and source != choice.place.source:
            place = table.places[lowest(left & table.of_cuda[choice.place.cuda] or left)]
            yield Alternative(
                cuda=minor(place.release),
                outcome="ok",
                why=f"another way: {source} on {place.os or 'this machine'}",
                source=place.cite,
                way=source,
            )
