"""Render a plan and its lock into a directory that builds without envbuild."""

import functools
import hashlib

from envbuild.render import quote, templates
from envbuild.render.view import PLATFORMS, View, view
from envbuild.values.codec import dump
from envbuild.values.image import BuildContext, File
from envbuild.values.lock import AptPackage, Lock
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
    lists = _requirements(plan, lock)
    mark = functools.partial(_mark, lists)
    files = lists | {
        path: templates.fill(template, v=seen, plan=plan, mark=mark)
        for path, template in templates.CONTEXT
    }
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


def _mark(lists: dict[str, bytes], *names: str) -> str:
    """Short hash of the lists that a step reads: some engines know a cached step by its text."""
    data = b"".join(lists.get(name, b"") for name in names)
    return hashlib.sha256(data).hexdigest()[:16]


def _requirements(plan: Plan, lock: Lock | None) -> dict[str, bytes]:
    """The lists that apt, pip and the unpacking read; with a lock exact, else as wished."""
    lists = _system(plan, lock) | _toolkit(plan, lock) | _python(plan, lock)
    found = {path: "".join(f"{line}\n" for line in lines) for path, lines in lists.items()}
    if plan.layout.archive and plan.layout.archive.kind != "apt":
        found["unpack.py"] = templates.unpack_source()
    return {path: text.encode() for path, text in found.items()}


def _system(plan: Plan, lock: Lock | None) -> dict[str, list[str]]:
    """What is installed from the distribution's own archive."""
    if lock is None:
        return {"apt.lock": [quote.package(name) for name in plan.apt]} if plan.apt else {}
    own = [package for package in lock.apt if not package.archive]
    lists = {"apt.lock": _pinned(own)} if plan.apt else {}
    hashed = [package for package in own if package.sha256]
    return lists | ({"apt.sha256": [_hashed(package) for package in hashed]} if hashed else {})


def _toolkit(plan: Plan, lock: Lock | None) -> dict[str, list[str]]:
    """What is fetched from the toolkit's own archive."""
    where = plan.layout.archive
    if where is None or lock is None:
        return {}
    if where.kind == "apt":
        theirs = [package for package in lock.apt if package.archive]
        return {
            "toolkit.lock": _pinned(theirs),
            "toolkit.sha256": [_hashed(package) for package in theirs],
        }
    rows = [f"{quote.sha256(part.sha256)} {quote.path(part.path)}" for part in lock.parts]
    return {"toolkit.lock": rows}


def _python(plan: Plan, lock: Lock | None) -> dict[str, list[str]]:
    """What pip installs."""
    if not plan.packages:
        return {}
    index = plan.torch.index_url if plan.torch else None
    head = [f"--extra-index-url {quote.url(index)}"] if index else []
    if lock is None:
        return {"requirements.txt": head + [quote.requirement(p) for p in plan.packages]}
    pins = [f"{w.name}=={quote.version(w.version)}" for w in lock.wheels]
    hashed = [
        f"{quote.requirement(pin)} --hash=sha256:{quote.version(wheel.sha256)}"
        for pin, wheel in zip(pins, lock.wheels, strict=True)
    ]
    return {"requirements.txt": head + hashed, "constraints.txt": pins}


def _pinned(packages: list[AptPackage]) -> list[str]:
    return [f"{quote.package(p.name)}={quote.version(p.version)}" for p in packages]


def _hashed(package: AptPackage) -> str:
    """A line for sha256sum: the package's file under the name that apt's cache gives it."""
    version = quote.version(package.version).replace(":", "%3a")
    file = f"{quote.package(package.name)}_{version}_{quote.package(package.arch)}.deb"
    return f"{quote.sha256(package.sha256)}  /var/cache/apt/archives/{file}"
