"""What rebuilds a vendor's image when its tag is deleted, as all are months after their end."""

import contextlib
import shlex
from collections.abc import Iterator
from itertools import product
from typing import Literal

from envbuild.errors import BuildError, EnvbuildError, MachineError, NoPlanError
from envbuild.io import oci
from envbuild.io.http import GoneError
from envbuild.io.net import Net
from envbuild.planner.spell import argv
from envbuild.values.codec import load, replace
from envbuild.values.lock import Lock, Recipe
from envbuild.values.plan import Plan

# The archives that keep every release, by sha256 first.
_SOURCES: tuple[Literal["redist", "apt"], ...] = ("redist", "apt")


def recipe(plan: Plan) -> Recipe | None:
    """The plan of the same toolkit that the planner makes without the vendor's images.

    Returns:
        None where the base is no vendor's image, or no archive has this toolkit for it.
    """
    if plan.toolkit_source != "image" or plan.cuda is None:
        return None
    from envbuild.planner.ranges import minor

    releases = dict.fromkeys((plan.cuda, minor(plan.cuda)))
    # The same system where it can be; another is better than none.
    for source, release, system in product(_SOURCES, releases, (plan.image.os, None)):
        if found := _planned(plan, source, release, system):
            return found
    return None


def _planned(
    plan: Plan, source: Literal["redist", "apt"], release: str, system: str | None
) -> Recipe | None:
    from envbuild.matrix.load import load
    from envbuild.planner.plan import plan as make
    from envbuild.planner.resolve import resolve

    # What a machine told the plan is in the plan, not in its request.
    wanted = replace(
        plan.request,
        cc=plan.cc,
        gpus=(),
        cuda=release,
        base_os=system,
        arch=plan.arch,
        flavour=None,
        toolkit_source=source,
        split=False,
    )
    try:
        made = make(resolve(wanted, None, load()), load())
    except NoPlanError:
        return None
    if not isinstance(made, Plan) or made.outcome == "refuse" or made.cuda is None:
        return None
    if made.toolkit_source != source:
        return None
    return Recipe(source=source, cuda=made.cuda, request=wanted)


@contextlib.contextmanager
def offered(found: Recipe | None) -> Iterator[None]:
    """Ask for a vendor's image; where it is gone, name the command that rebuilds it.

    Raises:
        GoneError: the registry does not have it.
    """
    try:
        yield
    except GoneError as e:
        if found is None:
            raise
        why = "a vendor deletes the tags of a release after its end, and a mirror may never have it"
        command = shlex.join(argv(found.request, "build"))
        fix = f"the same toolkit, CUDA {found.cuda}, from the vendor's archives: {command}"
        raise GoneError(e.what, why=why, fix=fix) from e


@contextlib.contextmanager
def rebuilding(lock: bytes | None, net: Net) -> Iterator[None]:
    """Build from a lock; where that fails since its base is gone, name the command, too.

    An engine that fetches the base itself says that in words of its own: the registry is asked.

    Args:
        lock: the file, None = there is none.
        net: how the registry is reached.

    Raises:
        GoneError: the registry does not have the locked base, and the lock has a recipe.
    """
    try:
        yield
    except (MachineError, BuildError) as e:
        if (gone := _gone(lock, net)) is None:
            raise
        raise gone from e


def _gone(lock: bytes | None, net: Net) -> GoneError | None:
    """The error that says so; None where the base is there, or nothing can be said of it."""
    try:
        made = load(Lock, lock, "envbuild.lock") if lock and not net.offline else None
        if made and made.recipe and made.base:
            with offered(made.recipe):
                oci.resolve(f"{made.base.ref}@{made.base.digest}", made.platform, net)
    except GoneError as e:
        return e
    except EnvbuildError:
        pass
    return None
