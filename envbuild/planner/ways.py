"""The ways out of a refusal, each a step that was tried: what is given up, and what it gives."""

from collections.abc import Iterator
from functools import partial

from envbuild.planner import drivers
from envbuild.planner.cards import module_of
from envbuild.planner.choose import Choice, choose, feasible
from envbuild.planner.conflict import Conflict, Parts, changeable, eased, smallest
from envbuild.planner.fleet import only
from envbuild.planner.needs import driver_needs
from envbuild.planner.ranges import numbers, parse
from envbuild.planner.resolve import resolve
from envbuild.planner.spell import argv, as_request, command
from envbuild.planner.table import Table, lowest, remember
from envbuild.planner.target import Part, Target, Wanted, parts, without
from envbuild.planner.window import apart
from envbuild.values.codec import replace
from envbuild.values.finding import Step
from envbuild.values.request import Request

_FROM = {
    "image": "the vendor's image",
    "wheels": "wheels",
    "distro": "the distribution",
    "apt": "the vendor's repository",
    "redist": "the vendor's archives",
    "conda": "conda",
}


def ways(table: Table, target: Target, clash: Conflict) -> tuple[Step, ...]:
    """Every smallest correction; where there is none, the nearest that takes more."""
    found = [_way(table, target, dropped) for dropped in clash.corrections]
    if not found and not target.on_host:
        found.append(_way(table, _here(target), (), ("on the machine itself, not in an image",)))
    apart = any(p.field == "cards" for changed in clash.changes for p in changed)
    for changed in (*clash.changes, *clash.mixed):
        if all(p.field == "driver" for p in changed):
            found.append(_driver(table, target))
        elif all(p.field != "cards" for p in changed):
            found.append(_way(table, target, changed))
    found += [*([_images(table, target)] if apart else []), *_other_l4t(table, target)]
    steps = tuple(dict.fromkeys(step for step in found if step is not None))
    if len(steps) == 1 and any(c and c[0].field == "driver" for c in clash.changes):
        return steps + _installing(table, target)
    return steps or tuple(dict.fromkeys(_further(table, target)))


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
        why += f": {_describe(other, choice, contained=any(p.field == 'where' for p in dropped))}"
    return Step(why=why, argv=command(other))


def _elsewhere(table: Table, other: Target, dropped: Parts) -> Target:
    """With other facts it is another machine, of which nothing is known but what is said."""
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


def _describe(target: Target, choice: Choice, *, contained: bool = False) -> str:
    """A plan in a few words."""
    place, build = choice.place, choice.build
    what = f"CUDA {place.release} from {_FROM[place.source]}"
    what += f" on {place.os}" if place.os is not None else ", on this machine"
    if build is not None:
        what = f"torch {build.torch} from {build.index}, {what}"
    return f"{what}, in a container" if contained and target.where == "image" else what


def _changed(table: Table, target: Target, other: Target, part: Part) -> str:
    """How a fact would have to be; what belongs to a machine is that of another one."""
    if part.field == "driver":
        return f"with {_window(table, other)}"
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
            why = f"with L4T {row.l4t} (JetPack {row.jetpack}): {_describe(other, choice)}"
            yield Step(why=why, argv=argv(replace(as_request(other), l4t=row.l4t)))
            return


def _driver(table: Table, target: Target) -> Step:
    """Which driver would do, on the machine, not in the image."""
    if any(card.vgpu for card in target.cards):
        return _guest_driver(table, target)
    if not target.declared and (clash := apart(table, target.cards, windows=target.windows)):
        return Step(
            why=f"no driver drives all of these on one machine: {clash[0]}",
            text="give one of them a machine of its own",
            check="envbuild plan on each machine",
        )
    if target.module is not None and feasible(table, replace(target, module=None)):
        return _modules(table, target)
    free = without(target, (Part(kind="fact", field="driver", value="", says=""),))
    window = _window(table, free)
    needs = {module_of(table, card) for card in target.cards} - {"either", target.module}
    if target.module is not None and needs:
        window += f", with its {min(needs)} kernel modules"
    best = _recommended(table, free)
    choice = choose(table, _with_driver(table, free, best)) if best is not None else None
    gives = f"; {best} gives {_describe(free, choice)}" if choice is not None else ""
    return Step(
        why=f"change the driver (a fact): {window}{gives}",
        text=f"install on the machine, not in the image: {window}",
        check="nvidia-smi names the new version",
    )


