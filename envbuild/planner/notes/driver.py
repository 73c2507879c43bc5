"""What to know of the driver: the last branch, one machine's window, where a tag starts."""

from collections.abc import Iterator

from envbuild.matrix.model import Branch, ImageTag, JetsonRow
from envbuild.planner import drivers
from envbuild.planner.launch import accepted, requires
from envbuild.planner.needs import driver_needs
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.planner.target import Card
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step


def missing(chosen: Chosen) -> Iterator[Finding]:
    """A machine that was looked at, and none of whose cards a driver was seen to hold."""
    target = chosen.target
    asked = target.request.cc or target.request.gpus or target.request.driver
    held = any(card.driven for card in target.cards)
    if target.declared or asked or held or target.platform.startswith("jetson"):
        return
    if target.cards:
        from envbuild.planner.notes.no_driver import no_driver

        yield no_driver(chosen)


def unseen(chosen: Chosen) -> Iterator[Finding]:
    """The card is one of a machine that was looked at and shows none."""
    target = chosen.target
    if not target.unseen:
        return
    row = chosen.capabilities[0] if chosen.capabilities else None
    says = (
        f"the machine that was looked at shows no NVIDIA GPU: that it has one of cc "
        f"{', '.join(target.cc) or 'any kind'}, and a driver for it, is not known"
    )
    step = Step(
        why="why it shows none, and what to do",
        argv=("envbuild", "doctor", *(target.machine or ())),
        check="envbuild detect names the card",
    )
    source = cite(row, row.cc) if row is not None else chosen.choice.place.cite
    yield replace(note("gpu-unseen", "warn", says, source), steps=(step,))


def unread(chosen: Chosen) -> Iterator[Finding]:
    """A driver is there, and nobody could read which: a plan for it is a plan for any."""
    target = chosen.target
    if not target.unread or not chosen.capabilities:
        return
    row = chosen.capabilities[0]
    from envbuild.advice.fixes.driver import version

    found = note("driver-unread", "warn", drivers.UNREAD, cite(row, row.cc))
    yield replace(found, steps=(version(),))


def claimed(chosen: Chosen) -> Iterator[Finding]:
    """A CUDA level that is not the driver's: another libcuda answered."""
    target = chosen.target
    if target.claim is None or target.driver is None:
        return
    row = drivers.branch_of(chosen.table, target.driver)
    says, why = drivers.level_says(target.driver, target.claim, target.driver_cuda)
    source = cite(row, str(row.branch)) if row is not None else ""
    yield note("driver-cuda-level", "warn", says, source, why)


def last_branch(chosen: Chosen) -> Iterator[Finding]:
    """Cards that newer drivers ignore: never 'latest'. Vanishes once the driver is known."""
    if chosen.target.driver is not None or chosen.target.platform.startswith("jetson"):
        return
    if any(card.vgpu for card in chosen.target.cards):
        return  # its hypervisor's release decides
    archs: dict[int, list[str]] = {}
    for row in chosen.capabilities:
        if row.last_branch is not None and row.arch not in archs.setdefault(row.last_branch, []):
            archs[row.last_branch].append(row.arch)
    for number, names in archs.items():
        last = drivers.branch(chosen.table, number)
        if last is not None:
            says = (
                f"R{number} is the last driver branch for {', '.join(names)}: "
                f"newer ones do not drive it, so never the latest; pin {number}"
            )
            yield note("driver-last-branch", "watch", says, cite(last, str(number)))


def branch_ended(chosen: Chosen) -> Iterator[Finding]:
    """The last driver for a card, or the one in hand, may have had its last update."""
    if any(card.vgpu for card in chosen.target.cards):
        return  # the guest drivers of vGPU software have ends of their own
    for number in dict.fromkeys(row.last_branch for row in chosen.capabilities):
        row = drivers.branch(chosen.table, number) if number is not None else None
        if row is not None and row.ends is not None and row.ends < chosen.target.as_of[:7]:
            says = f"R{row.branch}, the last driver for this card, gets no updates since {row.ends}"
            yield note("driver-ended", "watch", says, cite(row, str(row.branch)))
            return
    target = chosen.target
    if target.driver is None or target.windows:
        return
    here = drivers.branch(chosen.table, numbers(target.driver)[0])
    until = _until(here, target.as_of[:7]) if here is not None else None
    if here is not None and until is not None:
        says = f"R{here.branch}, the driver in hand, {until}"
        yield note("driver-ended", "watch", says, cite(here, str(here.branch)))


def _until(row: Branch, month: str) -> str | None:
    """Whether a branch still gets updates; None = it does. Silence would read as a yes."""
    if row.ends is not None:
        return f"gets no updates since {row.ends}" if row.ends < month else None
    if row.over is not None and row.over <= month:
        return "gets no updates any more: the vendor calls it end of life"
    if "new-feature" in row.kind:
        return "is a new-feature branch: the vendor names no end, and the next branch replaces it"
    return "may get no updates: no end of this branch is sourced"


def first_driver(chosen: Chosen) -> Iterator[Finding]:
    """The driver is older than the first that lists a card which nobody saw it drive."""
    target = chosen.target
    if target.windows or any(card.vgpu for card in target.cards):
        return
    for card in target.cards:
        row = chosen.table.capability(card.cc)
        first = card.first_driver or row.first_driver
        if card.driven or first is None or row.tegra:
            continue
        name = f"{card.name or row.arch} (cc {card.cc})"
        if target.driver is None:
            (need,) = driver_needs(chosen.table, target, chosen.choice.place, (card.cc,))
            if need.min is not None and numbers(need.min) < numbers(first):
                says = f"{first} is the first release that lists {name}; an older one may drive it"
                yield note("driver-first", "info", says, cite(row, row.cc))
        elif numbers(target.driver) < numbers(first):
            says = (
                f"driver {target.driver} is older than {first}, the first known to drive "
                f"{name}: if no device is found, update to it or newer"
            )
            yield note("driver-first", "warn", says, cite(row, row.cc))


