"""Every toolkit with the one finding that decided about it, and refusals with their cures."""

from envbuild.errors import NoPlanError
from envbuild.planner import drivers, rules
from envbuild.planner.choose import Choice, beside, builds, choose, places
from envbuild.planner.conflict import Conflict, conflict
from envbuild.planner.ranges import minor, numbers
from envbuild.planner.rules.base import lowest, verdict
from envbuild.planner.table import SOURCES, Table, cite
from envbuild.planner.target import Part, Target, without
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step
from envbuild.values.plan import Alternative, Plan


def alternatives(table: Table, target: Target, choice: Choice | None) -> tuple[Alternative, ...]:
    """Each toolkit, newest first, and why it is or is not the one; then other sources."""
    found = []
    for cuda in sorted(table.toolkits, key=numbers, reverse=True):
        deciding = decided(table, target, cuda)
        if deciding is not None:
            found.append(
                Alternative(cuda=cuda, outcome="refuse", why=deciding.says, source=deciding.source)
            )
        else:
            found.append(_possible(table, target, cuda, choice))
    return (*found, *_other_ways(table, choice))


def decided(table: Table, target: Target, cuda: str) -> Finding | None:
    """The first rule that leaves this toolkit without a place, as it speaks of the best one."""
    mask = table.of_cuda.get(cuda, 0)
    if not mask:
        toolkit = table.toolkits[cuda]
        says = f"no source of CUDA {cuda} is in these matrices"
        return Finding(id="no-source", severity="error", says=says, source=cite(toolkit, cuda))
    for rule in rules.HARD:
        judged = verdict(rule, table, target)
        if not mask & judged.mask:
            return judged.says[lowest(mask)]
        mask &= judged.mask
    if target.torch is None:
        return None
    return _no_build(table, target, cuda, mask)


def _no_build(table: Table, target: Target, cuda: str, mask: int) -> Finding | None:
    alive = builds(table, target)
    rest = table.all_builds
    of_cuda = 0
    while rest:
        i = lowest(rest)
        rest &= rest - 1
        if table.builds[i].cuda == cuda:
            of_cuda |= 1 << i
            if alive >> i & 1 and beside(table, target, i) & mask:
                return None
    toolkit = table.toolkits[cuda]
    if not of_cuda:
        says = f"no torch build uses CUDA {cuda}"
        return Finding(id="torch-cuda", severity="error", says=says, source=cite(toolkit, cuda))
    for rule in rules.BUILDS:
        judged = verdict(rule, table, target)
        if not of_cuda & judged.mask:
            return judged.says[lowest(of_cuda)]
        of_cuda &= judged.mask
    build = table.builds[lowest(of_cuda)]
    says = f"torch {build.torch} needs Python {build.python or ', '.join(build.pythons)}, which no base left has"
    return Finding(
        id="torch-python",
        severity="error",
        says=says,
        source=cite(build, f"{build.torch}-{build.index}"),
    )


def _possible(table: Table, target: Target, cuda: str, choice: Choice | None) -> Alternative:
    """A toolkit that would do: chosen, or what the chosen one has before it."""
    toolkit = table.toolkits[cuda]
    source = cite(toolkit, cuda)
    if choice is not None and choice.place.cuda == cuda:
        return Alternative(cuda=choice.place.release, outcome="ok", why="chosen", source=source)
    mask = table.of_cuda[cuda] & choice.alive if choice is not None else 0
    for rule in rules.BEFORE if mask else ():
        judged = verdict(rule, table, target)
        if not mask & judged.mask:
            finding = judged.says[lowest(mask)]
            outcome = "warn" if finding.severity == "warn" else "ok"
            return Alternative(cuda=cuda, outcome=outcome, why=finding.says, source=finding.source)
        mask &= judged.mask
    if choice is not None and numbers(cuda) < numbers(choice.place.cuda):
        why = f"works too; {choice.place.cuda} is newer"
    else:
        why = "works too, with an older torch" if target.torch else "works too"
    return Alternative(cuda=cuda, outcome="ok", why=why, source=source)


