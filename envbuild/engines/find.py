"""Which engine to use: the one that is named, else the first that answers, else this machine."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from envbuild.engines import names
from envbuild.engines.base import Engine
from envbuild.engines.common import show_progress
from envbuild.errors import InputError, MachineError
from envbuild.values.host import EngineFacts

NAMES = ("docker", "podman", "apptainer", "local")


class Found(NamedTuple):
    """An engine, what it said of itself, and why it was chosen, one line."""

    engine: Engine
    facts: EngineFacts
    why: str


def find(
    name: str | None = None,
    *,
    need_build: bool = False,
    progress: Callable[[str], None] = show_progress,
) -> Found:
    """Choose an engine.

    Args:
        name: one of `NAMES`; None = choose. DOCKER_HOST names docker as well.
        need_build: it must be able to build; a docker without BuildKit is then passed over.
        progress: gets each line of the engine's own progress.

    Raises:
        InputError: no engine has this name.
        MachineError: the engine that was named does not answer, or cannot build.
    """
    named = name or ("docker" if os.environ.get("DOCKER_HOST") else None)
    if named and named not in NAMES:
        what = f"there is no engine {named!r}"
        raise InputError(what, fix=f"one of {', '.join(NAMES)}")
    passed: list[str] = []
    for candidate in (named,) if named else NAMES:
        found = make(candidate, progress)
        facts = found.probe()
        why = _refusal(facts, need_build=need_build)
        if not why:
            by = f"asked for {named}" if named else "; ".join(passed) or "the first that answers"
            return Found(found, facts, f"{_label(facts)} ({by})")
        passed.append(f"{candidate}: {why}")
    what = f"no engine can {'build' if need_build else 'run'} here"
    raise MachineError(
        what,
        why="; ".join(passed),
        fix="start it, set DOCKER_HOST, or choose another: --engine " + "|".join(NAMES),
    )


def holding(ref: str, name: str | None = None) -> Found:
    """The engine that has an image, else the one that would fetch it.

    Args:
        ref: reference of an image, an OCI archive, or the absolute path of a local prefix.
        name: the engine to use whatever it has.

    Raises:
        InputError: it can only be a file, and one that no engine takes.
        MachineError: no engine answers.
    """
    names.refuse_file(ref)
    if names.archive(ref):
        found = find(name or "apptainer")
        return found if name else found._replace(why=f"{_label(found.facts)} (it runs archives)")
    if Path(ref).is_absolute():
        return find(name or "local")
    first = find(name)
    if name or first.engine.inspect(ref) is not None:
        return first
    for candidate in NAMES[:-1]:
        other = make(candidate)
        facts = other.probe()
        if facts.answers and other.inspect(ref) is not None:
            return Found(other, facts, f"{_label(facts)} (it has {ref})")
    return first


def engine(name: str | None = None, *, need_build: bool = False) -> Engine:
    """The engine of `find`."""
    return find(name, need_build=need_build).engine


def make(name: str, progress: Callable[[str], None] = show_progress) -> Engine:
    """The engine of this name, asked nothing yet."""
    if name == "docker":
        from envbuild.engines.docker import DockerEngine

        return DockerEngine(progress)
    if name == "podman":
        from envbuild.engines.podman import PodmanEngine

        return PodmanEngine(progress)
    if name == "apptainer":
        from envbuild.engines.apptainer import ApptainerEngine

        return ApptainerEngine(progress)
    from envbuild.engines.local import LocalEngine

    return LocalEngine(progress=progress)


def _refusal(facts: EngineFacts, *, need_build: bool) -> str:
    if not facts.answers:
        return facts.says or "does not answer"
    if need_build and facts.name == "docker" and not facts.buildkit:
        return "no client here can reach BuildKit (docker-buildx is missing)"
    if need_build and facts.name == "apptainer":
        return "it builds no Dockerfile, and runs the archives of envbuild build -o FILE"
    return ""


def _label(facts: EngineFacts) -> str:
    return " ".join(filter(None, (facts.name, facts.version)))
