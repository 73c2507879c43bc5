"""What to know of the container engine of this machine, and of the toolkit behind it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envbuild.host.access import Containers, gpu_flags, is_snap, knows_no_cdi, lack, taken
from envbuild.planner.access import ways
from envbuild.planner.holes import has, least
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step

if TYPE_CHECKING:
    from envbuild.matrix.model.reference import Reference
    from envbuild.values.host import EngineFacts


def no_access(chosen: Chosen) -> Iterator[Finding]:
    """No container of this machine can get a GPU yet: what is missing, and how to get it."""
    here = chosen.target.containers
    if here is None or chosen.target.on_host or not (missing := lack(here)):
        return
    from envbuild.advice.fixes import cdi, container, features

    rows = _reference()
    row = container.packages(rows, here)
    guide = features.feature(rows, "nvidia-container-toolkit", "install")
    if here.platform == "windows":
        guide, row = features.feature(rows, "docker-desktop", "gpu"), None
    source = cite(row, row.manager) if row else cite(guide, f"{guide.engine}-{guide.feature}")
    if here.inside is not None and missing in {"engine", "answer"}:
        says = f"this machine is itself a container ({here.inside}) in which no engine answers"
        why = "envbuild up builds and runs without one here; the flags are for other machines"
        yield note("container-engine", "info", says, source, why)
        return
    access = chosen.target.access
    engine = _engine(here)
    access = "cdi" if access == "native" else access
    podman = engine is not None and engine.name == "podman" and access == "cdi"
    flags = " ".join(gpu_flags("podman" if podman else "docker", access))
    first = ", once a driver holds the GPU" if _undriven(chosen) else ""
    why = f"after these steps {flags} works{first}"
    if here.remote:
        why = "what it gives shows there"
    able = (e for e in here.engines if e.name == "podman" and e.answers and e.access)
    if any(not knows_no_cdi(e) and cdi.unread(rows, e, here.cdi) is None for e in able):
        why += "; podman gives one now: --engine podman"
    found = note("container-access", "warn", _missing(here, missing), source, why)
    yield replace(found, steps=container.steps(rows, here))


def _undriven(chosen: Chosen) -> bool:
    return chosen.target.driver is None and not chosen.target.platform.startswith("jetson")


def _engine(here: Containers) -> "EngineFacts | None":
    """The engine that is used, else one that would be if it answered."""
    silent = (e for e in here.engines if not e.answers)
    return next(iter((*taken(here), *silent)), None)


def _missing(here: Containers, missing: str) -> str:
    engine = _engine(here)
    if engine is None:
        return "no container engine is installed here, neither docker nor podman"
    name = " ".join(filter(None, (engine.name, engine.version)))
    if here.remote:
        no = "does not answer" if missing == "answer" else "offers its containers no GPU"
        return f"{name} is asked over {here.remote}, and {no}"
    if missing == "answer":
        return f"{engine.name} is installed here and does not answer: {engine.says or 'no word'}"
    if is_snap(engine):
        return f"{name} is a snap, and offers its containers no GPU"
    if here.platform == "windows":
        return f"{name} offers its containers no GPU"
    if missing == "toolkit":
        return f"{name} offers its containers no GPU: the container toolkit is not installed"
    if knows_no_cdi(engine):
        return f"{name} offers its containers no GPU: it is older than CDI"
    lacks = "finds no CDI specification" if engine.name == "podman" else "was not told of it"
    return f"{name} offers its containers no GPU: the container toolkit is there, {name} {lacks}"


def rootless(chosen: Chosen) -> Iterator[Finding]:
    """Docker without root: the hook may set no cgroups; with CDI nobody needs to."""
    here, target = chosen.target.containers, chosen.target
    if here is None or target.on_host or lack(here):
        return
    docker = [e for e in taken(here) if e.name == "docker"]
    if not docker or not all(e.rootless for e in docker):
        return
    from envbuild.advice.fixes import container, features

    rows = _reference()
    if target.access == "cdi":
        row, version = features.feature(rows, "docker", "cdi-rootless"), target.docker
        if version is not None and row.since and numbers(version) < numbers(row.since):
            says = f"docker {version} runs without root here: from {row.since} on, {row.says}"
            yield note("docker-rootless", "warn", says, cite(row, f"{row.engine}-{row.feature}"))
    elif any(way.mode == "legacy" for way in ways(chosen.table, target)):
        row = features.feature(rows, "nvidia-container-toolkit", "no-cgroups")
        says = (
            "docker runs without root here, where the hook that brings the GPU in may set no "
            "cgroups: it works with no-cgroups = true alone, which was not looked at"
        )
        found = note("docker-rootless", "warn", says, cite(row, f"{row.engine}-{row.feature}"))
        yield replace(found, steps=(container.no_cgroups(),))


def snap(chosen: Chosen) -> Iterator[Finding]:
    """Docker as a snap: a container toolkit of its own, which another one beside it breaks."""
    here = chosen.target.containers
    if here is None or chosen.target.on_host or not any(map(is_snap, taken(here))):
        return
    from envbuild.advice.fixes import container, features

    rows = _reference()
    own = features.feature(rows, "docker-snap", "own-toolkit")
    beside = features.feature(rows, "docker-snap", "toolkit-of-the-system")
    source = cite(own, f"{own.engine}-{own.feature}")
    yield note("docker-snap", "info", own.says, source, "it sees files below $HOME alone")
    version = features.release(taken(here)[0])
    old = version is None or beside.since is None or numbers(version) < numbers(beside.since)
    row = container.packages(rows, here)
    if here.toolkit is None or old or row is None or row.manager != "apt":
        return
    step = Step(
        why="the snap brings its own; podman and other engines of this machine lose theirs",
        argv=("sudo", "apt-get", "remove", "-y", *row.packages),
        check="docker run --rm --runtime=nvidia ubuntu nvidia-smi -L, after a restart",
    )
    says = f"docker {version} is a snap: {beside.says}"
    found = note(
        "docker-snap-toolkit", "warn", says, cite(beside, f"{beside.engine}-{beside.feature}")
    )
    yield replace(found, steps=(step,))


def holes(chosen: Chosen) -> Iterator[Finding]:
    """A container toolkit with published holes runs an image that is built here."""
    version, here, target = chosen.target.container_toolkit, chosen.target.containers, chosen.target
    own = here is not None and (any(map(is_snap, taken(here))) or bool(here.remote))
    if version is None or target.on_host or own:
        return
    modes = {way.mode == "cdi" for way in ways(chosen.table, target)}
    found = [
        h for h in chosen.table.matrices.holes if any(has(h, version, cdi=cdi) for cdi in modes)
    ]
    if not found:
        return
    fixed = least(found)
    says = (
        f"container toolkit {version} has published holes ({', '.join(h.cve for h in found)}): "
        f"{found[0].says}; {fixed} has none of them: update before an image that you do not trust "
        "gets a GPU"
    )
    told = note("container-toolkit-old", "watch", says, cite(found[0], found[0].cve))
    if target.l4t is not None and target.l4t.startswith("32"):
        why = "JetPack 4 gets no newer one: start only images that you trust"
        yield replace(told, why=why)
    elif here is not None:
        from envbuild.advice.fixes import container

        yield replace(told, steps=container.update(_reference(), here, fixed))
    else:
        yield told


def _reference() -> "Reference":
    # No plan of a declared card, and none for a machine that lacks nothing, reads these rows.
    from envbuild.matrix.load import load_reference

    return load_reference()
