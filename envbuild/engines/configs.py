"""An image as its OCI config describes it, for engines that keep no images of their own."""

import msgspec

from envbuild.engines import common
from envbuild.errors import InputError
from envbuild.values.codec import Pairs
from envbuild.values.image import Image


class _Settings(msgspec.Struct, rename="pascal"):
    env: tuple[str, ...] | None = None
    labels: dict[str, str] | None = None
    user: str = ""


class _Root(msgspec.Struct):
    diff_ids: tuple[str, ...] = ()


class _Config(msgspec.Struct):
    architecture: str
    os: str
    rootfs: _Root
    config: _Settings = msgspec.field(default_factory=_Settings)


def image_of(ref: str, config: str, data: bytes) -> Image:
    """An image by its config: digest and bytes.

    Raises:
        InputError: the config is none.
    """
    try:
        found = msgspec.json.decode(data, type=_Config)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
        what = f"{ref} has a config that is not OCI's: {e}"
        raise InputError(what, fix="make it again") from e
    return Image(
        ref=ref,
        config=config,
        platform=f"{found.os}/{found.architecture}",
        diff_ids=found.rootfs.diff_ids,
        labels=Pairs(found.config.labels or {}),
        env=common.env_pairs(found.config.env),
        user=found.config.user,
    )