def _modules(table: Table, target: Target) -> Step:
    """The driver will do as it is; its kernel modules are of the wrong flavour."""
    kept = replace(target, module=None)
    needs = drivers.modules(table, target.cards)
    choice = choose(table, kept)
    gives = f"; that gives {_describe(kept, choice)}" if choice is not None else ""
    words = "with the words" if needs == "open" else "without the words"
    return Step(
        why=f"change its kernel modules (a fact) and keep driver {target.driver}{gives}",
        text=f"install driver {target.driver} with its {needs} kernel modules instead of "
        f"the {target.module} ones, and restart",
        check=f"cat /proc/driver/nvidia/version: {target.driver}, {words} Open Kernel Module",
    )


def _installing(table: Table, target: Target) -> tuple[Step, ...]:
    """The only way is another driver: how it comes to the machine that was looked at."""
    asked = target.request.cc or target.request.gpus or target.request.driver
    special = target.windows or any(card.vgpu for card in target.cards)
    if target.declared or asked or special or apart(table, target.cards) is not None:
        return ()
    free = without(target, (Part(kind="fact", field="driver", value="", says=""),))
    keeps = target.module is not None and feasible(table, replace(target, module=None))
    version = target.driver if keeps else _recommended(table, free)
    row = drivers.branch_of(table, version) if version is not None else None
    return drivers.installation(table, target, row)[1] if row is not None else ()


def _guest_driver(table: Table, target: Target) -> Step:
    """A vGPU's driver comes with the release that its hypervisor runs."""
    free = without(target, (Part(kind="fact", field="driver", value="", says=""),))
    return Step(
        why=f"change the vGPU software of hypervisor and guest (a fact): {_window(table, free)}",
        text="ask who runs the hypervisor: its release decides which guest driver starts",
        check="nvidia-smi names the new version",
    )


def _window(table: Table, target: Target) -> str:
    """From the oldest driver with which there is a plan to the last that drives the cards.

    Remembered: machines of a fleet that differ in their drivers alone are told the same.
    """
    key = ("window", replace(target, request=Request(), provenance=()))
    known = table.memo.get(key)
    if not isinstance(known, str):
        known = _searched(table, target)
        remember(table, key, known)
    return known


def _searched(table: Table, target: Target) -> str:
    least = next(filter(partial(_enough, table, target), _drivers(table, target)), None)
    lasts = [n for cc in target.cc if (n := table.capability(cc).last_branch) is not None]
    last = drivers.branch(table, min(lasts)) if lasts else None
    text = f"driver {least} or newer" if least else "another driver"
    if last is not None:
        # The newest release of a branch is known for Linux alone.
        text += f", at most {f'R{last.branch}' if target.windows else drivers.name(last)}"
    return text


def _enough(table: Table, target: Target, driver: str) -> bool:
    choice = choose(table, _with_driver(table, target, driver))
    if choice is None:
        return False
    needs = driver_needs(table, target, choice.place, target.cc)
    return all(numbers(driver) >= numbers(need.min) for need in needs if need.min)


def _recommended(table: Table, target: Target) -> str | None:
    """The driver that a plan recommends; on WSL none is known."""
    choice = choose(table, target)
    needs = driver_needs(table, target, choice.place, target.cc) if choice is not None else ()
    return min((n.recommended for n in needs if n.recommended), key=numbers, default=None)


def _with_driver(table: Table, target: Target, driver: str) -> Target:
    level = drivers.level(table, driver, windows=target.windows)
    return replace(target, driver=driver, driver_cuda=level)


def _drivers(table: Table, target: Target) -> list[str]:
    """Drivers at which something begins to work, ascending: what toolkits and cards need."""
    found = {row.windows if target.windows else row.linux for row in table.matrices.floors}
    for toolkit in table.toolkits.values():
        found.add(toolkit.driver_windows if target.windows else toolkit.driver)
    for mask in table.of_cuda.values():
        found |= {n.min for n in driver_needs(table, target, table.places[lowest(mask)], target.cc)}
    return sorted({driver for driver in found if driver}, key=numbers)
