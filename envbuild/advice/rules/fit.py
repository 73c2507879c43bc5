"""Whether the driver in hand can drive the cards: its age, its end, its kernel modules."""

from collections.abc import Iterator

from envbuild.advice.fixes import driver as fixes
from envbuild.advice.fixes.driver import owner
from envbuild.advice.installing import installed, module_of, packages, right
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene, table
from envbuild.matrix.load import load_reference
from envbuild.planner import drivers
from envbuild.planner.cards import module_of as needed
from envbuild.planner.table import cite
from envbuild.planner.target import Card
from envbuild.planner.window import apart
from envbuild.values.finding import Step
from envbuild.values.host import Module

SILENT = (
    *("smi-failed", "no-devices", "rm-init-adapter", "torch-no-driver", "cuda-100", "cuda-999"),
    *("cuda-3", "nvml-not-found", "image-driver-banner", "smi-missing", "gsp-mismatch"),
    "card-not-driven",
)
"""What programs say where no driver answers for a card."""

NO_GPU = (
    *("docker-no-gpu-driver", "docker-runtime-unknown", "docker29-amd-cdi", "docker29-no-vendor"),
    *("cdi-unresolvable", "runtime-not-found", "nvml-not-found", "image-driver-banner"),
)
"""What an engine says that was asked for a GPU and knows of none."""


def not_driven(scene: Scene) -> tuple[Card, ...]:
    """Cards that the bus shows and the driver does not; none on a Jetson, or held by a guest."""
    if scene.jetson:
        return ()
    return tuple(
        card
        for gpu, card in scene.cards
        if gpu.source.startswith("pci") and gpu.held_by not in {"vfio-pci", "nouveau"}
    )


def two_drivers_needed(scene: Scene) -> Iterator[Advice]:
    """Cards that no one driver drives: one of them needs a machine of its own."""
    cards = tuple(card for _, card in scene.cards)
    found = apart(table(), cards, windows=scene.wsl2) if not_driven(scene) else None
    if found is None:
        return
    reason, source = found
    step = Step(
        why="a machine has one driver with one kind of kernel modules; one image can serve both "
        "cards, one Linux host cannot (Windows with R580 can)",
        text="move one of the cards to another machine, or pass it through to a virtual machine "
        "that has a driver of its own",
        check="nvidia-smi on each machine: its card",
    )
    steps = (owner("one kind of cards a machine"),) if scene.host.inside_container else (step,)
    yield advice(
        "host-window",
        "error",
        f"no driver drives all cards of this machine: {reason}",
        why="Whatever driver is installed, one of them stays invisible.",
        steps=steps,
        source=source,
        explains=(*SILENT, *FIT, *FLAVOUR, "driver-missing", "legacy-branch"),
    )


def too_new(scene: Scene) -> Iterator[Advice]:
    """The driver is past the last branch of a card, which it ignores."""
    version = installed(scene)
    for card in not_driven(scene):
        row = table().capability(card.cc)
        here = drivers.branch_of(table(), version) if version else None
        if here is None or row.last_branch is None or here.branch <= row.last_branch:
            continue
        fix = right(scene)
        yield advice(
            "driver-too-new-for-gpu",
            "error",
            f"driver {version} no longer drives {_named(card)}: R{row.last_branch} is the last "
            "branch that does",
            why="Later branches ignore the card. Go back, and hold the branch: every upgrade "
            "would take the card away again.",
            steps=fix.steps if fix is not None else (),
            source=fix.source if fix is not None else cite(row, row.cc),
            explains=(*SILENT, *FLAVOUR, "legacy-branch", *BUILD),
        )
        return


