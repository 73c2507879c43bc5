"""Lock a plan: every byte that its build takes from outside, by version and hash."""

from envbuild import __version__
from envbuild.certify import probes
from envbuild.engines.base import Engine
from envbuild.errors import StaleError
from envbuild.io.net import Net
from envbuild.lock.apt import Closure, closure
from envbuild.lock.base import lock_base
from envbuild.lock.parts import lock_parts
from envbuild.lock.recipe import offered, recipe
from envbuild.lock.wheels import lock_wheels
from envbuild.render import templates
from envbuild.render.view import PLATFORMS, supported
from envbuild.values.codec import Pairs, digest
from envbuild.values.lock import Lock, Wheel
from envbuild.values.plan import Plan


def lock(plan: Plan, net: Net, engine: Engine | None = None) -> Lock:
    """Ask registry, archive and index once, and write down what they have today.

    The local engine has no base image: its lock holds the wheels alone.

    Args:
        plan: what is to be built.
        net: mirrors, CA; nothing of it is in the lock.
        engine: runs apt in the base, where the plan installs packages.

    Raises:
        NoPlanError: the plan is refused, its source is not rendered, or its wheels contradict.
        MachineError: registry, archive or index do not answer or lack something.
        StaleError: a registry sent other bytes than it named.
    """
    ref = supported(plan)
    platform = PLATFORMS[plan.arch]
    local = engine is not None and engine.name == "local"
    way_back = recipe(plan)
    with offered(way_back):
        base = None if local else lock_base(ref, platform, net)
    runtime = plan.image.runtime_ref
    wheels = lock_wheels(plan, net) if plan.packages else ()
    found = Closure((), ())
    if base and plan.apt:
        found = closure(plan, f"{base.ref}@{base.digest}", platform, net, engine)
    return Lock(
        tool=__version__,
        plan=digest(plan),
        matrix=plan.matrix,
        platform=platform,
        base=base,
        runtime=lock_base(runtime, platform, net) if base and runtime else None,
        python=plan.python if plan.packages else None,
        apt_index=found.lines,
        apt=found.packages,
        snapshot=found.snapshot,
        wheels=wheels,
        key=found.key,
        parts=lock_parts(plan, net),
        index_urls=_addresses(plan, wheels),
        recipe=way_back,
        templates=templates.hashes(),
        probes=probes.hashes(),
    )


def _addresses(plan: Plan, wheels: tuple[Wheel, ...]) -> Pairs:
    """Where the framework's index lives, if a wheel came from it; as the plan has it, no mirror."""
    torch = plan.torch
    if torch is None or not torch.index_url or all(w.index != torch.index for w in wheels):
        return Pairs()
    return Pairs({torch.index: torch.index_url})


def stale(made: Lock, plan: Plan) -> tuple[str, ...]:
    """Why a lock no longer speaks for this plan and this release; empty = it does."""
    return tuple(
        reason
        for reason, differs in (
            ("it was made for another plan", made.plan != digest(plan)),
            ("it is for another platform", made.platform != PLATFORMS.get(plan.arch)),
            ("the templates have changed", made.templates != templates.hashes()),
            ("the probes have changed", made.probes != probes.hashes()),
        )
        if differs
    )


def check(made: Lock, plan: Plan, name: str) -> None:
    """Hold a lock against a plan; nothing is resolved again.

    Raises:
        StaleError: it does not fit.
    """
    if reasons := stale(made, plan):
        what = f"{name} is stale: {'; '.join(reasons)}"
        raise StaleError(what, fix=f"make it again: envbuild lock -o {name}")
