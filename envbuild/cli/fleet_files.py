"""``envbuild lock`` and ``envbuild render`` of a fleet: every image of it, in one go."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from envbuild.cli import show
from envbuild.cli.options import FleetFlags, suites, words
from envbuild.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envbuild.engines.base import Engine
    from envbuild.io.net import Net
    from envbuild.render.fleet import Image
    from envbuild.render.jobs import Order
    from envbuild.values.lock import Lock
    from envbuild.values.plan import Fleet

#: Folder of a fleet's locks, one a file: NAME.lock.
LOCKS = "envbuild.locks"
_REPOSITORY = "envbuild"
_GPUS = 64


def lock(made: "Fleet", folder: Path, net: "Net", engine: "Callable[[], Engine | None]") -> int:
    """Lock each image; a lock that is there and fits is kept, so that a cut run goes on."""
    from envbuild.io import files
    from envbuild.lock import make
    from envbuild.lock.text import dump_lock
    from envbuild.render.fleet import images

    for image in images(made):
        path = _path(folder, image)
        if path.is_file() and not make.stale(_read(path), image.plan):
            show.note(f"{path} is of this plan: it is kept")
        else:
            files.write(
                path, dump_lock(make.lock(image.plan, net, engine() if image.plan.apt else None))
            )
        show.result(str(path))
    return 0


def render(
    made: "Fleet", flags: FleetFlags, folder: Path, locks: str | None, *, as_json: bool
) -> int:
    """Write a fleet's folder.

    Args:
        made: what was planned.
        flags: what is to be written.
        folder: new or empty.
        locks: folder of the locks, None = tags and versions as they are on the day.
        as_json: print what was written as JSON.

    Raises:
        InputError: a flag that cannot be used, a lock is missing, or the folder holds something.
        NoPlanError: a node has no plan.
        StaleError: a lock is of another plan.
    """
    from envbuild.io import files as disk
    from envbuild.io.workspace import save_folder
    from envbuild.render import fleet, jobs

    order = _order(flags)
    found = fleet.images(made, flags.repository or _REPOSITORY)
    if flags.images is not None:
        found = fleet.pinned(found, disk.read(flags.images), flags.images)
    wanted = "bake" in order.formats
    fixed = _locks(found, Path(locks)) if wanted and locks else (None,) * len(found)
    written = jobs.files(made, found, order, fixed)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        what = f"{folder} is there, and a fleet's folder is written whole"
        raise InputError(what, fix="choose a new or empty folder with -o")
    save_folder(folder.resolve(), {file.path: file.data for file in written})
    for node in fleet.left_out(made):
        show.warn(f"no image for {node.name}: {node.says}")
    if as_json:
        show.json({"folder": str(folder), "images": {image.name: image.ref for image in found}})
        return 0
    for file in written:
        show.result(str(folder / file.path))
    return 0


def _order(flags: FleetFlags) -> "Order":
    from envbuild.render import jobs

    formats = tuple(dict.fromkeys(words(flags.format))) or ("bake",)
    for name in formats:
        if name not in jobs.FORMATS:
            what = f"--format {name!r} is not known"
            raise InputError(what, fix=f"some of {', '.join(jobs.FORMATS)}")
    gpus = 1 if flags.gpus_per_node is None else flags.gpus_per_node
    if not 0 < gpus <= _GPUS:
        what = f"--gpus-per-node {gpus} is no number of GPUs"
        raise InputError(what, fix=f"1 to {_GPUS}")
    return jobs.Order(
        formats=formats,
        require=suites(flags.require) or ("smoke",),
        gpus=gpus,
        tool=flags.tool_image or "",
    )


def _locks(found: "Sequence[Image]", folder: Path) -> "tuple[Lock, ...]":
    from envbuild.lock import make

    made = []
    for image in found:
        path = _path(folder, image)
        if not path.is_file():
            what = f"there is no {path}"
            fix = f"envbuild lock fleet.json -o {folder} makes it; --no-lock renders without"
            raise InputError(what, fix=fix)
        made.append(_read(path))
        make.check(made[-1], image.plan, str(path))
    return tuple(made)


def _path(folder: Path, image: "Image") -> Path:
    return folder / f"{image.name}.lock"


def _read(path: Path) -> "Lock":
    from envbuild.io import files
    from envbuild.values.codec import load
    from envbuild.values.lock import Lock

    return load(Lock, files.read(path), str(path))
