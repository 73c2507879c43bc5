"""Bit for bit: an image as an archive with every time pinned, built twice and compared."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from envbuild.build import by
from envbuild.compare import differences
from envbuild.engines import staging
from envbuild.engines.base import Engine
from envbuild.engines.buildkit import Export
from envbuild.engines.docker import DockerEngine
from envbuild.errors import BuildError, MachineError, StaleError
from envbuild.io import ociarchive
from envbuild.io.net import Net
from envbuild.io.ociarchive import Archive
from envbuild.io.workspace import Workspace
from envbuild.lock.recipe import rebuilding
from envbuild.values.codec import replace
from envbuild.values.finding import Step
from envbuild.values.image import BuildContext, File
from envbuild.values.reproduction import Reproduction

_FOLDER = "archives"
_NEEDED = (
    "docker 26 or newer with buildx and containerd's image store "
    '("features": {"containerd-snapshotter": true} in daemon.json): '
    "its BuildKit writes OCI archives and has rewrite-timestamp (0.13 and newer)"
)
# What `probe` builds: one file, younger than the time that its layer may name.
_PROBE = BuildContext(
    files=(File(path="Dockerfile", data=b"FROM scratch\nCOPY Dockerfile /\n"),), platform=""
)


def capable(engine: Engine) -> DockerEngine:
    """The engine, once a build of one file has shown that it pins times; seconds are all it takes.

    Raises:
        MachineError: it cannot; the text says what can.
    """
    maker = _docker(engine)
    facts = maker.probe()
    what = f"docker {facts.version or ''} here cannot build bit for bit"
    if facts.answers and facts.buildkit == "DOCKER_BUILDKIT":
        why = "its client holds an older BuildKit, and there is no buildx"
        raise MachineError(what, why=why, fix=f"it takes {_NEEDED}")
    with tempfile.TemporaryDirectory(prefix="envbuild-") as folder:
        try:
            made = export(maker, _PROBE, Net(), Path(folder) / "probe.tar", epoch_=1)
        except BuildError as e:
            raise MachineError(what, why=e.why or e.what, fix=f"it takes {_NEEDED}") from e
        if made.created != "1970-01-01T00:00:01Z" or ociarchive.latest(made) > 1:
            why = "its BuildKit leaves times as they are"
            raise MachineError(what, why=why, fix=f"it takes {_NEEDED}")
    return maker


def _docker(engine: Engine) -> DockerEngine:
    if isinstance(engine, DockerEngine):
        return engine
    what = f"the engine {engine.name} cannot build bit for bit"
    raise MachineError(what, fix=f"--engine docker; it takes {_NEEDED}")


def export(
    engine: DockerEngine,
    context: BuildContext,
    net: Net,
    file: Path,
    *,
    target: str = "",
    fresh: bool = False,
    epoch_: int | None = None,
) -> Archive:
    """Build one stage into an OCI archive, and read it again.

    Only a build that ended well *and* said what it wrote is taken: a full store leaves a whole
    archive with other bytes in it (seen with BuildKit 0.25).

    Args:
        engine: from `capable`.
        context: what to build.
        net: this network.
        file: the archive; it is gone again where this fails.
        target: the stage.
        fresh: no step is taken from the cache.
        epoch_: another time than the context's, seconds.

    Raises:
        MachineError, BuildError, StaleError: see `Engine.build`.
    """
    at = staging.epoch(context) if epoch_ is None else epoch_
    try:
        with rebuilding(staging.file_of(context, "envbuild.lock"), net):
            said = engine.export(context, net, target, Export(file, at, fresh))
        made = ociarchive.read(file)
        if made.manifest != said:
            what = f"BuildKit says that it wrote {said}, and the archive holds {made.manifest}"
            fix = "free some space (docker builder prune), then run it again"
            raise MachineError(what, fix=fix)
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    return made


class Wanted(NamedTuple):
    """What to make of a context.

    Attributes:
        context: what to build.
        tag: name of the image.
        target: the stage, empty = the last one.
        twice: build without a cache, twice, and compare; else once, with what is cached.
        against: an archive of an earlier build, of any engine, in the first one's place.
        keep: where the archive goes, None = nowhere.
    """

    context: BuildContext
    tag: str
    target: str = ""
    twice: bool = True
    against: Path | None = None
    keep: Path | None = None


def reproduced(
    space: Workspace,
    wanted: Wanted,
    net: Net,
    engine: Engine,
    say: Callable[[str], None] = lambda _: None,
) -> Reproduction:
    """Build as it is wanted; an image that is the same each time is loaded, named and recorded.

    Args:
        space: held by the caller; the archives lie in it while they are needed.
        wanted: what to build, and what to compare.
        net: this network.
        engine: must be able to (`capable`).
        say: gets a line for each build.

    Raises:
        InputError: what to compare with is no archive.
        MachineError, BuildError, StaleError: see `Engine.build`.
    """
    context, tag, target, twice, against, keep = wanted
    earlier = ociarchive.read(against) if against else None
    maker = capable(engine)
    with _folder(space) as folder:
        say("build     into an archive" + (", without a cache" if twice else ""))
        made = export(maker, context, net, folder / "1.tar", target=target, fresh=twice)
        if twice and earlier is None:
            say("build     again")
            earlier, file = made, folder / "2.tar"
            made = export(maker, context, net, file, target=target, fresh=True)
        found = _judged(earlier or made, made, wanted, maker)
        if found.verdict == "different":
            return found
        space.save("image.json", by(maker, maker.load(made.path, made.manifest, tag)))
        if keep is None:
            return found
        _move(made.path, keep)
    return replace(found, archive=str(keep))


def steps(wanted: Wanted, net: Net, engine: Engine) -> tuple[Step, ...]:
    """The commands of `reproduced`; nothing is done, and the engine is not tried.

    Raises:
        MachineError: it is no docker.
    """
    maker = _docker(engine)
    context, tag, target, twice, against, _ = wanted
    folder = Path(".envbuild") / _FOLDER
    found: list[Step] = []
    for name in ("1.tar", "2.tar") if twice and against is None else ("1.tar",):
        order = Export(folder / name, staging.epoch(context), twice)
        one = maker.build_steps(context, "", net, target, order)
        found += one if not found else one[-1:]
    load = Step(
        why=f"once both have one manifest digest: the image, as {tag}",
        argv=(str(maker.probe().cli), "load", "--input", str(folder / name)),
    )
    return (*found, load)


def _judged(first: Archive, second: Archive, wanted: Wanted, maker: DockerEngine) -> Reproduction:
    """One manifest digest; of an archive of another engine version, the same unpacked layers."""
    ids = tuple(layer.diff_id for layer in first.layers)
    verdict: Literal["equal", "unpacked", "different"] = "different"
    if first.manifest == second.manifest:
        verdict = "equal"
    elif wanted.against and ids == tuple(layer.diff_id for layer in second.layers):
        verdict = "unpacked"
    facts = maker.probe()
    return Reproduction(
        verdict=verdict,
        builds=2 if wanted.twice else 1,
        ref=wanted.tag,
        manifest=first.manifest,
        config=first.config,
        other=second.manifest,
        platform=first.platform,
        diff_ids=ids,
        epoch=staging.epoch(wanted.context),
        engine=f"docker {facts.version or ''}".strip(),
        differences=() if verdict == "equal" else differences(first, second),
    )


def _move(file: Path, target: Path) -> None:
    """Move a finished archive; on another disk it is copied first, so that it is whole or absent.

    Raises:
        MachineError: no room, or no right to write.
    """
    part = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, part)
        part.replace(target)
    except OSError as e:
        part.unlink(missing_ok=True)
        what = f"{target} cannot be written: {e.strerror or e}"
        raise MachineError(what, fix="free some space, or choose another place") from e


@contextlib.contextmanager
def _folder(space: Workspace) -> Iterator[Path]:
    """An empty folder beside the rest, on the user's disk: archives are big for a TMPDIR."""
    folder = space.path(_FOLDER)
    shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def refusal(found: Reproduction) -> StaleError:
    """The error of two builds that differ."""
    layers = len({one.layer for one in found.differences})
    what = f"two builds differ: {found.manifest[:19]} and {found.other[:19]}"
    why = f"{len(found.differences)} files (or other parts) in {layers} layers, shown above"
    fix = "make the steps named above write the same bytes each time; envbuild lock pins the rest"
    return StaleError(what, why=why, fix=fix)
