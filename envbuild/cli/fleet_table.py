"""A fleet as people read it: the images, who takes which, then each plan."""

from collections.abc import Iterator

from envbuild.cli import plan_table
from envbuild.cli.show import clean
from envbuild.values.plan import DriverNeed, Fleet, FleetEntry, FleetNode, Plan

_FULL = 4  # plans that are shown whole; the others by their line


def lines(made: Fleet, *, explain: bool) -> Iterator[str]:
    """The lines of the table, without line ends."""
    if any(f.id == "conflict" for f in made.findings):
        broken = tuple(f for f in made.findings if f.id == "host-impossible")
        yield from plan_table.refusal(tuple(f for f in made.findings if f not in broken), "")
        yield from plan_table.findings(broken)
        return
    served = [entry for entry in made.entries if entry.plan.outcome != "refuse"]
    images = f"{len(served)} image{'s' if len(served) != 1 else ''}"
    takers = tuple(node for node in made.nodes if _takes(made, node))
    who = _count(made.nodes)
    if takers != made.nodes:
        who = f"{sum(node.count for node in takers)} of {who}"
    yield f"{plan_table.outcome(made.outcome)}  {images} for {who}"
    for number, entry in enumerate(made.entries, 1):
        yield f"  {number:<3} {clean(_title(entry.plan)):<70}  for {_some(entry)}"
    yield from _nodes(made)
    yield from plan_table.findings(made.findings)
    for number, entry in enumerate(made.entries[:_FULL], 1):
        yield ""
        yield f"{number}  for {_some(entry)}"
        yield from plan_table.plan(entry.plan, explain=explain)
    if len(made.entries) > _FULL:
        yield f"{len(made.entries) - _FULL} more plans: --json holds each of them whole"


def _title(plan: Plan) -> str:
    if plan.outcome == "refuse":
        return "no plan"
    if plan.image.ref is None:
        return f"CUDA {plan.cuda} as {plan.toolkit_source} on the machine"
    source = "" if plan.toolkit_source == "image" else f" as {plan.toolkit_source}"
    return f"CUDA {plan.cuda}{source}, {plan.image.ref}"


def _some(entry: FleetEntry) -> str:
    return clean(_names(list(entry.nodes)))


def _names(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    return ", ".join(names[: 4 if more else 5]) + more


def _count(nodes: tuple[FleetNode, ...]) -> str:
    count = sum(node.count for node in nodes)
    return f"{count} node{'s' if count != 1 else ''}"


def _takes(made: Fleet, node: FleetNode) -> bool:
    """There is an image for it."""
    return node.entry is not None and made.entries[node.entry - 1].plan.outcome != "refuse"


def _nodes(made: Fleet) -> Iterator[str]:
    """Nodes that are alike share a line."""
    groups: dict[object, list[FleetNode]] = {}
    for node in made.nodes:
        alike = (node.entry, node.gpus, node.cc, node.given, node.driver, node.access)
        groups.setdefault(alike, []).append(node)
    for i, group in enumerate(groups.values()):
        first = group[0]
        who = _names([f"{n.name} ({n.count})" if n.count > 1 else n.name for n in group])
        if len(group) > 1:
            who = f"{_count(tuple(group))}: {who}"
        cards = ", ".join(first.gpus or tuple(f"cc {cc}" for cc in first.cc))
        takes = f"takes {first.entry}" if _takes(made, first) else "none"
        told = " · ".join(part for part in (who, cards, _needs(first), _access(first)) if part)
        yield f"{'nodes' if i == 0 else '':<5} {takes:<8} {clean(told)}"


def _access(node: FleetNode) -> str:
    """How its engine gives a container the GPU, where somebody looked."""
    if node.access == "none":
        return "no GPU in its containers yet: envbuild plan --host for it alone says how"
    return f"GPU access {node.access}" if node.access is not None else ""


def _needs(node: FleetNode) -> str:
    """The driver in hand, and what it must be; or why the node takes no image."""
    given = f"driver {node.given} in hand" if node.given is not None else ""
    need = node.driver
    if node.says or need == DriverNeed():
        return node.says or given
    parts = [f"driver {need.min} or newer" if need.min else "any driver"]
    parts += [f"at most R{need.last_branch}"] if need.last_branch is not None else []
    parts += [f"{need.module} module"] if need.module not in {None, "either"} else []
    needs = ", ".join(parts)
    return f"{given}; needs {needs.removeprefix('driver ')}" if given else f"needs {needs}"