def host_window(chosen: Chosen) -> Iterator[Finding]:
    """One image may serve cards that no single machine can hold together."""
    target = chosen.target
    cards = tuple(c for c in target.cards if not chosen.table.capability(c.cc).tegra)
    if len(cards) < 2:
        return
    from envbuild.planner.window import apart

    clash = apart(chosen.table, cards, windows=target.windows)
    if clash is None:
        return
    reason, source = clash
    system = "Windows" if target.windows else "Linux"
    says = f"one image serves both, but no single {system} machine can hold them: {reason}"
    yield note("host-window", "watch", says, source, "on separate machines of a fleet it is fine")


def require_brand(chosen: Chosen) -> Iterator[Finding]:
    """With no driver known: on which of them the tag does not start."""
    target, tag, table = chosen.target, chosen.choice.place.row, chosen.table
    known = target.driver is not None or target.platform.startswith("jetson")
    if known or not isinstance(tag, ImageTag):
        return
    asks = requires(tag)
    toolkit = table.toolkits.get(asks)
    cards = target.cards or (Card(cc=""),)
    if toolkit is None or not any(_refused(chosen, tag, card, asks) for card in cards):
        return
    least = toolkit.driver_windows if target.platform == "wsl2" else toolkit.driver
    but = ""
    arch = target.arch or "x86_64"
    if any(accepted(tag, card, b, arch) for card in cards for b in tag.require_branches):
        but = f" (but for {', '.join(f'R{b}' for b in tag.require_branches)})"
    named = [card.name for card in cards if card.name]
    says = (
        f"on {named[0] if named else 'a GeForce'} with a driver below {least or f'CUDA {asks}'}"
        f"{but} the tag {tag.cuda} does not start, or ends in error 804: "
        "--driver plans for the one in hand"
    )
    yield note("image-require-brand", "watch", says, chosen.choice.place.cite)


def _refused(chosen: Chosen, tag: ImageTag, card: Card, asks: str) -> bool:
    """Some branch that could drive this card is below the tag's level and not accepted."""
    table = chosen.table
    row = table.capabilities.get(card.cc)
    floor = drivers.floor(table, asks)
    for branch in table.matrices.branches:
        if branch.cuda is None or numbers(branch.cuda) >= numbers(asks):
            continue
        if floor is not None and branch.branch < numbers(floor.linux)[0]:
            continue
        if row is not None and row.last_branch is not None and branch.branch > row.last_branch:
            continue
        if not accepted(tag, card, branch.branch, chosen.target.arch or "x86_64"):
            return True
    return False


def wsl(chosen: Chosen) -> Iterator[Finding]:
    """WSL has one driver, that of Windows."""
    floor = drivers.floor(chosen.table, chosen.choice.place.cuda)
    if not chosen.target.windows:
        return
    if floor is not None:
        says = "the Windows driver is the only driver: install no Linux driver inside WSL"
        yield note("wsl-driver", "info", says, cite(floor, str(floor.major)))
    for row in chosen.capabilities:
        if row.wsl == "unsupported":
            says = f"the vendor does not support {row.arch} (cc {row.cc}) in WSL 2: it may work"
            yield note("wsl-unsupported", "warn", says, cite(row, row.cc))


def l4t(chosen: Chosen) -> Iterator[Finding]:
    """A Jetson's driver and CUDA are those of its L4T; an assumed one is a risk."""
    target = chosen.target
    if target.l4t is None:
        yield from _no_l4t(chosen)
        return
    row = chosen.table.jetson[target.l4t]
    if any(p.fact == "l4t" and p.origin == "default" for p in target.provenance):
        says = (
            f"the L4T release is not known: planned for {row.l4t} "
            f"(JetPack {row.jetpack}, CUDA {row.cuda}); give --l4t"
        )
        yield note("l4t-assumed", "warn", says, cite(row, row.l4t))


def l4t_mounted(chosen: Chosen) -> Iterator[Finding]:
    """An image without a CUDA of its own is built and run with that of the Jetson."""
    place = chosen.choice.place
    if place.os is None or not isinstance(place.row, JetsonRow) or not place.row.mounted:
        return
    says = (
        f"the image of L4T {place.row.l4t} holds no CUDA: docker's nvidia runtime mounts that of "
        "the Jetson into it, so build and run it there, with nvidia as the default runtime"
    )
    step = Step(
        why="`docker build` takes no --runtime: it uses the default one",
        text='set "default-runtime": "nvidia" in /etc/docker/daemon.json, then restart docker',
        check="docker info --format '{{.DefaultRuntime}}' prints nvidia",
    )
    yield replace(note("l4t-mounted", "warn", says, place.cite), steps=(step,))


def _no_l4t(chosen: Chosen) -> Iterator[Finding]:
    """A Jetson's part beside other cards, or on a platform that was named."""
    for row in chosen.capabilities:
        if not row.tegra or chosen.target.every_cc:
            continue
        lines = [
            j.l4t
            for j in chosen.table.jetson.values()
            if j.platform == "jetson-sbsa" and row.cc in j.cc
        ]
        fits = f"L4T {' and '.join(sorted(lines))} alone" if lines else "none of its L4T"
        says = f"cc {row.cc} is part of a Jetson: this plan fits {fits}; --platform jetson asks"
        yield note("l4t-assumed", "warn", says, cite(row, row.cc))
