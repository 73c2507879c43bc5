"""Render a plan and its lock into a directory that builds without envbuild."""

from envbuild.render import quote, templates
from envbuild.render.view import PLATFORMS, View, view
from envbuild.values.codec import dump
from envbuild.values.image import BuildContext, File
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan


def render(plan: Plan, lock: Lock | None) -> BuildContext:
    """The build context of a plan; equal input gives equal bytes.

    Args:
        plan: what to build; its ``where`` is image.
        lock: what to build it from, None = tags and versions as they are on the day.

    Raises:
        NoPlanError: the plan is refused, or its toolkit source is not rendered.
        InputError: the plan holds a text that no plan of ours holds.
    """
    from envbuild.lock.text import dump_lock

    seen = view(plan, lock)
    files = {
        path: templates.fill(template, v=seen, plan=plan) for path, template in templates.CONTEXT
    }
    files |= _requirements(plan, lock)
    files["plan.json"] = dump(plan)
    if lock is not None:
        files["envbuild.lock"] = dump_lock(lock)
    return BuildContext(
        files=tuple(File(path=path, data=files[path]) for path in sorted(files)),
        platform=PLATFORMS[plan.arch],
        base=seen.base,
        bases=_bases(seen),
        secrets=seen.secrets,
        apt_index=lock.apt_index if lock else (),
    )


def _bases(seen: View) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref for ref in (seen.base, seen.runtime) if ref))


def _requirements(plan: Plan, lock: Lock | None) -> dict[str, bytes]:
    """The lists that apt and pip read; with a lock exact, else as wished."""
    lists: dict[str, list[str]] = {}
    if plan.apt:
        lists["apt.lock"] = (
            [f"{quote.package(p.name)}={quote.version(p.version)}" for p in lock.apt]
            if lock
            else [quote.package(name) for name in plan.apt]
        )
    if plan.packages:
        index = plan.torch.index_url if plan.torch else None
        head = [f"--extra-index-url {quote.url(index)}"] if index else []
        if lock:
            pins = [f"{w.name}=={quote.version(w.version)}" for w in lock.wheels]
            hashed = [
                f"{quote.requirement(pin)} --hash=sha256:{quote.version(wheel.sha256)}"
                for pin, wheel in zip(pins, lock.wheels, strict=True)
            ]
            lists["requirements.txt"] = head + hashed
            lists["constraints.txt"] = pins
        else:
            lists["requirements.txt"] = head + [quote.requirement(p) for p in plan.packages]
    return {path: "".join(f"{line}\n" for line in lines).encode() for path, lines in lists.items()}
