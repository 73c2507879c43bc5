"""The ways out of a refusal, each a step that was tried: what is given up, and what it gives."""

from collections.abc import Iterator

from envbuild.planner import drivers, elsewhere, other_driver
from envbuild.planner.choose import choose, feasible
from envbuild.planner.conflict import Conflict, Parts, changeable, eased, smallest
from envbuild.planner.fleet import only
from envbuild.planner.other_torch import nearest
from envbuild.planner.ranges import numbers, parse
from envbuild.planner.resolve import resolve
from envbuild.planner.spell import argv, as_request, command, describe
from envbuild.planner.table import Table
from envbuild.planner.target import Part, Target, Wanted, parts
from envbuild.values.codec import replace
from envbuild.values.finding import Step


def ways(table: Table, target: Target, clash: Conflict) -> tuple[Step, ...]:
    """Every smallest correction; where there is none, the nearest that takes more."""
    found = [
        step
        for dropped in clash.corrections
        for step in (_way(table, target, dropped), nearest(table, target, dropped))
    ]
    if not found and not target.on_host:
        found.append(_way(table, _here(target), (), ("on the machine itself, not in an image",)))
    apart = any(p.field == "cards" for changed in clash.changes for p in changed)
    for changed in (*clash.changes, *clash.mixed):
        if all(p.field == "driver" for p in changed):
            found.append(other_driver.change(table, target))
        elif all(p.field != "cards" for p in changed):
            found.append(_way(table, target, changed))
    found += [*([_images(table, target)] if apart else []), *_other_l4t(table, target)]
    steps = tuple(dict.fromkeys(step for step in found if step is not None))
    if len(steps) == 1 and any(c and c[0].field == "driver" for c in clash.changes):
        return steps + other_driver.installing(table, target)
    steps = steps or tuple(dict.fromkeys((*_further(table, target), *_left_behind(table, target))))
    return (*steps, *elsewhere.containers(table, target), *elsewhere.jetson(table, target))


def _further(table: Table, target: Target) -> Iterator[Step]:
    """Nothing alone is enough: several images, without some cards, or on the machine itself."""
    if len(target.cc) > 1 and (step := _images(table, target)) is not None:
        yield step
        return
    if len(target.cc) > 1:
        yield from _apart(table, target)
    here = _here(target)
    if not target.on_host:
        said = ("on the machine itself, not in an image",)
        for up in smallest(_free(table, here), lambda up: feasible(table, eased(here, up))):
            if (step := _way(table, here, up, said)) is not None:
                yield step


def _apart(table: Table, target: Target) -> Iterator[Step]:
    """An image for each card that can have one, when some things are given up."""
    alone = [only(table, target, (cc,)) for cc in target.cc]
    kept = [t for t in alone if feasible(table, eased(t, _free(table, t)))]
    if not kept:
        return
    rest = only(table, target, tuple(t.cc[0] for t in kept))
    rest = replace(rest, machine=target.machine if rest.cc == target.cc else None)
    out = ", ".join(cc for cc in target.cc if cc not in rest.cc)
    lost = (f"without cc {out}, which nothing in these matrices serves",) if out else ()
    for up in smallest(
        _free(table, rest), lambda up: all(feasible(table, eased(t, up)) for t in kept)
    ):
        several = not feasible(table, eased(rest, up))
        said = (*lost, "several images instead of one") if several else lost
        if (step := _way(table, replace(rest, split=several), up, said)) is not None:
            yield step


