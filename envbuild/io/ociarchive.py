"""An image in a file: a tar of an OCI layout, in which every digest is computed again."""

import contextlib
import gzip
import hashlib
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, NamedTuple, TypeVar, cast

import msgspec

from envbuild.errors import InputError, StaleError

T = TypeVar("T")
_PIECE = 1 << 20
_INDEX, _LAYOUT = "index.json", "oci-layout"
_Digest = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]


class _Platform(msgspec.Struct):
    os: str = ""
    architecture: str = ""


class _Descriptor(msgspec.Struct, rename="camel"):
    digest: _Digest
    media_type: str = ""
    platform: _Platform | None = None


class Index(msgspec.Struct):
    """What a layout holds."""

    manifests: tuple[_Descriptor, ...]


class Manifest(msgspec.Struct):
    """One image: its config and its layers, each by digest."""

    config: _Descriptor
    layers: tuple[_Descriptor, ...]


class _Step(msgspec.Struct):
    created_by: str = ""
    empty_layer: bool = False


class _Root(msgspec.Struct):
    diff_ids: tuple[_Digest, ...] = ()


class _Config(msgspec.Struct):
    architecture: str
    os: str
    created: str = ""
    rootfs: _Root = msgspec.field(default_factory=_Root)
    history: tuple[_Step, ...] = ()


class Layer(NamedTuple):
    """One layer: digest as it is packed, digest of its bare tar, the step that made it."""

    digest: str
    diff_id: str
    step: str


class Archive(NamedTuple):
    """The one image of an archive.

    Attributes:
        path: the file.
        manifest, config: digests.
        platform: ``linux/amd64``.
        created: as the config has it.
        layers: bottom first.
        settings: the config as it is written.
    """

    path: Path
    manifest: str
    config: str
    platform: str
    created: str
    layers: tuple[Layer, ...]
    settings: bytes


def read(path: Path) -> Archive:
    """What an archive holds, once each blob was found to be what its digest says.

    Raises:
        InputError: it cannot be read, is no OCI archive, or holds several images.
        StaleError: a blob, or what is packed in it, is other bytes than its digest names.
    """
    with _opened(path) as tar:
        found = _head(path, tar)
        for made in found.layers:
            _compare(path, made.digest, _hash(_file(tar, place(made.digest))))
            with unpacked(tar, made.digest) as bare:
                _compare(path, made.diff_id, _hash(bare))
        return found


def head(path: Path) -> Archive:
    """What an archive says that it holds: its manifest and config are checked, no layer is read.

    Raises:
        InputError, StaleError: as `read`.
    """
    with _opened(path) as tar:
        return _head(path, tar)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, "r:") as tar:
            yield tar
    except (OSError, EOFError, tarfile.TarError, gzip.BadGzipFile) as e:
        what = f"{path} is no whole OCI archive: {e}"
        raise InputError(what, fix="make it again: envbuild build -o FILE") from e


def _head(path: Path, tar: tarfile.TarFile) -> Archive:
    index = decoded(_file(tar, _INDEX).read(), Index, path)
    # What is of no platform is an attestation, not an image.
    listed = [
        entry
        for entry in index.manifests
        if entry.platform is None or entry.platform.architecture != "unknown"
    ]
    if len(listed) != 1:
        what = f"{path} holds {len(listed)} images, and one is compared"
        raise InputError(what, fix="build it for one platform, without attestations")
    manifest = decoded(_blob(tar, listed[0].digest, path), Manifest, path)
    settings = _blob(tar, manifest.config.digest, path)
    config = decoded(settings, _Config, path)
    steps = [step.created_by for step in config.history if not step.empty_layer]
    if len(config.rootfs.diff_ids) != len(manifest.layers):
        what = f"{path} has {len(manifest.layers)} layers, and its config names others"
        raise StaleError(what, fix="do not use this archive; make it again")
    if len(steps) != len(manifest.layers):
        steps = [""] * len(manifest.layers)
    layers = [
        Layer(packed.digest, diff_id, step)
        for packed, diff_id, step in zip(
            manifest.layers, config.rootfs.diff_ids, steps, strict=True
        )
    ]
    return Archive(
        path,
        listed[0].digest,
        manifest.config.digest,
        f"{config.os}/{config.architecture}",
        config.created,
        tuple(layers),
        settings,
    )


def latest(archive: Archive) -> float:
    """The youngest file in any layer, seconds since 1970; 0 = no file."""
    youngest = 0.0
    with tarfile.open(archive.path, "r:") as tar:
        for made in archive.layers:
            with unpacked(tar, made.digest) as bare, tarfile.open(fileobj=bare, mode="r|") as layer:
                youngest = max([youngest, *(member.mtime for member in layer)])
    return youngest


def unpacked(tar: tarfile.TarFile, digest: str) -> IO[bytes]:
    """The bare tar of a layer, whether it is packed with gzip or not at all.

    Raises:
        InputError: the archive lacks it, or it is packed otherwise.
    """
    file = _file(tar, place(digest))
    start = file.read(4)
    file.seek(0)
    if start == b"\x28\xb5\x2f\xfd":
        what = f"layer {digest[:19]} is packed with zstd, which is not read here"
        raise InputError(what, fix="build it with gzip, the default")
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if start[:2] == b"\x1f\x8b" else file


def _file(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    try:
        found = tar.extractfile(name)
    except KeyError:
        found = None
    if found is None:
        what = f"{os.fsdecode(tar.name or '')} is no OCI archive: it has no {name}"
        raise InputError(what, fix="make it with envbuild build -o FILE")
    return found


def place(digest: str) -> str:
    """Where an OCI layout keeps a blob."""
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def _blob(tar: tarfile.TarFile, digest: str, path: Path) -> bytes:
    data = _file(tar, place(digest)).read()
    _compare(path, digest, hashlib.sha256(data).hexdigest())
    return data


def _hash(file: IO[bytes]) -> str:
    seen = hashlib.sha256()
    for piece in _pieces(file):
        seen.update(piece)
    return seen.hexdigest()


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def _compare(path: Path, digest: str, seen: str) -> None:
    if digest != f"sha256:{seen}":
        what = f"{path} holds other bytes than {digest}"
        raise StaleError(what, why=f"they are sha256:{seen}", fix="do not use it; make it again")


def decoded(data: bytes, kind: type[T], path: Path) -> T:
    """A document of a layout as `Index` or `Manifest`; digests in it are digests.

    Raises:
        InputError: it is something else.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
        what = f"{path} is described in a way that is not OCI's: {e}"
        raise InputError(what, fix="make it again") from e
