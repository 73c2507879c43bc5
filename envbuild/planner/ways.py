"""The ways out of a refusal, each a step that was tried: what is given up, and what it gives."""

from collections.abc import Iterator

from envbuild.planner import drivers
from envbuild.planner.cards import module_of
from envbuild.planner.choose import Choice, choose, feasible
from envbuild.planner.conflict import Conflict, Parts, changeable, smallest
from envbuild.planner.fleet import only
from envbuild.planner.needs import driver_needs
from envbuild.planner.ranges import numbers
from envbuild.planner.resolve import resolve
from envbuild.planner.spell import argv, as_request
from envbuild.planner.table import Place, Table, bits
from envbuild.planner.target import Part, Target, Wanted, parts, without
from envbuild.values.codec import replace
from envbuild.values.finding import Step

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
        for up in smallest(_free(table, here), lambda up: feasible(table, without(here, up))):
            if (step := _way(table, here, up, said)) is not None:
                yield step


def _apart(table: Table, target: Target) -> Iterator[Step]:
    """An image for each card that can have one, when some things are given up."""
    alone = [only(table, target, (cc,)) for cc in target.cc]
    kept = [t for t in alone if feasible(table, without(t, _free(table, t)))]
    if not kept:
        return
    rest = only(table, target, tuple(t.cc[0] for t in kept))
    out = ", ".join(cc for cc in target.cc if cc not in rest.cc)
    lost = (f"without cc {out}, which nothing in these matrices serves",) if out else ()
    for up in smallest(
        _free(table, rest), lambda up: all(feasible(table, without(t, up)) for t in kept)
    ):
        several = not feasible(table, without(rest, up))
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
    eased = _eased(table, target, dropped)
    if eased.arch is None:
        eased = replace(eased, arch="aarch64" if target.arch == "x86_64" else "x86_64")
    request = as_request(eased)
    if not _plans(table, eased):
        return None
    choice = None if eased.split else choose(table, eased)
    up = [f"without {p.says}" for p in dropped if p.kind == "wish"]
    up += [_changed(table, eased, p, choice) for p in dropped if p.kind == "fact"]
    why = " and ".join((*said, *up))
    if choice is not None:
        why += f": {_describe(eased, choice, contained=any(p.field == 'where' for p in dropped))}"
    return Step(why=why, argv=argv(request))


def _plans(table: Table, target: Target) -> bool:
    """The command that asks for this target gives a plan: what nobody says follows anew."""
    again = resolve(as_request(target), None, table.matrices)
    if again.split:
        return all(feasible(table, only(table, again, (cc,))) for cc in again.cc)
    return feasible(table, again)


def _eased(table: Table, target: Target, dropped: Parts) -> Target:
    """A version is let go before the package is: another torch serves better than none."""
    torch, fields = target.torch, {p.field for p in dropped}
    values = {p.value for p in dropped}
    other = replace(
        target,
        torch=_any(torch) if torch is not None and "torch" in fields else torch,
        packages=tuple(_any(p) if str(p) in values else p for p in target.packages),
    )
    kept = {"torch"} if torch is not None and torch.range is not None else set()
    kept |= {str(p) for p in target.packages if p.range is not None}
    rest = tuple(p for p in dropped if p.field not in kept and p.value not in kept)
    if len(rest) < len(dropped):
        eased = without(other, rest)
        if feasible(table, eased):
            return eased
    return without(target, dropped)


def _any(wanted: Wanted) -> Wanted:
    return replace(wanted, range=None)


def _describe(target: Target, choice: Choice, *, contained: bool = False) -> str:
    """A plan in a few words."""
    place, build = choice.place, choice.build
    what = f"CUDA {place.release} from {_FROM[place.source]}"
    what += f" on {place.os}" if place.os is not None else ", on this machine"
    if build is not None:
        what = f"torch {build.torch} from {build.index}, {what}"
    return f"{what}, in a container" if contained and target.where == "image" else what


def _changed(table: Table, target: Target, part: Part, choice: Choice | None) -> str:
    """How a fact would have to be."""
    if part.field == "driver":
        return f"with {_window(table, target, choice)}" if choice else "with another driver"
    return {
        "glibc": "with another C library",
        "platform": "on Linux itself, not in WSL 2",
        "arch": f"on an {target.arch} machine",
        "l4t": "without an L4T, which these cards do not run",
    }[part.field]


def _images(table: Table, target: Target) -> Step | None:
    """Several images; a card that has no plan by itself is left out of them."""
    served = tuple(cc for cc in target.cc if feasible(table, only(table, target, (cc,))))
    if served == target.cc:
        why = "several images instead of one: --split says which card takes which"
        several = replace(target, split=True)
        return Step(why=why, argv=argv(as_request(several))) if _plans(table, several) else None
    if not served:
        return None
    rest = only(table, target, served)
    rest = replace(rest, split=not feasible(table, rest))
    out = ", ".join(cc for cc in target.cc if cc not in served)
    why = f"without cc {out}, for which this request has no image of its own either"
    return Step(why=why, argv=argv(as_request(rest))) if _plans(table, rest) else None


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
    free = without(target, (Part(kind="fact", field="driver", value="", says=""),))
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
