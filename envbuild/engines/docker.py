"""Docker: BuildKit through its command line for builds, the SDK for all else."""

import contextlib
import functools
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envbuild.engines import buildkit, common, containers, daemonproxy, fetch, names, owner, staging
from envbuild.engines.base import Mount, RunSpec
from envbuild.engines.failures import failure, not_run, refused
from envbuild.errors import EnvbuildError, MachineError
from envbuild.io import dockerconfig, proc
from envbuild.io.net import Net
from envbuild.io.workspace import private_folder
from envbuild.values.codec import Pairs
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts
from envbuild.values.image import BuildContext, Image

if TYPE_CHECKING:
    from docker import DockerClient


class DockerEngine:
    """A docker daemon.

    Args:
        progress: gets each line of the engine's own progress.
    """

    name = "docker"

    def __init__(self, progress: Callable[[str], None] = common.show_progress) -> None:
        self._progress = progress

    @functools.cached_property
    def _endpoint(self) -> str:
        """The daemon that the client speaks to."""
        return buildkit.endpoint(self._facts.cli)

    @functools.cached_property
    def _client(self) -> "DockerClient":
        import docker

        environment = {**os.environ, "DOCKER_HOST": self._endpoint}
        try:
            with self._asked():
                return docker.from_env(environment=environment)
        except (AttributeError, KeyError, TypeError, ValueError) as e:
            # The SDK takes the shape of docker's config on trust.
            what = f"docker's config cannot be used: {dockerconfig.folder()}/config.json"
            why = f"an entry of it is not what docker writes ({type(e).__name__})"
            raise MachineError(what, why=why, fix="mend or remove it") from e

    @contextlib.contextmanager
    def _asked(self, starting: str = "") -> Iterator[None]:
        """Turn what the SDK raises into an error of ours; it may be the ``starting`` image's."""
        import docker.errors
        import requests

        try:
            yield
        except docker.errors.APIError as e:
            text = str(e.explanation or e)
            why = not_run(self.name, starting, text) if starting else refused(self.name, text)
            raise why from e
        except (docker.errors.DockerException, requests.RequestException, OSError) as e:
            what = f"docker does not answer at {self._endpoint}"
            raise MachineError(
                what, why=str(e), fix="start the daemon, or set DOCKER_HOST; another: --engine"
            ) from e

    def _unreached(self, error: EnvbuildError) -> EnvbuildError:
        """An error of the daemon's, which may have to do with its proxy."""
        with contextlib.suppress(EnvbuildError), self._asked():
            return daemonproxy.told(error, self._client.info())
        return error

    @functools.cached_property
    def _facts(self) -> EngineFacts:
        return buildkit.probe() or EngineFacts(name=self.name, says="no docker client on PATH")

    def probe(self) -> EngineFacts:
        """The client that builds would use, and what its daemon says; never raises."""
        return self._facts

    def _builder(self) -> EngineFacts:
        if not self._facts.buildkit:
            seen = ", ".join(buildkit.clients()) or "none on PATH"
            what = "no docker client here can reach BuildKit"
            raise MachineError(
                what,
                why=f"neither buildx nor a client that holds BuildKit; clients: {seen}",
                fix="install docker's buildx plugin (docker-buildx), or use --engine podman",
            )
        return self._facts

    def _answers(self) -> None:
        with self._asked():
            self._client.ping()

    def inside(self, mount: Mount) -> str:
        """Where the container sees it."""
        return mount.target

    def build_steps(
        self,
        context: BuildContext,
        tag: str,
        net: Net,
        target: str = "",
        export: buildkit.Export | None = None,
    ) -> tuple[Step, ...]:
        """The commands of `build`, with a folder of the reader's for the private one."""
        work = Path(".envbuild/private")
        client = self._builder()
        staged = staging.layout(context, net, work)
        order = staging.order(context, tag, net, target)
        argv = buildkit.command(client, staged, work, order, export)
        argv = ("env", *(f"{k}={v}" for k, v in buildkit.variables(client).items()), *argv)
        return (
            *fetch.pull_steps(str(client.cli), context, net),
            *staging.steps(context, net, work),
            Step(why="build with BuildKit", argv=argv),
        )

    def build(self, context: BuildContext, tag: str, net: Net, target: str = "") -> Image:
        """Build one stage of the context.

        Raises:
            BuildError: a step of the Dockerfile failed.
            MachineError: no daemon, no BuildKit, no base, no network, no space.
            StaleError: what was fetched is not what the lock names.
        """
        with private_folder() as work:
            self._run(context, net, staging.order(context, tag, net, target), work)
            # BuildKit writes it last, and only when all went well.
            config = (work / "iid").read_text(encoding="ascii").strip()
        image = self.inspect(tag)
        if image is None or image.config != config:
            what = f"docker built {config} and does not show it as {tag}"
            raise MachineError(what, fix="another build took the name? run it again")
        return image

    def export(self, context: BuildContext, net: Net, target: str, wanted: buildkit.Export) -> str:
        """Build one stage into a file; what BuildKit says is its manifest's digest.

        Raises:
            MachineError: as `build`, or BuildKit ended well and did not say what it wrote.
        """
        with private_folder() as work:
            # No name: what is loaded from the file later is named then.
            self._run(context, net, staging.order(context, "", net, target), work, wanted)
            try:
                said = json.loads((work / "metadata.json").read_bytes())
                return str(said["containerimage.digest"])
            except (OSError, ValueError, KeyError, TypeError) as e:
                what = "BuildKit ended without an error, and does not say what it wrote"
                fix = "free some space (docker builder prune), then run it again"
                raise MachineError(what, why=str(e), fix=fix) from e

    def _run(
        self,
        context: BuildContext,
        net: Net,
        order: staging.Order,
        work: Path,
        export: buildkit.Export | None = None,
    ) -> None:
        """Run the client in a private folder ``work``, where its files are then."""
        client = self._builder()
        self._answers()
        self._room(context)
        bases = fetch.local_bases(self, context, net)
        staged = staging.write(context, net, work, bases)
        done = proc.stream(
            buildkit.command(client, staged, work, order, export),
            env=buildkit.environment(client, self._endpoint),
            line=self._progress,
        )
        if done.rc:
            raise self._unreached(failure(self.name, done.out, offline=net.offline))

    def take(self, file: Path) -> None:
        """Take the images of an archive into the store, under the names that it gives them."""
        # The SDK's call has no types.
        load: Callable[..., Iterator[dict[str, str]]] = self._client.api.load_image
        with self._asked(), file.open("rb") as data:
            for event in load(data, quiet=True):
                if text := event.get("error"):
                    raise refused(self.name, text)

    def load(self, file: Path, name: str, tag: str) -> Image:
        """Take the image of an archive into the store.

        Args:
            file: the archive.
            name: digest of its manifest, by which the store finds it.
            tag: the name that it gets.
        """
        self.take(file)
        self.tag(name, tag)
        if (image := self.inspect(tag)) is None:
            what = f"docker loaded {file} and does not show it as {tag}"
            raise MachineError(what, fix="another build took the name? run it again")
        return image

    def _room(self, context: BuildContext) -> None:
        """Refuse before a build that cannot fit; only a daemon on this machine can be asked."""
        need = staging.disk_need(context)
        if not need or not self._endpoint.startswith("unix:"):
            return
        with self._asked():
            root = Path(self._client.info().get("DockerRootDir") or "/")
        if root.is_dir() and (free := shutil.disk_usage(root).free >> 20) < need:
            what = f"{root} has {free} MiB free, this image needs {need} MiB"
            raise MachineError(what, fix="free some space: docker builder prune")

    def pull(self, ref: str, net: Net) -> Image:
        """Fetch an image, through the mirror where there is one, checked by digest."""
        with self._asked():
            arch = self._client.version().get("Arch", "")
        return fetch.pull(self, ref, net, f"linux/{arch}")

    def fetch(self, source: str, net: Net) -> None:  # noqa: ARG002 (the daemon has its own net)
        """Have the daemon pull it."""
        try:
            self._pull(source)
        except MachineError as e:
            raise self._unreached(e) from e

    def _pull(self, source: str) -> None:
        with self._asked():
            pull = self._client.api.pull
            for event in pull(source, stream=True, decode=True, auth_config=_login(source)):
                if text := event.get("error"):
                    raise refused(self.name, text)
                if event.get("status") in {"Pull complete", "Already exists"}:
                    self._progress(f"pull {event.get('id', '')} {event['status'].lower()}")

    def tag(self, source: str, name: str) -> None:
        """Give an image another name."""
        with self._asked():
            self._client.images.get(source).tag(name)

    def _known(self, ref: str) -> Any:  # noqa: ANN401 (an SDK image)
        """The SDK's image under this name, or under the name a mirror's image has here."""
        import docker.errors

        for name in names.local_names(ref):
            with self._asked(), contextlib.suppress(docker.errors.ImageNotFound):
                return self._client.images.get(name)
        return None

    def inspect(self, ref: str) -> Image | None:
        """The image if the daemon has it."""
        found = self._known(ref)
        return None if found is None else self._image(ref, found.attrs)

    def _image(self, ref: str, attrs: dict[str, Any]) -> Image:
        config = attrs.get("Config") or {}
        return Image(
            ref=ref,
            config=self._config_digest(attrs),
            manifest=fetch.manifest_of(attrs),
            platform=f"{attrs['Os']}/{attrs['Architecture']}",
            diff_ids=tuple((attrs.get("RootFS") or {}).get("Layers") or ()),
            labels=Pairs(config.get("Labels") or {}),
            env=common.env_pairs(config.get("Env")),
            user=config.get("User") or "",
            size=attrs.get("Size"),
        )

    def _config_digest(self, attrs: dict[str, Any]) -> str:
        """The config's digest: docker's own id, but for containerd's store."""
        descriptor = attrs.get("Descriptor")
        if not descriptor:
            return str(attrs["Id"])
        if known := (descriptor.get("annotations") or {}).get("config.digest"):
            return str(known)
        with self._asked():
            return fetch.saved_config(self._client.api.get_image(attrs["Id"]), attrs["Id"])

    def run(self, ref: str, spec: RunSpec) -> proc.Completed:
        """Run one command in a fresh container; it is removed however this ends."""
        found = self._known(ref)
        if found is None:
            what = f"docker has no image {ref}"
            raise MachineError(what, fix="build or pull it first")
        return containers.run(self._client, self._asked, found.id, ref, spec)

    def run_step(self, ref: str, argv: Sequence[str], access: str) -> Step:
        """The command of `interactive`."""
        terminal = sys.stdin.isatty() and sys.stdout.isatty()
        flags = ("--rm", "--interactive", *(("--tty",) if terminal else ()))
        return Step(
            why=f"run it with docker, GPU access: {access}",
            argv=(
                self.probe().cli or self.name,
                "run",
                *flags,
                *common.device_flags(self.name, access),
                *common.command(ref, argv),
            ),
        )

    def interactive(self, ref: str, argv: Sequence[str], access: str) -> int:
        """Run with this terminal; the container is gone afterwards."""
        found = self._known(ref)
        name = containers.new_name()
        command = list(self.run_step(found.id if found else ref, argv, access).argv)
        command[2:2] = ["--name", name, "--label", f"{owner.LABEL}={owner.owner()}"]
        try:
            code = common.attached(command, {"DOCKER_HOST": self._endpoint})
        finally:
            containers.remove(self._client, name)
        if code in common.OWN_CODES:
            # The command's own, or the engine's? Where nothing starts, this says why.
            self.run(ref, RunSpec(argv=common.NOTHING, access=access, network=""))
        return code

    def push(self, ref: str, target: str, net: Net) -> Image:  # noqa: ARG002
        """Push under ``target``; the image then has a manifest digest."""
        from envbuild.values.codec import replace

        found = self._known(ref)
        if found is None:
            what = f"docker has no image {ref}"
            raise MachineError(what, fix="build it first")
        with self._asked():
            found.tag(target)
            # containerd's store knows it before; docker's own says it while it pushes.
            digest = fetch.manifest_of(found.attrs)
            push = self._client.api.push
            for event in push(target, stream=True, decode=True, auth_config=_login(target)):
                if text := event.get("error"):
                    raise refused(self.name, text)
                digest = (event.get("aux") or {}).get("Digest", digest)
        if digest is None:
            what = f"docker pushed {target} and named no digest"
            raise MachineError(what, fix="look at the registry, then push again")
        return replace(self._image(target, found.attrs), manifest=digest)


def _login(source: str) -> dict[str, str]:
    """What the daemon is told for a registry: the SDK would wait for a helper for ever."""
    from envbuild.io import oci

    known = dockerconfig.login(oci.parse(source).registry)
    return known.for_engine() if known else {}
