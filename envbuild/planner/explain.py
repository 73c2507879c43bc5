"""Every toolkit with the one finding that decided about it, and the other ways."""

from envbuild.planner import rules
from envbuild.planner.choose import Choice, beside, builds
from envbuild.planner.ranges import minor, numbers
from envbuild.planner.rules.base import Verdict, error, verdict, without_name
from envbuild.planner.table import SOURCES, Table, bits, cite, lowest
from envbuild.planner.target import Target
from envbuild.values.finding import Finding
from envbuild.values.plan import Alternative


def alternatives(table: Table, target: Target, choice: Choice | None) -> tuple[Alternative, ...]:
    """Each toolkit, newest first, and why it is or is not the one; then other sources."""
    verdicts = hard(table, target)
    judged = tuple(
        _judged(table, target, cuda, choice, verdicts) for cuda in reversed(table.toolkits)
    )
    return judged if choice is None else (*judged, *_other_ways(table, choice))


def hard(table: Table, target: Target) -> list[Verdict]:
    """What all hard rules say, in their order."""
    return [verdict(rule, table, target) for rule in rules.HARD]


def _judged(
    table: Table, target: Target, cuda: str, choice: Choice | None, verdicts: list[Verdict]
) -> Alternative:
    deciding = decided(table, target, cuda, verdicts)
    if deciding is None:
        return _possible(table, target, cuda, choice)
    why = without_name(cuda, deciding.says)
    return Alternative(cuda=cuda, outcome="refuse", why=why, source=deciding.source)


def decided(table: Table, target: Target, cuda: str, verdicts: list[Verdict]) -> Finding | None:
    """The first rule that leaves this toolkit without a place, as it speaks of the best one."""
    toolkit = table.toolkits[cuda]
    mask = table.of_cuda.get(cuda, 0)
    if not mask:
        return error("no-source", "no source of it is in these matrices", cite(toolkit, cuda))
    for judged in verdicts:
        if not mask & judged.mask:
            return judged.about(lowest(mask))
        mask &= judged.mask
    return None if target.torch is None else _no_build(table, target, cuda, mask)


def _no_build(table: Table, target: Target, cuda: str, mask: int) -> Finding | None:
    """Why no framework build can be beside these places; None = one can."""
    wanted = target.torch.range if target.torch is not None else None
    if wanted is not None and not any(build.torch in wanted for build in table.builds):
        newest = table.builds[0]
        says = f"no torch {wanted.text.removeprefix('==')} in these matrices, up to {newest.torch}"
        return error("torch-version", says, cite(newest, f"{newest.torch}-{newest.index}"))
    alive = builds(table, target)
    of_cuda = [i for i, build in enumerate(table.builds) if build.cuda == cuda]
    if any(alive >> i & 1 and beside(table, target, i) & mask for i in of_cuda):
        return None
    toolkit = table.toolkits[cuda]
    if not of_cuda:
        return error("torch-cuda", "no torch build uses it", cite(toolkit, cuda))
    left = 0
    for i in of_cuda:
        left |= 1 << i
    for rule in rules.BUILDS:
        judged = verdict(rule, table, target)
        if not left & judged.mask and rule is rules.torch.torch_version:
            return error("torch-cuda", f"no build of {target.torch} uses it", cite(toolkit, cuda))
        if not left & judged.mask:
            return judged.about(lowest(left))
        left &= judged.mask
    build = table.builds[lowest(left)]
    python = build.python or ", ".join(build.pythons)
    says = f"torch {build.torch} needs Python {python}, which no base that is left has"
    return error("torch-python", says, cite(build, f"{build.torch}-{build.index}"))


def _possible(table: Table, target: Target, cuda: str, choice: Choice | None) -> Alternative:
    """A toolkit that would do: the chosen one, or what the chosen one has before it."""
    source = cite(table.toolkits[cuda], cuda)
    if choice is None:
        return Alternative(cuda=cuda, outcome="ok", why="would do", source=source)
    if choice.place.cuda == cuda:
        return Alternative(cuda=choice.place.release, outcome="ok", why="chosen", source=source)
    mask = table.of_cuda[cuda] & choice.alive
    for rule in rules.BEFORE:
        judged = verdict(rule, table, target)
        out = mask and not mask & judged.mask
        finding = judged.about(lowest(mask)) if out else None
        if finding is not None:
            return Alternative(
                cuda=cuda,
                outcome="warn" if finding.severity == "warn" else "ok",
                why=without_name(cuda, finding.says),
                source=finding.source,
            )
        mask &= judged.mask
    newer = numbers(cuda) < numbers(choice.place.cuda)
    why = f"works too; {choice.place.cuda} is newer" if newer else "works too"
    if target.torch is not None:
        why = "works too, with another build of torch"
    return Alternative(cuda=cuda, outcome="ok", why=why, source=source)


def _other_ways(table: Table, choice: Choice) -> tuple[Alternative, ...]:
    """The best place of each other source that is left."""
    found = []
    for source in SOURCES:
        left = bits(table.of_source.get(source, 0) & choice.alive)
        if left and source != choice.place.source:
            place = table.places[left[0]]
            found.append(
                Alternative(
                    cuda=minor(place.release),
                    outcome="ok",
                    why=f"another way: {source} on {place.os or 'this machine'}",
                    source=place.cite,
                    way=source,
                )
            )
    return tuple(found)
