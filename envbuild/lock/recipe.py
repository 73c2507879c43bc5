"""What rebuilds a vendor's image when its tag is deleted, as all are months after their end."""

from itertools import product
from typing import Literal

from envbuild.errors import NoPlanError
from envbuild.values.codec import replace
from envbuild.values.lock import Recipe
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
