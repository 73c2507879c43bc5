"""Two builds of one context, side by side: the one digest that both have, or what differs."""

from typing import Literal

from envbuild.values.codec import Value


class Difference(Value):
    """One thing that differs.

    Attributes:
        layer: number of the layer, 1 = the lowest; 0 = the image's config.
        step: the instruction that made the layer, as the image's history has it.
        path: the file; of a config, the key; empty = the layer as a whole.
        what: ``bytes``, ``mode 644 / 600``, ``owner``, ``mtime``, ``only in the first`` ...
        why: what is known to cause it; empty = not known.
    """

    layer: int
    step: str
    path: str
    what: tuple[str, ...]
    why: str = ""


class Reproduction(Value):
    """An image whose times are pinned, and whether two builds gave the same one.

    Attributes:
        verdict: ``equal``: one manifest digest. ``unpacked``: the same layers when unpacked, packed
            by another engine version. Else ``different``.
        builds: how many were compared; 1 = the image was only built so that others can.
        ref: the image's name.
        manifest: digest of the platform manifest, of the first build or of what was given.
        config: digest of its config.
        other: manifest digest of the second build.
        epoch: SOURCE_DATE_EPOCH, seconds: no file and no date in the image is later.
        engine: what built, ``docker 28.5.2``.
        archive: the OCI archive that was kept, None = none.
    """

    schema: Literal["envbuild/reproduction/1"] = "envbuild/reproduction/1"
    verdict: Literal["equal", "unpacked", "different"]
    builds: int
    ref: str
    manifest: str
    config: str
    other: str
    platform: str
    diff_ids: tuple[str, ...]
    epoch: int
    engine: str
    archive: str | None = None
    differences: tuple[Difference, ...] = ()
