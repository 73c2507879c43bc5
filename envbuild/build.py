"""The middle of the corridor: a plan becomes a lock, a context, an image in the workspace."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from envbuild import __version__, data
from envbuild.engines import staging
from envbuild.engines.base import Engine
from envbuild.errors import InputError
from envbuild.io import files, ours
from envbuild.io.net import Net
from envbuild.io.workspace import Workspace, save_folder
from envbuild.values.codec import digest, dump_line, load, replace
from envbuild.values.image import BuildContext, Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

LOCK = "envbuild.lock"
#: What a dry run without a lock must say.
NOT_LOCKED = "lock      there is none yet: it is made first, and pins what follows (envbuild lock)"


def fitted(engine: Engine, plan: Plan) -> Plan:
    """The plan as this engine can make it: without containers, from what is here or from wheels."""
    if engine.name != "local":
        return plan
    from envbuild.engines.fit import local_plan
    from envbuild.engines.local import LocalEngine
    from envbuild.matrix.load import load as matrices

    return local_plan(engine, plan, matrices()) if isinstance(engine, LocalEngine) else plan


def _toolkit_here(engine: Engine, plan: Plan) -> Path | None:
    if engine.name != "local":
        return None
    from envbuild.engines.local import LocalEngine

    return engine.toolkit_for(plan) if isinstance(engine, LocalEngine) else None


def known_lock(
    space: Workspace,
    plan: Plan,
    given: Path | None = None,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> Lock | None:
    """The lock that is there: the user's file, ``./envbuild.lock``, or the workspace's.

    The two that nobody named are taken only if they fit the plan.

    Args:
        space: where `locked` keeps its own.
        plan: what is to be built.
        given: ``--lock``.
        say: gets a line where ``./envbuild.lock`` is passed over.

    Raises:
        InputError: the file is no lock.
        StaleError: the user's file locks another plan, or is of another release.
    """
    if given is not None:
        from envbuild.lock.make import check

        found = load(Lock, files.read(given), str(given))
        check(found, plan, str(given))
        return found
    if Path(LOCK).is_file():
        from envbuild.lock.make import stale

        found = load(Lock, files.read(LOCK), LOCK)
        if not (reasons := stale(found, plan)):
            return found
        say(f"lock      ./{LOCK} is not used: {'; '.join(reasons)}")
    return space.load(Lock, LOCK) if space.fresh("lock", _made_by(plan), LOCK) else None


def locked(
    space: Workspace,
    plan: Plan,
    net: Net,
    engine: Engine,
    given: Path | None = None,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> Lock | None:
    """The lock of a plan: the one that is there, else a new one, kept in the workspace.

    Args:
        space: where the lock is kept.
        plan: what is to be locked.
        net: how the world is reached.
        engine: can look into the base image.
        given: a lock file of the user's, taken as it is.
        say: gets a line where ``./envbuild.lock`` is passed over.

    Returns:
        None where nothing is fetched: the local engine takes a toolkit that is here.

    Raises:
        StaleError: the lock that was given is of another plan, or of another release.
        MachineError: a registry, an index or the base cannot be reached.
    """
    if _toolkit_here(engine, plan):
        return None
    inputs = _made_by(plan)
    found = known_lock(space, plan, given, say=say)
    if found and space.fresh("lock", inputs, LOCK) and space.load(Lock, LOCK) == found:
        return found
    from envbuild.lock.text import dump_lock

    if found is None:
        from envbuild.lock.make import lock

        found = lock(plan, net, engine)
    files.write(space.path(LOCK), dump_lock(found))
    space.stamp("lock", inputs, LOCK)
    return found


def from_bundle(net: Net, lock: Lock, folder: Path) -> Net:
    """The network of a build from a bundle: none. Every file of the bundle is checked first.

    Raises:
        InputError: it is no bundle, or not whole.
        StaleError: it is of another lock, or holds other bytes.
    """
    from envbuild.engines import bundled

    bundled.check(folder, lock)
    return replace(net, bundle=str(folder), offline=True)


def rendered(plan: Plan, lock: Lock | None, space: Workspace | None) -> BuildContext:
    """The build context; in a workspace it is kept in ``context/`` and read while it is fresh."""
    inputs = _made_by(plan, lock)
    if space is not None and lock is None:
        # What is certified later is held against the lock that is kept: an older one is not it.
        space.path(LOCK).unlink(missing_ok=True)
    if space is not None and space.fresh("context", inputs, "context"):
        return staging.read(space.path("context"))
    from envbuild.render.context import render

    context = render(plan, lock)
    if space is not None:
        space.save("plan.json", plan)
        save_folder(space.path("context"), {file.path: file.data for file in context.files})
        space.stamp("context", inputs, "context")
    return context


def _made_by(*values: Plan | Lock | None) -> str:
    """Digest of a stage's inputs: its values, and what turns them into the next one."""
    tools = [__version__.encode()]
    for tree in ("templates", "kernels"):
        root = data.folder(tree)
        tools += [p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()]
    parts = [dump_line(value) for value in values] + [hashlib.sha256(t).digest() for t in tools]
    return "sha256:" + hashlib.sha256(b"".join(parts)).hexdigest()


