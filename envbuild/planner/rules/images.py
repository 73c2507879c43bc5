"""Vendor images: which tags exist, and on which drivers they start."""

from envbuild.matrix.model import ImageTag
from envbuild.planner.access import ways
from envbuild.planner.launch import REFUSED, Launch, Machine, load, requires
from envbuild.planner.ranges import numbers
from envbuild.planner.rules.base import TAGS, about, error, rule
from envbuild.planner.table import Place, Table
from envbuild.planner.target import Card, Target
from envbuild.values.finding import Finding

ON_MACHINE = (
    "driver", "driver_cuda", "arch", "platform", "engine_access", "docker", "container_toolkit",
)  # fmt: skip
"""What decides, beside the card, about whose libcuda is loaded."""


@rule((), "image_flavour", binds=TAGS)
def tag_exists(table: Table, place: Place, target: Target) -> Finding | None:
    """A vendor tag must exist in the flavour asked for, devel where none is."""
    del table
    flavour = target.image_flavour
    if not isinstance(place.row, ImageTag) or flavour in place.row.flavours:
        return None
    says = about(place.cuda, f"it has no {flavour} tag on {place.os}")
    return error("image-tag", says, place.cite)


@rule(("cuda", "release"), *ON_MACHINE, asked=("driver",), binds=TAGS, each="cards")
def tag_starts(table: Table, place: Place, target: Target) -> Finding | None:
    """Preferred: a tag that starts on the driver in hand however the GPU comes in.

    ``NVIDIA_REQUIRE_CUDA`` stops the container in legacy mode; with CDI nobody reads it, and the
    tag's own newer libcuda ends in error 804 on cards without forward compatibility.
    """
    tag, level = place.row, target.driver_cuda
    if target.driver is None or not isinstance(tag, ImageTag):
        return None
    asks = requires(tag)
    if level is not None and numbers(asks) <= numbers(level):
        return None
    cards = target.cards or (Card(cc=""),)
    ends = [
        (frozenset(one.error for one in _loads(table, tag, target, card)), card) for card in cards
    ]
    who, errors = next(((card, e - {""}) for e, card in ends if e - {""}), (cards[0], frozenset()))
    if not errors:
        return None
    name = who.name or (f"a GeForce of cc {who.cc}" if who.cc else "a GeForce")
    on = f"on {name} with {target.driver} (CUDA {level or 'unknown'})"
    codes = " or ".join(f"error {code}" for code in sorted(errors - {REFUSED}))
    if REFUSED not in errors:
        says = f"the tag {tag.cuda} carries a newer libcuda: {on} it ends in {codes}"
        why = "the rendered image purges its cuda-compat, so that the driver's own is loaded"
        return Finding(id="image-compat", severity="info", says=says, why=why, source=place.cite)
    says = f"the tag {tag.cuda} asks for a CUDA {asks} driver: {on} it does not start"
    says += f", or ends in {codes}" if codes else ""
    why = (
        "the rendered image purges its cuda-compat and sets NVIDIA_DISABLE_REQUIRE, never one "
        "alone; other ways out: a tag at or below the driver's level, or a plain OS base"
    )
    return Finding(id="image-require", severity="warn", says=says, why=why, source=place.cite)


def forwarded(table: Table, tag: ImageTag, target: Target) -> bool:
    """Forward compatibility: each card loads the tag's newer libcuda, and it works, every way."""
    if target.driver is None or not all(card.forward_compat for card in target.cards):
        return False
    every = [one for card in target.cards for one in _loads(table, tag, target, card)]
    return bool(every) and all(one.libcuda == "image" and not one.error for one in every)


def _loads(table: Table, tag: ImageTag, target: Target, card: Card) -> list[Launch]:
    """What the tag does on this card before its code runs, by each way the GPU may come in."""
    machine = Machine(
        card,
        target.driver or "",
        target.driver_cuda,
        windows=target.windows,
        arch=target.arch or "x86_64",
    )
    return [load(table, machine, way, tag) for way in ways(table, target)]


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
