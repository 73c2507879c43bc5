"""A refusal: the smallest conflict, what decided, and every smallest correction."""

from collections.abc import Iterator

from envbuild.errors import NoPlanError
from envbuild.planner import drivers
from envbuild.planner.cards import module_of
from envbuild.planner.choose import Choice, choose, feasible
from envbuild.planner.conflict import Conflict, conflict
from envbuild.planner.explain import decided, hard
from envbuild.planner.needs import driver_needs
from envbuild.planner.ranges import numbers
from envbuild.planner.resolve import resolve
from envbuild.planner.rules.base import about, without_name
from envbuild.planner.spell import argv, as_request
from envbuild.planner.table import Place, Table, bits
from envbuild.planner.target import Part, Target, parts, without
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step
from envbuild.values.plan import Plan


def refusal(table: Table, target: Target) -> tuple[Finding, ...]:
    """The conflict with its cures as steps, then the findings that decided."""
    clash = conflict(table, target)
    deciding = _deciding(table, target, clash.core)
    first = Finding(
        id="conflict",
        severity="error",
        says=_says(clash.core),
        why="; ".join(f.says for f in deciding[:2]),
        steps=(*_corrections(table, target, clash), *_changes(table, target, clash)),
        source=" · ".join(dict.fromkeys(f.source for f in deciding)),
    )
    return (first, *deciding)


def _says(core: tuple[Part, ...]) -> str:
    facts = " and ".join(p.says for p in core if p.kind == "fact")
    wishes = " and ".join(p.says for p in core if p.kind == "wish")
    together = " together" if len(core) > 1 else ""
    if not core:
        return "nothing in these matrices serves this platform"
    if not facts or not wishes:
        return f"nothing serves {facts or wishes}{together}"
    fact = "facts" if sum(p.kind == "fact" for p in core) > 1 else "a fact"
    wish = "wishes" if sum(p.kind == "wish" for p in core) > 1 else "a wish"
    return f"{facts} ({fact}) and {wishes} ({wish}) exclude each other"


def _deciding(table: Table, target: Target, core: tuple[Part, ...]) -> tuple[Finding, ...]:
    """What decided about the toolkits asked for; neighbours with one reason share a finding."""
    alone = without(target, tuple(p for p in parts(target) if p not in core))
    asked = [c for c in reversed(table.toolkits) if _in_range(table, target, c)]
    by_core, by_all = hard(table, alone), hard(table, target)
    runs: list[list[tuple[str, Finding]]] = []
    for cuda in asked or list(reversed(table.toolkits)):
        finding = decided(table, alone, cuda, by_core) or decided(table, target, cuda, by_all)
        if finding is None:
            continue
        if runs and _reason(*runs[-1][-1]) == _reason(cuda, finding):
            runs[-1].append((cuda, finding))
        else:
            runs.append([(cuda, finding)])
    # A reason of each kind before the second of one: the reader sees every side of the conflict.
    seen: dict[str, int] = {}
    ranked = []
    for run in runs:
        kind = run[0][1].id
        seen[kind] = seen.get(kind, 0) + 1
        ranked.append((seen[kind], _merged(run)))
    unique = dict.fromkeys(f for _, f in sorted(ranked, key=lambda pair: pair[0]))
    return tuple(unique)[:4]


def _reason(cuda: str, finding: Finding) -> tuple[str, str]:
    return finding.id, without_name(cuda, finding.says)


def _merged(run: list[tuple[str, Finding]]) -> Finding:
    """``CUDA 13.0-13.5: ...``; the row cited is the oldest toolkit's."""
    newest, oldest = run[0], run[-1]
    text = without_name(*(newest[0], newest[1].says))
    if len(run) == 1 or text == newest[1].says:
        return newest[1]
    return replace(oldest[1], says=about(f"{oldest[0]}-{newest[0]}", text))


def _in_range(table: Table, target: Target, cuda: str) -> bool:
    wanted = target.cuda
    places = bits(table.of_cuda.get(cuda, 0))
    return wanted is None or any(table.places[i].release in wanted for i in places)


def _corrections(table: Table, target: Target, clash: Conflict) -> tuple[Step, ...]:
    """One step a smallest correction: what is given up, and what it gives."""
    steps = []
    for dropped in clash.corrections:
        eased, choice = _eased(table, target, dropped)
        if choice is not None:
            up = " and ".join(p.says for p in dropped)
            why = f"without {up}: {_describe(eased, choice)}"
            steps.append(Step(why=why, argv=argv(as_request(eased))))
    here = replace(target, where="host", base_os=None, flavour=None)
    choice = None if target.on_host or steps else choose(table, here)
    if choice is not None:
        why = f"on the machine itself, not in an image: {_describe(here, choice)}"
        steps.append(Step(why=why, argv=argv(as_request(here))))
    return tuple(steps)


def _eased(table: Table, target: Target, dropped: tuple[Part, ...]) -> tuple[Target, Choice | None]:
    """A version is let go before the package is: another torch serves better than none."""
    torch = target.torch
    if torch is not None and torch.range is not None and any(p.field == "torch" for p in dropped):
        rest = tuple(p for p in dropped if p.field != "torch")
        other = replace(without(target, rest), torch=replace(torch, range=None))
        choice = choose(table, other)
        if choice is not None:
            return other, choice
    eased = without(target, dropped)
    return eased, choose(table, eased)


