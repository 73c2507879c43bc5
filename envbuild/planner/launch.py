"""What happens when code is started: does the container start, whose libcuda, which code runs.

One pure function of rows: a card, a driver, a way into the container, the image's tag, the code.
"""

from typing import Literal

import msgspec

from envbuild.matrix.model import ImageTag, Injection
from envbuild.planner import drivers
from envbuild.planner.gencode import runs_on
from envbuild.planner.ranges import minor, numbers
from envbuild.planner.table import Table
from envbuild.planner.target import Card

LibCuda = Literal["driver", "image"]

REFUSED = "require"
"""The error of a container that ``NVIDIA_REQUIRE_CUDA`` stops; the others are CUDA's numbers."""


class Machine(msgspec.Struct, frozen=True):
    """A card with its driver.

    Attributes:
        driver: its version; ``cuda`` the level it serves, None = not known.
        windows: it is the driver of Windows (WSL).
        arch: CPU architecture; the requirement of a tag differs between them.
    """

    card: Card
    driver: str
    cuda: str | None
    windows: bool = False
    arch: str = "x86_64"


class Code(msgspec.Struct, frozen=True):
    """What is started: the toolkit that made it, its real targets, and its PTX targets."""

    cuda: str
    targets: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()


class Launch(msgspec.Struct, frozen=True):
    """How it ends.

    Attributes:
        libcuda: whose is loaded, the driver's or the image's newer one; None = it never starts.
        runs: finished code (SASS), PTX that this libcuda compiled, or none.
        error: empty where code runs, else ``require`` or the number of the CUDA error.
    """

    libcuda: LibCuda | None = None
    runs: Literal["sass", "ptx", "none"] = "none"
    error: str = ""

    @property
    def starts(self) -> bool:
        """The container starts, whatever happens in it."""
        return self.libcuda is not None


def launch(
    table: Table, machine: Machine, code: Code, way: Injection | None, tag: ImageTag | None
) -> Launch:
    """Start code on a card.

    Args:
        table: the rows.
        machine: where.
        code: what.
        way: how the GPU comes into the container; None = there is no container.
        tag: the vendor image with its own libcuda inside and its requirement; None = a plain
            system, or an image that was rid of both.
    """
    loaded = load(table, machine, way, tag)
    error = loaded.error or _unusable(table, machine)
    if not error and loaded.libcuda == "driver":
        error = _too_old(table, machine, code.cuda)
    if error or loaded.libcuda is None:
        return Launch(loaded.libcuda, error=error)
    level = minor(tag.cuda) if tag is not None and loaded.libcuda == "image" else machine.cuda
    return _run(table, machine.card, code, loaded.libcuda, level)


def load(table: Table, machine: Machine, way: Injection | None, tag: ImageTag | None) -> Launch:
    """Start the container and load libcuda, no more; ``runs`` is none."""
    if way is None or tag is None:
        return Launch("driver")
    if way.mode == "refused" or (way.reads_require and not meets(table, machine, tag)):
        return Launch(error=REFUSED)
    if not puts_image_first(table, machine, way, tag):
        return Launch("driver")
    return Launch("image", error=_compat_error(table, machine, tag))


def requires(tag: ImageTag) -> str:
    """The driver level it asks for; where its recipe was not seen, its own minor release."""
    return tag.require or minor(tag.cuda)


def meets(table: Table, machine: Machine, tag: ImageTag) -> bool:
    """The tag's ``NVIDIA_REQUIRE_CUDA`` lets it start: by the driver's level, or branch and brand.

    A card whose brand is not known is taken for a GeForce, which most tags leave out.
    """
    if tag.arm_rule == "none" and machine.arch == "aarch64":
        return True
    if machine.cuda is not None and numbers(requires(tag)) <= numbers(machine.cuda):
        return True
    return accepted(tag, machine.card, _branch(table, machine), machine.arch)


def accepted(tag: ImageTag, card: Card, branch: int | None, arch: str) -> bool:
    """The tag's own rule lets this card's brand start on that older branch."""
    if tag.arm_rule != "same" and arch == "aarch64":
        return False
    return branch in tag.require_branches and (card.brand or "geforce") in tag.require_brands


def puts_image_first(table: Table, machine: Machine, way: Injection, tag: ImageTag) -> bool:
    """The image's own libcuda (cuda-compat) is found before that of the driver."""
    inside, here = compat_branch(table, tag), numbers(machine.driver)[0]
    if way.compat == "never" or inside is None or inside <= here:
        return False
    listed = way.listed_from is not None and numbers(tag.cuda) >= numbers(way.listed_from)
    if way.compat == "listed-branch" and listed and tag.require_branches:
        # Its list is that of the tag: seen in both at 12.9 and 13.1.
        return here in tag.require_branches
    return True


def compat_branch(table: Table, tag: ImageTag) -> int | None:
    """Driver branch of the libcuda that every tag carries; None = not known."""
    level = minor(tag.cuda)
    return next((b.branch for b in table.matrices.branches if b.cuda == level), None)


def forward(tag: ImageTag, card: Card) -> bool:
    """The image's newer libcuda works on this card: data-centre cards, and the tag's own brands."""
    if card.forward_compat is not None:
        return card.forward_compat
    listed = "geforce" not in tag.require_brands and card.brand in tag.require_brands
    return listed and card.brand is not None


def _branch(table: Table, machine: Machine) -> int | None:
    row = drivers.branch_of(table, machine.driver)
    return row.branch if row is not None else None


def _unusable(table: Table, machine: Machine) -> str:
    """The driver sees no device: 100."""
    row, branch = table.capability(machine.card.cc), _branch(table, machine)
    if row.last_branch is not None and branch is not None and branch > row.last_branch:
        return "100"
    driver, level = machine.driver, machine.cuda
    old = drivers.too_old(table, row, driver, level, windows=machine.windows)
    return "100" if old else ""


def _compat_error(table: Table, machine: Machine, tag: ImageTag) -> str:
    """Where the image's libcuda does not serve: another card (804, 100), another branch (803)."""
    if not forward(tag, machine.card):
        return "804"
    row = table.capabilities.get(machine.card.cc)
    last = row.last_branch if row is not None else None
    inside = compat_branch(table, tag)
    if last is not None and inside is not None and inside > last:
        return "100"  # that libcuda no longer knows the card
    served = not tag.require_branches or _branch(table, machine) in tag.require_branches
    return "" if served else "803"


def _too_old(table: Table, machine: Machine, cuda: str) -> str:
    """Below the floor of the toolkit's major: 35."""
    floor = drivers.floor(table, cuda)
    if floor is None:
        return ""
    least = drivers.floor_text(floor, windows=machine.windows)
    return "35" if numbers(machine.driver) < numbers(least) else ""


def _run(table: Table, card: Card, code: Code, libcuda: LibCuda, level: str | None) -> Launch:
    """Finished code first, else PTX at or below the card that this libcuda can compile."""
    row = table.capability(card.cc)
    if any(runs_on(target, row, table) for target in code.targets):
        return Launch(libcuda, "sass")
    if not any(t.isdigit() and int(t) <= int(row.target) for t in code.ptx):
        return Launch(libcuda, error="209")
    if level is None or numbers(code.cuda) > numbers(level):
        return Launch(libcuda, error="222")
    return Launch(libcuda, "ptx")