def tag_of(source: Plan | Path, target: str = "", given: str | None = None) -> str:
    """The name that an image gets: the user's, else its plan's (the folder's, where it has none).

    Args:
        source: what it is built from.
        target: the stage; the runtime stage of a plan has its own name.
        given: ``--tag``.

    Raises:
        InputError: a plan has no such stage, or no image can have the name.
    """
    from envbuild.io import oci
    from envbuild.render.view import image_name

    if isinstance(source, Path):
        words = re.sub(r"[^a-z0-9]+", "-", source.resolve().name.lower()).strip("-")
        made = f"envbuild/{words or 'context'}"
    elif target not in {"", "devel", "runtime"}:
        what = f"there is no stage {target!r}"
        raise InputError(what, fix="--target devel (the compiler is inside) or runtime (small)")
    else:
        made = image_name(source) + ("-runtime" if target == "runtime" else "")
    if given is not None and oci.parse(given).digest:
        what = f"{given} is pinned: the digest of an image is known when it is built"
        raise InputError(what, fix="give a name without @sha256:...")
    return made if given is None else given


def built(
    space: Workspace, context: BuildContext, tag: str, net: Net, engine: Engine, *, target: str = ""
) -> Image:
    """Build, and record the image in the workspace.

    The engine is always asked: its cache knows better than a stamp what is still there. Offline
    an image of the same plan and lock is taken as it is: a step without a network is another step
    to the cache.

    Raises:
        InputError: the context has no such stage.
        MachineError, BuildError, StaleError: see `Engine.build`.
    """
    staging.check_stage(context, target)
    kept = engine.inspect(tag) if net.offline and engine.name != "local" else None
    same = kept is not None and _made_from(kept, context, target)
    image = kept if kept and same else _made(engine, context, tag, net, target)
    space.save("image.json", image)
    return image


def _made(engine: Engine, context: BuildContext, tag: str, net: Net, target: str) -> Image:
    """A new image, with the engine that built it: its provenance names that."""
    from envbuild.lock.recipe import rebuilding

    with rebuilding(staging.file_of(context, LOCK), net):
        image = engine.build(context, tag, net, target)
    return by(engine, image)


def by(engine: Engine, image: Image) -> Image:
    """The image, with the engine that has just built it; it is noted as this user's own."""
    ours.remember(image.config)
    return replace(image, builder=(engine.name, *filter(None, (engine.probe().version,))))


def _made_from(image: Image, context: BuildContext, target: str) -> bool:
    """Whether an image's labels name the plan, the lock and the stage of a context."""
    labels = dict(image.labels)
    plan, fixed = staging.file_of(context, "plan.json"), staging.file_of(context, LOCK)
    if plan is None or fixed is None:
        return False
    wanted = {
        "envbuild.plan": digest(load(Plan, plan, "plan.json")),
        "envbuild.lock": digest(load(Lock, fixed, LOCK)),
        "envbuild.stage": target or "devel",
    }
    return wanted.items() <= labels.items()