def _describe(target: Target, choice: Choice) -> str:
    """A plan in a few words."""
    place, build = choice.place, choice.build
    what = f"CUDA {place.release} from {place.source} on {place.os or 'this machine'}"
    if target.where == "image":
        what += ", a container"
    return f"torch {build.torch} from {build.index}, {what}" if build is not None else what


def _changes(table: Table, target: Target, clash: Conflict) -> tuple[Step, ...]:
    """How facts would have to change; several cards that exclude each other: several images."""
    steps: list[Step] = []
    for changed in (*clash.changes, *clash.mixed):
        if all(p.field == "cards" for p in changed):
            steps.append(_split_step(target))
        elif all(p.field == "driver" for p in changed):
            steps.append(_driver_step(table, target))
        else:
            steps += _other_step(table, target, changed)
    steps += _other_l4t(table, target)
    if not steps and not clash.corrections and len(target.cc) > 1:
        # Each card by itself says what it lacks, and what would help it.
        steps.append(_split_step(target))
    return tuple(dict.fromkeys(steps))


def _split_step(target: Target) -> Step:
    request = argv(as_request(replace(target, split=True)))
    why = "several images instead of one: --split says which card takes which"
    return Step(why=why, argv=request)


def _other_step(table: Table, target: Target, changed: tuple[Part, ...]) -> Iterator[Step]:
    """Wishes to give up and facts to change, all at once."""
    arch = "aarch64" if target.arch == "x86_64" else "x86_64"
    eased = without(target, changed)
    eased = replace(eased, arch=eased.arch or arch)
    choice = choose(table, eased)
    if choice is None or not _works(table, eased):
        return
    new = {
        "driver": f"with {_window(table, eased, choice)}",
        "glibc": "with another C library",
        "platform": "on Linux itself, not in WSL 2",
        "arch": f"on an {arch} machine",
        "l4t": "without an L4T, which these cards do not run",
    }
    up = [f"without {p.says}" for p in changed if p.kind == "wish"]
    up += [new[p.field] for p in changed if p.field in new]
    yield Step(why=f"{' and '.join(up)}: {_describe(eased, choice)}", argv=argv(as_request(eased)))


def _works(table: Table, target: Target) -> bool:
    """The command that asks for this target gives a plan: what nobody says follows anew."""
    return feasible(table, resolve(as_request(target), None, table.matrices))


def _other_l4t(table: Table, target: Target) -> Iterator[Step]:
    """The newest other L4T with which this would do."""
    rows = sorted(table.jetson.values(), key=lambda row: numbers(row.l4t), reverse=True)
    for row in rows if target.l4t is not None else ():
        other = replace(target, l4t=row.l4t, platform=row.platform, driver_cuda=row.cuda)
        choice = choose(table, other) if row.l4t != target.l4t else None
        if choice is not None:
            why = f"with L4T {row.l4t} (JetPack {row.jetpack}): {_describe(other, choice)}"
            yield Step(why=why, argv=argv(replace(as_request(other), l4t=row.l4t)))
            return


def _driver_step(table: Table, target: Target) -> Step:
    """Which driver would do, on the machine, not in the image."""
    driver = Part(kind="fact", field="driver", value=target.driver or "", says="")
    free = without(target, (driver,))
    choice = choose(table, free)
    window = _window(table, free, choice) if choice is not None else "another driver"
    needs = {module_of(table, card) for card in target.cards} - {"either", target.module}
    if target.module is not None and needs:
        window += f", with its {min(needs)} kernel modules"
    gives = f": {_describe(free, choice)}" if choice is not None else ""
    return Step(
        why=f"change the driver (a fact){gives}; {window}",
        text=f"install on the machine, not in the image: {window}",
        check="nvidia-smi names the new version",
    )


def _window(table: Table, target: Target, choice: Choice) -> str:
    """The drivers that this choice runs on, and the oldest with which anything would."""
    oldest = table.places[bits(choice.alive)[-1]]
    least, enough = (_least(table, target, place) for place in (choice.place, oldest))
    lasts = [n for cc in target.cc if (n := table.capability(cc).last_branch) is not None]
    last = drivers.branch(table, min(lasts)) if lasts else None
    text = f"driver {least} or newer" if least else "another driver"
    if last is not None:
        # The newest release of a branch is known for Linux alone.
        text += f", at most {f'R{last.branch}' if target.windows else drivers.name(last)}"
    return text + (f" ({enough} or newer for CUDA {oldest.cuda})" if least != enough else "")


def _least(table: Table, target: Target, place: Place) -> str | None:
    lows = [need.min for need in driver_needs(table, target, place, target.cc) if need.min]
    return max(lows, key=numbers, default=None)


def no_plan(plan: Plan) -> NoPlanError:
    """A refusal as the error that other commands end with."""
    first = next(f for f in plan.findings if f.severity == "error")
    fixes = [f"{step.why}: {' '.join(step.argv) or step.text}" for step in first.steps]
    return NoPlanError(first.says, why=first.why, fix="\n      ".join(fixes))
