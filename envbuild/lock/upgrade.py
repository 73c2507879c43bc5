"""A lock made anew, whole or one entry of it, and what that changes."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from envbuild.engines.base import Engine
from envbuild.errors import InputError, StaleError
from envbuild.io.net import Net
from envbuild.lock.apt import Closure, closure
from envbuild.lock.base import lock_base
from envbuild.lock.make import lock
from envbuild.lock.parts import lock_parts
from envbuild.lock.seal import sealed, whole
from envbuild.lock.wheels import lock_wheels
from envbuild.values.codec import digest, replace
from envbuild.values.lock import Lock, LockedBase
from envbuild.values.plan import Plan

_BASE = "base"


class Change(NamedTuple):
    """One entry that is another now; ``old`` or ``new`` is empty where there is none."""

    kind: str
    name: str
    old: str
    new: str
    why: str


def upgrade(
    old: Lock, plan: Plan, net: Net, engine: Engine | None = None, name: str | None = None
) -> Lock:
    """The lock as it would be made today.

    Args:
        old: the lock that is there.
        plan: what is to be built.
        net: mirrors, CA.
        engine: runs apt in the base.
        name: the one entry to make anew: ``base``, a package, a wheel or a part of the toolkit;
            all others keep their versions. None = everything.

    Raises:
        InputError: the lock has no such entry.
        StaleError: one entry is asked for, and the lock is of another plan, or was edited.
        NoPlanError, MachineError: as `make.lock`; also where the others cannot keep their versions.
    """
    if name is None:
        return lock(plan, net, engine)
    whole(old, "the lock")
    if old.plan != digest(plan):
        what = f"the lock is of another plan, and {name} alone cannot follow it"
        raise StaleError(what, fix="upgrade all of it: envbuild lock --upgrade")
    return sealed(_one(old, plan, net, engine, name))


def _one(old: Lock, plan: Plan, net: Net, engine: Engine | None, name: str) -> Lock:
    """One entry made anew; the rest as it is."""
    wheels = {wheel.name for wheel in old.wheels}
    packages = {package.name for package in old.apt}
    parts = {part.name for part in old.parts}
    if old.base and name in {_BASE, old.base.ref}:
        return _rebased(old, plan, net, engine)
    if name in wheels:
        kept = [wheel for wheel in old.wheels if wheel.name != name]
        return replace(old, wheels=lock_wheels(plan, net, kept))
    if name in packages and old.base:
        rest = [package for package in old.apt if package.name != name]
        base = f"{old.base.ref}@{old.base.digest}"
        found = closure(plan, base, old.platform, net, engine, kept=rest)
        return replace(old, **_installed(found))
    if name in parts:
        # They are of one release, and the planned one: one alone is never another.
        return replace(old, parts=lock_parts(plan, net))
    raise _unknown(name, {_BASE, *wheels, *packages, *parts})


def _rebased(old: Lock, plan: Plan, net: Net, engine: Engine | None) -> Lock:
    """On today's base, with the packages that lie on it; wheels and parts stay."""
    assert old.base is not None  # noqa: S101 (the caller asked)
    base = lock_base(old.base.ref, old.platform, net)
    runtime = old.runtime and lock_base(old.runtime.ref, old.platform, net)
    if not plan.apt:
        return replace(old, base=base, runtime=runtime)
    found = closure(plan, f"{base.ref}@{base.digest}", old.platform, net, engine)
    return replace(
        old,
        base=base,
        runtime=runtime,
        **_installed(found),
    )


def _installed(found: Closure) -> dict[str, Any]:
    """A closure as a lock has it."""
    return {
        "apt": found.packages,
        "apt_index": found.lines,
        "snapshot": found.snapshot,
        "key": found.key,
    }


def _unknown(name: str, known: Iterable[str]) -> InputError:
    near = difflib.get_close_matches(name, sorted(known), 3)
    what = f"the lock has no entry {name!r}"
    return InputError(what, fix=f"did you mean {', '.join(near)}?" if near else "name one it has")


def changes(old: Lock, new: Lock) -> tuple[Change, ...]:
    """What is another in the new lock, and why; none = both are the same."""
    return tuple(_changes(old, new))


def _changes(old: Lock, new: Lock) -> Iterator[Change]:
    planned = old.plan != new.plan
    if planned:
        before, after = (f"{one.plan[7:19]} of {one.matrix.date}" for one in (old, new))
        yield Change("plan", "plan", before, after, "the request or the matrices have changed")
    if old.tool != new.tool:
        yield Change("tool", "envbuild", old.tool, new.tool, "this release made it")
    based = old.base != new.base
    for kind, why in (
        ("base", "its tag names another image today"),
        ("runtime", "its tag names another image today"),
        ("apt", "another base" if based else "the archive has another version"),
        ("wheels", "the index has another version"),
        ("parts", "the archive has another version"),
        ("templates", "this release brings another one"),
        ("probes", "this release brings another one"),
    ):
        cause = "the plan has changed" if planned and kind not in _RELEASED else why
        yield from _entries(kind, _versions(old, kind), _versions(new, kind), cause)
    yield from _bytes(old, new)


_RELEASED = frozenset({"templates", "probes"})  # what is envbuild's own


def _versions(lock: Lock, kind: str) -> dict[str, str]:
    """Each entry of a kind by its name: a version, or the digest where it has none."""
    value = getattr(lock, kind)
    if value is None or isinstance(value, LockedBase):
        return {value.ref: value.digest} if value else {}
    if kind in _RELEASED:
        return {name: sha256[:12] for name, sha256 in value}
    return {one.name: one.version for one in value}


def _entries(
    kind: str, old: Mapping[str, str], new: Mapping[str, str], why: str
) -> Iterator[Change]:
    for name in sorted({*old, *new}):
        before, after = old.get(name, ""), new.get(name, "")
        if before == after:
            continue
        moved = why if before and after else "no longer needed" if before else "needed now"
        yield Change(kind, name, before, after, moved)


def _bytes(old: Lock, new: Lock) -> Iterator[Change]:
    """The same version in other bytes: what no archive should ever do."""
    why = "THE SAME VERSION HAS OTHER BYTES: ask its source why, before you build"
    listed = (
        ("apt", old.apt, new.apt),
        ("wheels", old.wheels, new.wheels),
        ("parts", old.parts, new.parts),
    )
    for kind, mine, theirs in listed:
        known = {(one.name, one.version): one.sha256 for one in mine if one.sha256}
        for one in theirs:
            before = known.get((one.name, one.version), one.sha256)
            if one.sha256 and before != one.sha256:
                yield Change(kind, one.name, before[:12], one.sha256[:12], why)