def _left_behind(table: Table, target: Target) -> Iterator[Step]:
    """Cards that every toolkit of these matrices has left: what was the last for each."""
    rows = [table.capability(cc) for cc in target.cc]
    newest = table.toolkits[table.served[-1]].targets[0]
    served = next(row.cc for row in table.capabilities.values() if row.target == newest)
    for row in rows if all(row.last_toolkit for row in rows) else ():
        branch = drivers.branch(table, row.last_branch) if row.last_branch is not None else None
        driver = f" with driver {drivers.name(branch)}" if branch is not None else ""
        driver += f", which ended {branch.ends}," if branch is not None and branch.ends else ""
        yield Step(
            why=f"{row.arch} (cc {row.cc}) was left by every toolkit that is planned here: what "
            "still runs it is installed by hand, and nobody maintains it",
            text=f"install CUDA {row.last_toolkit}, of NVIDIA's CUDA Toolkit Archive,{driver} on a "
            f"Linux of that time; or take a card that the newest toolkit serves, cc {served} or "
            "newer",
            check=f"nvcc --help: sm_{row.target}; nvidia-smi: the card",
        )


def _free(table: Table, target: Target) -> Parts:
    """Wishes to drop, then facts to change."""
    return (*(p for p in parts(target) if p.kind == "wish"), *changeable(table, target))


def _here(target: Target) -> Target:
    return replace(target, where="host", base_os=None, flavour=None)


def _way(table: Table, target: Target, dropped: Parts, said: tuple[str, ...] = ()) -> Step | None:
    """Wishes to give up and facts to change, all at once; None = the command gives no plan."""
    other = _elsewhere(table, _relaxed(table, target, dropped), dropped)
    if not _plans(table, other):
        return None
    choice = None if other.split else choose(table, other)
    if choice is None and not other.split:
        # A fact that no flag gives, such as the kernel module, still stands against it.
        return None
    up = [_let_go(table, target, other, p) for p in dropped if p.kind == "wish"]
    up += [_changed(table, target, other, p) for p in dropped if p.kind == "fact"]
    why = " and ".join((*said, *up))
    if choice is not None:
        why += f": {describe(other, choice, contained=any(p.field == 'where' for p in dropped))}"
    return Step(why=why, argv=command(other))


def _elsewhere(table: Table, other: Target, dropped: Parts) -> Target:
    """With other facts it is another machine, of which nothing is known but what is said."""
    if any(p.field == "as_of" for p in dropped):
        other = replace(
            other, as_of=table.matrices.date, request=replace(other.request, as_of=None)
        )
    changed = {p.field for p in dropped if p.kind == "fact"}
    if not changed:
        return other
    other = replace(other, machine=None)
    if "platform" in changed:
        other = replace(other, driver=None, driver_cuda=None, module=None)
    return _system(table, other) if "glibc" in changed else other


def _system(table: Table, other: Target) -> Target:
    """On the first system, in the order of preference, whose own C library will do."""
    for name in dict.fromkeys(place.os for place in table.places):
        row = table.oses.get(name or "")
        if row is None or row.glibc is None or row.image is None:
            continue
        gcc = str(row.gcc) if row.gcc is not None else None
        own = {"glibc": row.glibc, "gcc": gcc, "python": row.python, "host_os": row.id}
        asked = replace(other.request, base_os=row.id, glibc=None, gcc=None)
        there = replace(other, **own, request=asked, declared=True)
        if feasible(table, there):
            return there
    return other


def _plans(table: Table, target: Target) -> bool:
    """The command that asks for this target gives a plan: what nobody says follows anew."""
    again = resolve(as_request(target), None, table.matrices)
    if again.split:
        return all(feasible(table, only(table, again, (cc,))) for cc in again.cc)
    return feasible(table, again)


def _relaxed(table: Table, target: Target, dropped: Parts) -> Target:
    """A variant is let go before the version, and that before the package."""
    torch, fields = target.torch, {p.field for p in dropped}
    values = {p.value for p in dropped}
    plain = replace(
        target,
        torch=_plain(table, torch) if torch is not None and "torch" in fields else torch,
        packages=tuple(_plain(table, p) if str(p) in values else p for p in target.packages),
    )
    if plain != target:
        own = [p for p in dropped if p.field not in {"torch", "packages"}]
        free = eased(plain, tuple(own))
        if feasible(table, free):
            return free
    other = replace(
        target,
        torch=_any(torch) if torch is not None and "torch" in fields else torch,
        packages=tuple(_any(p) if str(p) in values else p for p in target.packages),
    )
    kept = {"torch"} if torch is not None and torch.range is not None else set()
    kept |= {str(p) for p in target.packages if p.range is not None}
    rest = tuple(p for p in dropped if p.field not in kept and p.value not in kept)
    if len(rest) < len(dropped):
        free = eased(other, rest)
        if feasible(table, free):
            return free
    return eased(target, dropped)