def too_old(scene: Scene) -> Iterator[Advice]:
    """The driver is older than the card."""
    version = installed(scene)
    for card in not_driven(scene) if version else ():
        row = table().capability(card.cc)
        level = drivers.level(table(), version or "0", windows=scene.wsl2)
        if not drivers.too_old(table(), row, version or "0", level, windows=scene.wsl2):
            continue
        fix = right(scene)
        first = f": {row.first_driver} is the first known to drive it" if row.first_driver else ""
        yield advice(
            "driver-too-old-for-gpu",
            "error",
            f"driver {version} is older than {_named(card)}{first}",
            why="A driver drives no card that came after it.",
            steps=fix.steps if fix is not None else (),
            source=fix.source if fix is not None else cite(row, row.cc),
            explains=(*SILENT, *FLAVOUR, *BUILD),
        )
        return


def flavour(scene: Scene) -> Iterator[Advice]:
    """The driver's kernel modules are of the kind that does not drive the card."""
    found = None if scene.wsl2 else _flavour(scene)
    for card in not_driven(scene) if found else ():
        needs = needed(table(), card)
        if needs in {"either", found}:
            continue
        row, fix = table().capability(card.cc), right(scene)
        why = (
            "The open modules need the GSP, a processor that cards have from Turing on."
            if needs == "proprietary"
            else "Blackwell and later cards are driven by the open modules alone."
        )
        yield advice(
            "module-flavour",
            "error",
            f"the driver's kernel modules are the {found} ones, and {_named(card)} needs the "
            f"{needs} ones",
            why=f"{why} The version of the driver is not the fault; CUDA has no part in it.",
            steps=fix.steps if fix is not None else (),
            source=cite(row, row.cc),
            explains=(*SILENT, "open-module-pre-turing", "proprietary-blackwell"),
        )
        return


def not_held(scene: Scene) -> Iterator[Advice]:
    """A card whose drivers have ended, and a package that the next upgrade takes past the end."""
    last = min(
        (n for _, card in scene.cards if (n := table().capability(card.cc).last_branch)),
        default=None,
    )
    driver = scene.host.driver
    loose = _loose(scene, last) if last is not None else ()
    if last is None or driver is None or not loose or not scene.native or not scene.driver_works:
        return
    kind: Module = driver.module or "proprietary"
    steps = fixes.pin(load_reference(), scene.host.os, last, kind)
    yield advice(
        "driver-not-held",
        "watch",
        f"nothing holds the driver at R{last}, the last branch for this card: the package "
        f"{loose[0]} goes on to newer ones",
        why="One upgrade past it and the card vanishes.",
        steps=steps,
        source=_of_branch(last),
    )


def _of_branch(last: int) -> str:
    row = drivers.branch(table(), last)
    return cite(row, str(last)) if row is not None else ""


def _loose(scene: Scene, last: int) -> tuple[str, ...]:
    """Packages that choose the branch and have it neither in their name nor pinned or held."""
    host = scene.host
    pinned = [f"{pin.package} {pin.rule}" for pin in host.pins]
    if any(str(last) in text for text in pinned) or f"nvidia-driver-pinning-{last}" in dict(
        host.packages
    ):
        return ()
    found = []
    for row in load_reference().driver_packages:
        if row.manager == "run" or not (host.os.id or "-").startswith(row.systems):
            continue
        if row.pin is None and row.manager != "pacman":
            continue
        names = f"{row.open or ''} {row.proprietary or ''}".split()
        found += [name for name in names if name in packages(scene) and name not in host.held]
    return tuple(dict.fromkeys(found))


def _flavour(scene: Scene) -> Module | None:
    """Of the module that runs, else of the file that would be loaded."""
    loaded = scene.host.driver.module if scene.host.driver is not None else None
    module = module_of(scene)
    return loaded or (module.flavour if module is not None else None)


def _named(card: Card) -> str:
    return f"{card.name or table().capability(card.cc).arch} (cc {card.cc})"


FIT = ("driver-too-new-for-gpu", "driver-too-old-for-gpu")
FLAVOUR = ("module-flavour", "open-module-pre-turing", "proprietary-blackwell")
BUILD = ("module-not-built", "module-not-loaded", "secure-boot", "driver-mismatch")

REASONS: tuple[Rule, ...] = (two_drivers_needed, too_new, too_old, flavour)
"""Why no driver, or not this one, can drive a card."""

RULES: tuple[Rule, ...] = (*REASONS, not_held)