def _other_ways(table: Table, choice: Choice | None) -> tuple[Alternative, ...]:
    """The best place of each other source that is left."""
    found = []
    for source in SOURCES if choice is not None else ():
        mask = table.of_source.get(source, 0) & choice.alive if choice is not None else 0
        if mask and choice is not None and source != choice.place.source:
            place = table.places[lowest(mask)]
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


def refusal(table: Table, target: Target) -> tuple[Finding, ...]:
    """The conflict with its cures as steps, then the findings that decided."""
    clash = conflict(table, target)
    deciding = _deciding(table, target, clash.core)
    source = " · ".join(dict.fromkeys(f.source for f in deciding)) or _any_source(table)
    finding = Finding(
        id="conflict",
        severity="error",
        says=_core_says(clash.core),
        why="; ".join(dict.fromkeys(f.says for f in deciding[:2])),
        steps=(*_corrections(table, target, clash), *_changes(table, target, clash)),
        source=source,
    )
    return (finding, *deciding)


def _core_says(core: tuple[Part, ...]) -> str:
    facts = [p.says for p in core if p.kind == "fact"]
    wishes = [p.says for p in core if p.kind == "wish"]
    if not core:
        return "these matrices hold no toolkit for this platform"
    if not wishes:
        return f"nothing serves {' and '.join(facts)}" + (" together" if len(facts) > 1 else "")
    wished = " and ".join(wishes)
    if not facts:
        return f"nothing serves {wished}" + (" together" if len(wishes) > 1 else "")
    fact = "facts" if len(facts) > 1 else "a fact"
    wish = "wishes" if len(wishes) > 1 else "a wish"
    return f"{' and '.join(facts)} ({fact}) and {wished} ({wish}) exclude each other"


def _deciding(table: Table, target: Target, core: tuple[Part, ...]) -> tuple[Finding, ...]:
    """What decided about the toolkits that the wishes themselves would take, each once."""
    found: dict[tuple[str, str], Finding] = {}
    wanted = [
        cuda
        for cuda in sorted(table.toolkits, key=numbers, reverse=True)
        if target.cuda is None or _some_release(table, target, cuda)
    ]
    only = _only(target, core)
    for cuda in wanted:
        finding = decided(table, only, cuda) or decided(table, target, cuda)
        if finding is not None:
            found.setdefault((finding.id, finding.says), finding)
    first: dict[str, Finding] = {}
    for finding in found.values():
        first.setdefault(finding.id, finding)
    rest = [f for f in found.values() if f is not first[f.id]]
    return (*first.values(), *rest)[:4]


def _only(target: Target, core: tuple[Part, ...]) -> Target:
    from envbuild.planner.target import parts

    return without(target, tuple(p for p in parts(target) if p not in core))


def _some_release(table: Table, target: Target, cuda: str) -> bool:
    mask = table.of_cuda.get(cuda, 0)
    while mask:
        place = table.places[lowest(mask)]
        mask &= mask - 1
        if target.cuda is not None and place.release in target.cuda:
            return True
    return False


def _any_source(table: Table) -> str:
    row = table.matrices.toolkits[0] if table.matrices.toolkits else None
    return cite(row, row.cuda) if row is not None else "toolkits derived"


def _corrections(table: Table, target: Target, clash: Conflict) -> tuple[Step, ...]:
    """One step a smallest correction: what is given up, and what it gives."""
    steps = []
    for dropped in clash.corrections:
        eased = _eased(table, target, dropped)
        choice = choose(table, eased)
        if choice is not None:
            up = " and ".join(p.says for p in dropped)
            steps.append(
                Step(why=f"without {up}: {describe(table, eased, choice)}", argv=argv(eased))
            )
    return tuple(steps)


def _eased(table: Table, target: Target, dropped: tuple[Part, ...]) -> Target:
    """A version is let go before the package is: another torch serves better than none."""
    torch = target.torch
    if torch is not None and torch.range is not None and any(p.field == "torch" for p in dropped):
        rest = tuple(p for p in dropped if p.field != "torch")
        other = replace(without(target, rest), torch=replace(torch, range=None))
        if choose(table, other) is not None:
            return other
    return without(target, dropped)