def _any(wanted: Wanted) -> Wanted:
    return replace(wanted, range=None)


def _plain(table: Table, wanted: Wanted) -> Wanted:
    """The same without its CUDA: ``cupy-cuda13x`` as ``cupy``, ``torch==2.8.0+cu128`` as 2.8.0."""
    rows = table.packages.get(wanted.name, ())
    # Its own row's name stands for the rows of every CUDA.
    wider = [r.name for r in rows if len(table.packages.get(r.name, ())) > len(rows)]
    name = wider[0] if wider else wanted.name
    range = wanted.range
    if range is not None and range.local:
        range = parse(range.text.partition("+")[0], "--with")
    return Wanted(name=name, range=range)


def _let_go(table: Table, target: Target, other: Target, part: Part) -> str:
    """What becomes of a wish: its plain form stays where that is enough."""
    for wanted in _packages(target):
        plain = _plain(table, wanted)
        if str(wanted) == part.value and plain != wanted and plain in _packages(other):
            return f"with {plain} instead of {wanted}"
    return f"without {part.says}"


def _packages(target: Target) -> tuple[Wanted, ...]:
    return (*((target.torch,) if target.torch is not None else ()), *target.packages)


def _changed(table: Table, target: Target, other: Target, part: Part) -> str:
    """How a fact would have to be; what belongs to a machine is that of another one."""
    if part.field == "driver":
        return f"with {other_driver.window(table, other)}"
    if part.field == "glibc":
        return _of_glibc(target, other)
    return {
        "platform": "on Linux itself, not in WSL 2",
        "arch": f"on another machine, with an {other.arch} CPU",
        "l4t": "without an L4T, which these cards do not run",
    }[part.field]


def _of_glibc(target: Target, other: Target) -> str:
    """A C library is that of its system, and is not changed on it."""
    if target.glibc is None or other.glibc is None:
        return "on a system with another C library (glibc)"
    age = "an older" if numbers(other.glibc) < numbers(target.glibc) else "a newer"
    return f"on a system with {age} C library: {other.host_os} has glibc {other.glibc}"


def _images(table: Table, target: Target) -> Step | None:
    """Several images; a card that has no plan by itself is left out of them."""
    served = tuple(cc for cc in target.cc if feasible(table, only(table, target, (cc,))))
    if served == target.cc:
        why = "several images instead of one: --split says which card takes which"
        several = replace(target, split=True)
        return Step(why=why, argv=command(several)) if _plans(table, several) else None
    if not served:
        return None
    rest = replace(only(table, target, served), machine=None)
    rest = replace(rest, split=not feasible(table, rest))
    out = ", ".join(cc for cc in target.cc if cc not in served)
    why = f"without cc {out}, for which this request has no image of its own either"
    return Step(why=why, argv=command(rest)) if _plans(table, rest) else None


def _other_l4t(table: Table, target: Target) -> Iterator[Step]:
    """The newest other L4T with which this would do."""
    rows = sorted(table.jetson.values(), key=lambda row: numbers(row.l4t), reverse=True)
    for row in rows if target.l4t is not None else ():
        other = replace(target, l4t=row.l4t, platform=row.platform, driver_cuda=row.cuda)
        choice = choose(table, other) if row.l4t != target.l4t else None
        if choice is not None:
            why = f"with L4T {row.l4t} (JetPack {row.jetpack}): {describe(other, choice)}"
            yield Step(why=why, argv=argv(replace(as_request(other), l4t=row.l4t)))
            return
