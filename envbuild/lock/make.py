"""Lock a plan: every byte that its build takes from outside, by version and hash."""

from envbuild import __version__
from envbuild.certify import probes
from envbuild.engines.base import Engine
from envbuild.errors import MachineError, StaleError
from envbuild.io import oci
from envbuild.io.http import GoneError
from envbuild.io.net import Net
from envbuild.lock.apt import Closure, closure
from envbuild.lock.base import lock_base
from envbuild.lock.parts import lock_parts
from envbuild.lock.recipe import offered, recipe
from envbuild.lock.seal import broken, sealed
from envbuild.lock.wheels import lock_wheels
from envbuild.render import templates
from envbuild.render.view import PLATFORMS, supported
from envbuild.values.codec import Pairs, digest, replace
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
    made = Lock(
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
    return sealed(made)


def _addresses(plan: Plan, wheels: tuple[Wheel, ...]) -> Pairs:
    """Where the framework's index lives, if a wheel came from it; as the plan has it, no mirror."""
    torch = plan.torch
    if torch is None or not torch.index_url or all(w.index != torch.index for w in wheels):
        return Pairs()
    return Pairs({torch.index: torch.index_url})


def stale(made: Lock, plan: Plan) -> tuple[str, ...]:
    """Why a lock no longer speaks for this plan and this release; empty = it does."""
    return *broken(made), *(
        reason
        for reason, differs in (
            (_other_plan(made, plan), made.plan != digest(plan)),
            ("it is for another platform", made.platform != PLATFORMS.get(plan.arch)),
            ("the templates have changed", made.templates != templates.hashes()),
            ("the probes have changed", made.probes != probes.hashes()),
        )
        if differs
    )


def _other_plan(made: Lock, plan: Plan) -> str:
    """Which of the two that a plan is made of have changed: the request, the matrices."""
    old, new = made.matrix, plan.matrix
    if old == new:
        return "it was made for another plan"
    dates = f"from the matrices of {old.date}, and the plan is from those of {new.date}"
    if old.date == new.date:
        dates = f"from other matrices of {old.date} ({old.digest[7:19]}, now {new.digest[7:19]})"
    same = made.plan == digest(replace(plan, matrix=old))
    what = "the plan is another in nothing else" if same else "it was made for another plan"
    return f"it was made {dates}; {what}"


def outdated(made: Lock) -> tuple[str, ...]:
    """That a lock, and the plan file it fits, know less than this release; it can be built."""
    from envbuild.matrix.load import load

    today = load()
    if (made.matrix.date, made.matrix.digest) == (today.date, today.digest):
        return ()
    said = f"the lock and its plan are from matrices of {made.matrix.date}"
    return (f"{said}, and this release's are of {today.date}: envbuild plan says what changes",)


def there(made: Lock, net: Net) -> tuple[str, ...]:
    """Ask the registry for the locked bases; no byte of them is fetched.

    Returns:
        What cannot be said, since a registry does not answer.

    Raises:
        GoneError: a base is gone; the fix is the command that rebuilds it, where there is one.
    """
    unknown = []
    for base in dict.fromkeys(one for one in (made.base, made.runtime) if one):
        ref = f"{base.ref}@{base.digest}"
        try:
            with offered(made.recipe if base == made.base else None):
                oci.resolve(ref, base.platform, net)
        except GoneError:
            raise
        except MachineError as e:
            unknown.append(f"whether {ref} is still there is not known: {e.what}")
    return tuple(unknown)


def check(made: Lock, plan: Plan, name: str) -> None:
    """Hold a lock against a plan; nothing is resolved again.

    Raises:
        StaleError: it does not fit.
    """
    if reasons := stale(made, plan):
        what = f"{name} is stale: {'; '.join(reasons)}"
        raise StaleError(what, fix=f"make it again: envbuild lock -o {name}")