def describe(table: Table, target: Target, choice: Choice) -> str:
    """A plan in a few words."""
    place, build = choice.place, choice.build
    what = f"CUDA {place.release} from {place.source} on {place.os or 'this machine'}"
    if target.where == "image" and place.source != "image":
        what += " in a container"
    return f"torch {build.torch} from {build.index}, {what}" if build is not None else what


def _changes(table: Table, target: Target, clash: Conflict) -> tuple[Step, ...]:
    """How facts would have to change; several cards that exclude each other: two images."""
    steps = []
    for changed in clash.changes:
        if all(p.field == "driver" for p in changed):
            steps.append(_driver_step(table, target))
        elif all(p.field == "cards" for p in changed) and len(target.cc) > len(changed):
            names = ", ".join(p.says for p in changed)
            why = f"{names} in an image of its own: several images instead of one"
            split = replace(target, split=True)
            step = Step(why=why, argv=argv(split))
            if step not in steps:
                steps.append(step)
    return tuple(dict.fromkeys(steps))


def _driver_step(table: Table, target: Target) -> Step:
    free = without(target, (Part(kind="fact", field="driver", value=target.driver or "", says=""),))
    choice = choose(table, free)
    least = drivers.floor(table, choice.place.cuda) if choice is not None else None
    lasts = [
        row.last_branch for cc in target.cc if (row := table.capability(cc)).last_branch is not None
    ]
    last = drivers.branch(table, min(lasts)) if lasts else None
    firsts = [
        first
        for card in target.cards
        if (first := card.first_driver or table.capability(card.cc).first_driver)
    ]
    lows = [*firsts, *([least.linux] if least is not None else [])]
    low = max(lows, key=numbers, default=None)
    parts = [f"from {low} on"] if low else []
    if last is not None:
        parts.append(f"of {drivers.name(last)} or older, the last branch for this card")
    why = f"change the driver (a fact): one {' and '.join(parts)}" if parts else "change the driver"
    gives = f" gives {describe(table, free, choice)}" if choice is not None else ""
    text = f"install a driver {' '.join(parts)}, on the host, not in the image"
    return Step(why=f"{why}{gives}", text=text, check="nvidia-smi names the new version")


def argv(target: Target) -> tuple[str, ...]:
    """The command line of a target; facts that were detected become flags."""
    out = ["envbuild", "plan"]
    named = {card.cc for card in target.cards if card.name}
    if target.every_cc:
        out += ["--cc", "all"]
    for card in target.cards:
        out += ["--gpu", card.name] if card.name and card.cc in named else ["--cc", card.cc]
    request = target.request
    pairs: list[tuple[str, str | None]] = [
        ("--driver", target.driver),
        ("--cuda", target.cuda.text if target.cuda else None),
        *(("--with", str(w)) for w in ((target.torch,) if target.torch else ()) + target.packages),
        *(("--feature", name) for name in target.features),
        ("--base-os", target.base_os),
        ("--arch", target.arch if target.arch != "x86_64" or request.arch else None),
        ("--platform", _platform(target)),
        ("--l4t", request.l4t),
        ("--glibc", target.glibc if target.where == "host" else None),
        ("--gcc", target.gcc if target.where == "host" else None),
        ("--where", target.where if target.where == "host" else None),
        ("--flavour", target.flavour),
        ("--toolkit-source", target.source),
        ("--as-of", request.as_of),
    ]
    for flag, value in pairs:
        if value is not None:
            out += [flag, value]
    return (*out, "--split") if target.split else tuple(out)


def _platform(target: Target) -> str | None:
    if target.platform.startswith("jetson"):
        return "jetson"
    return "wsl2" if target.platform == "wsl2" else None


def no_plan(plan: Plan) -> NoPlanError:
    """A refusal as the error that other commands end with."""
    first = next((f for f in plan.findings if f.severity == "error"), None)
    if first is None:
        return NoPlanError("there is no plan")
    fixes = [f"{s.why}: {' '.join(s.argv) or s.text}" for s in first.steps]
    return NoPlanError(first.says, why=first.why, fix="\n      ".join(fixes))
