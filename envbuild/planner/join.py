"""Several machines as one target: what they share, and beside it each with what is its own."""

from collections.abc import Sequence

from envbuild.planner.one import plan_one
from envbuild.planner.ranges import numbers
from envbuild.planner.resolve import resolve
from envbuild.planner.spell import as_request
from envbuild.planner.table import Table
from envbuild.planner.target import Target
from envbuild.values.codec import replace
from envbuild.values.plan import Plan
from envbuild.values.request import Request

_OWN = ("platform", "l4t", "driver", "driver_cuda", "module")
_NAMED = 64  # GPU names that one request may hold


def join(machines: Sequence[Target]) -> Target:
    """The target of an image for all of these; one architecture, and equal wishes."""
    first = machines[0]
    if len(machines) == 1:
        return first
    cards = dict.fromkeys(card for one in machines for card in one.cards)
    joined = replace(
        first,
        cards=tuple(sorted(cards, key=lambda card: (numbers(card.cc), card.name or ""))),
        provenance=tuple(p for p in first.provenance if _all(machines, p)),
        declared=all(map(_declared, machines)),
    )
    if len({(one.access, one.engine_access) for one in machines}) > 1:
        joined = replace(joined, access="cdi", engine_access=())
    own = [name for name in _OWN if len({getattr(one, name) for one in machines}) > 1]
    if not own:
        return joined
    joined = replace(joined, driver=None, driver_cuda=None, module=None, beside=tuple(machines))
    if "platform" in own:
        joined = replace(joined, platform="sbsa" if first.arch == "aarch64" else "linux", l4t=None)
    return replace(joined, l4t=None) if "l4t" in own else joined


def _declared(one: Target) -> bool:
    """Nothing on this machine was looked at: a record of another is as good as flags."""
    return one.declared or not (one.on_host or any(p.origin == "detected" for p in one.provenance))


def _all(machines: Sequence[Target], fact: object) -> bool:
    return all(fact in one.provenance for one in machines)


def own(table: Table, target: Target) -> Target:
    """With a request of its own, so that its plan says how to ask for it alone.

    No flag says what several machines have each of their own: where it matters, the request names
    what was chosen for them.
    """
    request = replace(as_request(target), split=False)
    if len(request.gpus) > _NAMED:
        request = replace(request, gpus=(), cc=target.cc)
    named = replace(target, split=False, request=request)
    if not target.beside:
        return named
    plan = plan_one(table, named)
    again = plan_one(table, resolve(request, None, table.matrices))
    if _made(plan) == _made(again):
        return named
    return replace(named, request=_pinned(request, plan))


def _made(plan: Plan) -> tuple[object, ...]:
    """What an image is made of."""
    return plan.cuda, plan.image, plan.layout, plan.gencode, plan.env, plan.torch, plan.packages


def _pinned(request: Request, plan: Plan) -> Request:
    torch = plan.torch
    return replace(
        request,
        cuda=plan.cuda,
        toolkit_source=plan.toolkit_source,
        base_os=plan.image.os if plan.where == "image" and plan.platform != "jetson-l4t" else None,
        packages=tuple(
            replace(wish, range=f"=={torch.version}") if torch and wish.name == "torch" else wish
            for wish in request.packages
        ),
    )
