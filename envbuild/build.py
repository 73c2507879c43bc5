"""The middle of the corridor: a plan becomes a lock, a context, an image in the workspace."""

import hashlib
from pathlib import Path

from envbuild import __version__, data
from envbuild.engines import staging
from envbuild.engines.base import Engine
from envbuild.io import files
from envbuild.io.net import Net
from envbuild.io.workspace import Workspace, save_folder
from envbuild.values.codec import dump_line, load
from envbuild.values.image import BuildContext, Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

LOCK = "envbuild.lock"


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


def known_lock(space: Workspace, plan: Plan, given: Path | None = None) -> Lock | None:
    """The lock that is there: the file the user gives, or the workspace's if it fits the plan.

    Raises:
        StaleError: the user's file locks another plan, or is of another release.
    """
    if given is None:
        return space.load(Lock, LOCK) if space.fresh("lock", _made_by(plan), LOCK) else None
    from envbuild.lock.make import check

    found = load(Lock, files.read(given), str(given))
    check(found, plan, str(given))
    return found


def locked(
    space: Workspace, plan: Plan, net: Net, engine: Engine, given: Path | None = None
) -> Lock | None:
    """The lock of a plan: the one that is there, else a new one, kept in the workspace.

    Args:
        space: where the lock is kept.
        plan: what is to be locked.
        net: how the world is reached.
        engine: can look into the base image.
        given: a lock file of the user's, taken as it is.

    Returns:
        None where nothing is fetched: the local engine takes a toolkit that is here.

    Raises:
        StaleError: the lock that was given is of another plan, or of another release.
        MachineError: a registry, an index or the base cannot be reached.
    """
    if _toolkit_here(engine, plan):
        return None
    if found := known_lock(space, plan, given):
        return found
    from envbuild.lock.make import lock
    from envbuild.lock.text import dump_lock

    made = lock(plan, net, engine)
    files.write(space.path(LOCK), dump_lock(made))
    space.stamp("lock", _made_by(plan), LOCK)
    return made


def rendered(plan: Plan, lock: Lock | None, space: Workspace | None) -> BuildContext:
    """The build context; in a workspace it is kept in ``context/`` and read while it is fresh."""
    inputs = _made_by(plan, lock)
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


def tag_of(plan: Plan, target: str = "") -> str:
    """The name of an image where the user gives none; the runtime stage has its own."""
    from envbuild.render.view import image_name

    return image_name(plan) + ("-runtime" if target == "runtime" else "")


def built(
    space: Workspace, context: BuildContext, tag: str, net: Net, engine: Engine, *, target: str = ""
) -> Image:
    """Build, and record the image in the workspace.

    The engine is always asked: its cache knows better than a stamp what is still there.
    """
    image = engine.build(context, tag, net, target)
    space.save("image.json", image)
    return image
