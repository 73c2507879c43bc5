"""Vendor images: which tags exist, and on which drivers they start."""

from envbuild.matrix.model import ImageTag
from envbuild.planner import drivers
from envbuild.planner.ranges import minor, numbers
from envbuild.planner.rules.base import TAGS, error, rule
from envbuild.planner.table import Place, Table
from envbuild.planner.target import Card, Target
from envbuild.values.finding import Finding


@rule((), "image_flavour", binds=TAGS)
def tag_exists(table: Table, place: Place, target: Target) -> Finding | None:
    """A vendor tag must exist in the flavour asked for, devel where none is."""
    del table
    flavour = target.image_flavour
    if not isinstance(place.row, ImageTag) or flavour in place.row.flavours:
        return None
    says = f"there is no tag {place.release}-{flavour}-{place.os}"
    return error("image-tag", says, place.cite)


@rule((), "driver_cuda", "cards", asked=("driver",), binds=TAGS)
def tag_starts(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred: a tag that starts on the driver in hand whatever the engine does.

    ``NVIDIA_REQUIRE_CUDA`` stops the container in legacy mode; with CDI nobody reads it, and the
    tag's own newer libcuda ends in error 804 on cards without forward compatibility.
    """
    tag = place.row
    if target.driver is None or not isinstance(tag, ImageTag):
        return None
    level, asks = target.driver_cuda, requires(tag)
    if level is not None and numbers(asks) <= numbers(level):
        return None
    here = drivers.branch_of(table, target.driver)
    branch = here.branch if here is not None else None
    bad = [c for c in target.cards or (Card(cc=""),) if not accepted(tag, c, branch)]
    if not bad:
        return None
    who = bad[0].name or (f"a GeForce of cc {bad[0].cc}" if bad[0].cc else "a GeForce")
    says = (
        f"the tag {tag.cuda} asks for a CUDA {asks} driver: on {who} with {target.driver} "
        f"(CUDA {level or 'unknown'}) it does not start, or ends in error 804"
    )
    why = (
        "the rendered image purges its cuda-compat and sets NVIDIA_DISABLE_REQUIRE, never one "
        "alone; other ways out: a tag at or below the driver's level, or a plain OS base"
    )
    return Finding(id="image-require", severity="warn", says=says, why=why, source=place.cite)


def requires(tag: ImageTag) -> str:
    """The driver level it asks for; where its recipe was not seen, its own minor release."""
    return tag.require or minor(tag.cuda)


def accepted(tag: ImageTag, card: Card, branch: int | None) -> bool:
    """The tag's own rule lets this card's brand start on that older branch."""
    brand = card.brand or "geforce"  # the brand that most tags leave out
    return branch in tag.require_branches and brand in tag.require_brands


@rule((), binds=TAGS)
def tag_kept(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred: a tag that is not past its end of life, after which the vendor deletes it."""
    del table, target
    if not isinstance(place.row, ImageTag) or not place.row.withdrawn:
        return None
    says = (
        f"the tag {place.release} is past its end of life and may be deleted: "
        "keep a mirror, or use --toolkit-source redist or apt"
    )
    return Finding(id="image-withdrawn", severity="warn", says=says, source=place.cite)


@rule((), "image_flavour", binds=TAGS)
def tag_seen(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred: a tag that someone has seen, before one that only follows from others."""
    del table
    if not isinstance(place.row, ImageTag) or place.row.status != "derived":
        return None
    says = (
        f"the tag {place.release}-{target.image_flavour}-{place.os} was not seen itself: "
        "it follows from others of its release"
    )
    return Finding(id="image-tag-derived", severity="info", says=says, source=place.cite)
