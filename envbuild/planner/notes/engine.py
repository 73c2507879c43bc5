"""What the release of a container engine, or where it runs, means for a GPU in its containers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envbuild.host.access import lack, new_way, release, taken
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step

if TYPE_CHECKING:
    from envbuild.matrix.model.reference import EngineFeature, Reference
    from envbuild.values.host import EngineFacts

_GLIBC = "2.34"  # the first that starts threads by clone3, and takes a refusal for an error


def elsewhere(chosen: Chosen) -> Iterator[Finding]:
    """The docker that gives GPUs may run on another machine than the one that was looked at."""
    here = chosen.target.containers
    if here is None or chosen.target.on_host or not here.remote or lack(here):
        return
    from envbuild.advice.fixes import engines, features

    row = features.feature(_reference(), "docker", "remote")
    says = f"docker's server is asked over {here.remote}: {row.says}"
    found = note("docker-remote", "watch", says, _cite(row))
    yield replace(found, steps=(engines.elsewhere(here),))


def cdi_unread(chosen: Chosen) -> Iterator[Finding]:
    """The specifications here are of a form that the engine does not read."""
    here, target = chosen.target.containers, chosen.target
    engine = _giving(chosen)
    if here is None or engine is None or target.access != "cdi" or here.remote:
        return
    from envbuild.advice.fixes import cdi

    rows = _reference()
    row = cdi.unread(rows, engine, here.cdi)
    if row is None:
        return
    why = "it then knows none of its devices, whatever nvidia-ctk cdi list shows"
    if "gpus" in engine.access:
        why += "; until then: --gpus all"
    found = note("cdi-spec-version", "warn", cdi.told(row, engine, here.cdi), _cite(row), why)
    yield replace(found, steps=cdi.readable(rows, here, engine, row))


def gpus_by_cdi(chosen: Chosen) -> Iterator[Finding]:
    """A docker whose --gpus asks for CDI, where no specification names a GPU."""
    here, engine = chosen.target.containers, _giving(chosen)
    if here is None or engine is None or chosen.target.access != "gpus" or not new_way(engine):
        return
    from envbuild.advice.fixes import cdi, features

    rows = _reference()
    row = features.feature(rows, "docker", "gpus-through-cdi")
    says = f"docker {engine.version}: {row.says}"
    steps = () if here.remote else tuple(cdi.described(rows, here, engine))
    yield replace(note("docker-gpus-cdi", "warn", says, _cite(row)), steps=steps)


def old_seccomp(chosen: Chosen) -> Iterator[Finding]:
    """A docker from before clone3 starts no threads in an image of a newer system."""
    engine, place = _used(chosen), chosen.choice.place
    version = release(engine)
    if engine is None or engine.name != "docker" or version is None:
        return
    os = chosen.table.oses.get(place.os or "")
    if os is None or os.glibc is None or numbers(os.glibc) < numbers(_GLIBC):
        return
    # Few machines have one that old: the row is read for those alone.
    if numbers(version) >= (21,):
        return
    from envbuild.advice.fixes import features

    row = features.feature(_reference(), "docker", "clone3")
    if not features.below(version, row.since):
        return
    says = (
        f"docker {engine.version} may start no threads in {place.os} (glibc {os.glibc}): from "
        f"{row.since} on {row.says}"
    )
    older = [o.id for o in chosen.table.oses.values() if o.glibc and numbers(o.glibc) < (2, 34)]
    steps = (
        Step(
            why="see it: a program that starts a thread, in that system",
            argv=("docker", "run", "--rm", os.image or place.os or "", "sh", "-c",
                  "apt-get update || microdnf makecache"),
            check="it ends without an error: then this docker was mended, and nothing is to do",
        ),
        Step(
            why="else a docker that knows clone3",
            text=f"update docker to {row.since} or newer; or build on an older system, where one "
            f"has this toolkit: --base-os {'|'.join(older[:3])}",
            check="docker info --format '{{.ServerVersion}}'",
        ),
    )  # fmt: skip
    yield replace(note("docker-clone3", "warn", says, _cite(row), row.note), steps=steps)


def iptables_raw(chosen: Chosen) -> Iterator[Finding]:
    """A Jetson whose kernel lacks what its docker needs for a network."""
    here, engine = chosen.target.containers, _used(chosen)
    if here is None or engine is None or here.platform != "jetson":
        return
    from envbuild.advice.fixes import engines, features

    rows = _reference()
    if not engines.needs_raw(rows, release(engine)) or not engines.lacks_raw(rows, here):
        return
    row = features.feature(rows, "docker", "iptables-raw")
    mended = features.feature(rows, "l4t", "iptables-raw")
    says = f"docker {engine.version} {row.says}; the kernel of L4T {here.l4t} does not have it"
    steps = tuple(engines.engine(rows, here))
    why = f"{mended.since} is the first L4T with it"
    yield replace(note("docker-iptables-raw", "warn", says, _cite(row), why), steps=steps)


def _used(chosen: Chosen) -> "EngineFacts | None":
    """The engine that is used here, for a plan of containers."""
    here = chosen.target.containers
    if here is None or chosen.target.on_host:
        return None
    return next(iter(taken(here)), None)


def _giving(chosen: Chosen) -> "EngineFacts | None":
    """The same, where it gives a GPU."""
    here = chosen.target.containers
    return _used(chosen) if here is not None and not lack(here) else None


def _cite(row: "EngineFeature") -> str:
    return cite(row, f"{row.engine}-{row.feature}")


def _reference() -> "Reference":
    # No plan of a declared card, and none for a machine that lacks nothing, reads these rows.
    from envbuild.matrix.load import load_reference

    return load_reference()
