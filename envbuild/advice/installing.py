"""The driver that fits a scene's cards, and who can install it: branch, modules, steps."""

import re
from collections.abc import Iterator

from envbuild.advice.fixes import driver as fixes
from envbuild.advice.fixes import windows
from envbuild.advice.scene import Scene, table
from envbuild.matrix.load import load, load_reference
from envbuild.matrix.model import Branch
from envbuild.planner import drivers
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.planner.target import Card
from envbuild.values.codec import Value
from envbuild.values.finding import Step
from envbuild.values.host import KernelModule, Module

_VERSION = re.compile(r"(?<![\d.])(\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)(?![\d.])", re.ASCII)

# Modules as rpm packages: those of the vendor and of RPM Fusion.
_RPM = re.compile(r"a?kmod-nvidia|xorg-x11-drv-nvidia")


class Right(Value):
    """A driver that drives all cards of a machine.

    Attributes:
        says: ``R580 (580.173.02) with its proprietary kernel modules``.
        source: its rows.
    """

    branch: int
    module: Module
    says: str
    steps: tuple[Step, ...]
    source: str


def right(scene: Scene) -> Right | None:
    """The driver to have here; None where no card is known, or nothing drives all of them."""
    cards = tuple(card for _, card in scene.cards)
    row = _branch(scene, cards)
    if not cards or row is None:
        return None
    module = fixes.flavour(load_reference(), scene.host.os, row, drivers.modules(table(), cards))
    says = drivers.name(row)
    if not scene.wsl2:
        says += f" with its {module} kernel modules"
    packed = fixes.package(load_reference(), scene.host.os, row.branch, module)
    source = " · ".join(
        filter(None, (cite(row, str(row.branch)), drivers.by_maker(table(), cards)[1]))
    )
    if packed is not None and not scene.wsl2:
        source += f" · driver_packages/{packed.os} {packed.status}"
    return Right(
        branch=row.branch,
        module=module,
        says=says,
        steps=tuple(_steps(scene, row, module, last=_ends(scene, cards) == row.branch)),
        source=source,
    )


def _branch(scene: Scene, cards: tuple[Card, ...]) -> Branch | None:
    """The branch in hand where it drives the cards, else the one that suits them."""
    rows = [table().capability(card.cc) for card in cards]
    newest = drivers.newest_toolkit(table(), rows)
    suited = drivers.suited(table(), cards, load().date, newest)
    version = installed(scene)
    here = drivers.branch_of(table(), version) if version is not None else None
    needs = drivers.modules(table(), cards)
    if here is None or (needs != "either" and needs not in here.modules):
        return suited
    last = _ends(scene, cards)
    old = any(drivers.too_old(table(), row, version or "0", here.cuda, windows=scene.wsl2)
              for row in rows)  # fmt: skip
    if old or (last is not None and here.branch > last):
        return suited
    return here


def _ends(scene: Scene, cards: tuple[Card, ...]) -> int | None:
    """The last branch for these cards."""
    rows = (scene.capability(card.cc) for card in cards)
    return min((row.last_branch for row in rows if row and row.last_branch), default=None)


def _steps(scene: Scene, row: Branch, module: Module, *, last: bool) -> Iterator[Step]:
    host = scene.host
    if host.inside_container is not None:
        flavour = "" if scene.wsl2 else f", with its {module} kernel modules"
        yield fixes.owner(f"a driver of R{row.branch}{flavour}")
        return
    if scene.wsl2:
        page = next(one for one in load_reference().wsl if one.what == "windows-driver-page")
        yield from windows.of_branch(page, row.branch if last else None)
        return
    yield from _out_of_the_way(scene, row)
    yield from drivers.by_maker(table(), tuple(card for _, card in scene.cards))[0]
    version = installed(scene)
    yield from fixes.steps(
        load(),
        load_reference(),
        host.os,
        row.branch,
        module,
        older=version is not None and numbers(version)[0] > row.branch,
        secure_boot=host.kernel.secure_boot,
    )


def _out_of_the_way(scene: Scene, row: Branch) -> Iterator[Step]:
    """What apt would not replace by itself: packages that are held, or newer ones."""
    if not (scene.host.os.id or "").startswith(("ubuntu", "debian")):
        return
    held = tuple(name for name in scene.host.held if is_driver(name))
    if held:
        yield Step(
            why="these are held: apt would neither replace nor remove them",
            argv=("sudo", "apt-mark", "unhold", *held[:20]),
            check="apt-mark showhold: none of the driver",
        )
    there, version = packages(scene), installed(scene)
    if there and version is not None and numbers(version)[0] > row.branch:
        yield Step(
            why=f"apt does not go back to an older release by itself: {version} goes first",
            argv=("sudo", "apt-get", "purge", "-y", *there[:60]),
            check="dpkg -l 'nvidia-*' 'libnvidia-*': nothing of the driver is installed (ii)",
        )


def is_driver(package: str) -> bool:
    """A package of a Linux driver, by its name."""
    rows = {row.what: row.value for row in load_reference().wsl}
    drives = re.match(rows["linux-driver-packages"], package) or _RPM.match(package)
    return bool(drives) and not re.match(rows["not-driver-packages"], package)


def packages(scene: Scene) -> tuple[str, ...]:
    """Installed packages of a Linux driver."""
    return tuple(name for name, _ in scene.host.packages if is_driver(name))


def module_of(scene: Scene) -> KernelModule | None:
    """The driver's kernel module, loaded or only on disk."""
    return next((m for m in scene.host.kernel.modules if m.name == "nvidia"), None)


def release(text: str | None) -> str | None:
    """A version, where the text is one: numbers parted by dots."""
    return text if text and re.fullmatch(r"\d{1,6}(\.\d{1,6}){0,3}", text, re.ASCII) else None


def is_other(path: str | None) -> bool:
    """A library for the linker, or for forward compatibility: none of the driver's own."""
    return any(folder in (path or "") for folder in ("/stubs/", "/compat/"))


def library(scene: Scene) -> str | None:
    """Version of the driver's libraries that a program gets, where their names tell it."""
    first: dict[str, str | None] = {}
    for tool in scene.host.libraries:
        if tool.source != "folder" and not is_other(tool.path):
            first.setdefault(tool.name, release(tool.version))
    return first.get("libnvidia-ml.so.1") or first.get("libcuda.so.1")


def installed(scene: Scene) -> str | None:
    """The driver's version: of what answers, else of the module, else of libraries or packages."""
    driver, module = scene.host.driver, module_of(scene)
    known = release(driver.version) if driver is not None else None
    if known is None and module is not None:
        known = release(module.version) or release(module.on_disk)
    return known or library(scene) or _packaged(scene)


def _packaged(scene: Scene) -> str | None:
    versions = [scene.host.packages.get(name) or "" for name in packages(scene)]
    found = [match[1] for text in versions if (match := _VERSION.search(text))]
    return max(found, key=numbers, default=None)
