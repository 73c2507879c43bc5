"""Podman: no daemon, one client for all of it."""

import contextlib
import json
import re
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from envbuild.engines import common, fetch, names, owner, staging, working
from envbuild.engines.base import Mount, RunSpec
from envbuild.engines.failures import failure, not_run, refused
from envbuild.engines.staging import Order
from envbuild.errors import MachineError
from envbuild.host import cdi, containers, look
from envbuild.io import files, proc
from envbuild.io.net import Net
from envbuild.io.workspace import private_folder
from envbuild.values.codec import Pairs
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts
from envbuild.values.image import BuildContext, Image

_LONG = 3600.0


class _Remedy(NamedTuple):
    """What to add where podman's defaults cannot work; tried only after they failed."""

    pattern: str
    says: str
    run: tuple[str, ...] = ()
    build: tuple[str, ...] = ()


def _remedies() -> tuple[_Remedy, ...]:
    """Ways around what small machines and rented containers do not allow (each was met)."""
    other = shutil.which("runc") or shutil.which("runc", path="/usr/sbin:/sbin")
    runtime = ("--runtime", other) if other else ()
    found = (
        _Remedy(
            "rlimit",
            "limits cannot be raised here: nofile 1024, nproc 4096",
            run=("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"),
        ),
        _Remedy("cgroup", f"crun cannot use the cgroups here: {other}", run=runtime, build=runtime),
        _Remedy(
            "creating container",
            "no container can be made for a build step: chroot isolation",
            build=("--isolation", "chroot"),
        ),
        _Remedy(
            "netns|network namespace|CLONE_NEWNET|unshare",
            "no network namespace can be made here: the host's network",
            run=("--network", "host"),
            build=("--network", "host"),
        ),
    )
    return tuple(remedy for remedy in found if remedy.run or remedy.build)


class PodmanEngine:
    """Podman on this machine.

    Args:
        progress: gets each line of the engine's own progress.
    """

    name = "podman"

    def __init__(self, progress: Callable[[str], None] = common.show_progress) -> None:
        self._progress = progress
        self._taken: list[_Remedy] = []

    def _helped(self, text: str, kind: str, *, alone: bool = False) -> bool:
        """Take the next remedy for this failure, if there is one that is not yet taken.

        ``alone``: no network was promised, so a remedy that gives one is none.
        """
        for remedy in _remedies():
            if alone and "--network" in getattr(remedy, kind):
                continue
            fits = getattr(remedy, kind) and re.search(remedy.pattern, text)
            if fits and remedy not in self._taken:
                self._taken.append(remedy)
                self._progress(f"podman: {remedy.says}")
                return True
        return False

    def _extra(self, kind: str, *, alone: bool = False) -> list[str]:
        taken = (getattr(remedy, kind) for remedy in self._taken)
        return [flag for flags in taken if not (alone and "--network" in flags) for flag in flags]

    def _ask(self, *argv: str, timeout: float = 120.0, grace: float = 3.0) -> proc.Completed:
        return proc.run((self.name, *argv), timeout=timeout, grace=grace)

    def _do(self, *argv: str, timeout: float = 120.0) -> str:
        """Run podman for its output.

        Raises:
            MachineError: it failed.
        """
        done = self._ask(*argv, timeout=timeout)
        if done.rc:
            raise refused(self.name, done.err or f"no answer in {timeout:.0f} s")
        return done.out

    def _out(self, *argv: str) -> str:
        return self._ask(*argv).out

    def probe(self) -> EngineFacts:
        """What podman says of itself; never raises."""
        here = look.here()
        found = here.find(self.name)
        if not found:
            return EngineFacts(name=self.name, says="no podman on PATH")
        return containers.podman(here, found[0], cdi.probe(here)[0])

    def inside(self, mount: Mount) -> str:
        """Where the container sees it."""
        return mount.target

    def _build_argv(
        self, staged: staging.Staged, work: Path, order: Order, mark: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        argv = [self.name, "build", *order.flags(), *self._extra("build"), *mark]
        argv += ["--iidfile", str(work / "iid"), "--file", str(staged.dockerfile)]
        for name, path in staged.secrets:
            argv += ["--secret", f"id={name},src={path}"]
        return (*argv, str(staged.context))

    def build_steps(
        self, context: BuildContext, tag: str, net: Net, target: str = ""
    ) -> tuple[Step, ...]:
        """The commands of `build`, with a folder of the reader's for the private one."""
        work = Path(".envbuild/private")
        order = staging.order(context, tag, net, target)
        return (
            *fetch.pull_steps(self.name, context, net),
            *staging.steps(context, net, work),
            Step(
                why="build with podman",
                argv=self._build_argv(staging.layout(context, net, work), work, order),
            ),
        )

    def build(self, context: BuildContext, tag: str, net: Net, target: str = "") -> Image:
        """Build one stage of the context.

        Raises:
            BuildError: a step of the Dockerfile failed.
            MachineError: no podman, no base, no network, no space.
            StaleError: what was fetched is not what the lock names.
        """
        working.sweep(self._out)
        bases = fetch.local_bases(self, context, net)
        order = staging.order(context, tag, net, target)
        with private_folder() as work:
            staged = staging.write(context, net, work, bases)
            while True:
                argv = self._build_argv(staged, work, order, working.flags())
                try:
                    done = proc.stream(argv, line=self._progress)
                except BaseException:
                    # Podman leaves its containers when it is ended.
                    working.sweep(self._out, own=True)
                    raise
                if not done.rc:
                    break
                if "creating container" not in done.out or not self._helped(done.out, "build"):
                    raise failure(self.name, done.out, offline=net.offline)
            config = (work / "iid").read_text(encoding="ascii").strip()
        image = self.inspect(tag)
        if image is None or image.config != config:
            what = f"podman built {config} and does not show it as {tag}"
            raise MachineError(what, fix="another build took the name? run it again")
        return image

    @contextlib.contextmanager
    def _trust(self, ref: str, net: Net) -> Iterator[tuple[str, ...]]:
        """Flags for the TLS of a registry; like docker, podman then takes this machine's own."""
        host = ref.partition("/")[0]
        if re.match(r"127\.\d+\.\d+\.\d+(:\d+)?$|localhost(:\d+)?$|\[::1\](:\d+)?$", host):
            yield ("--tls-verify=false",)
        elif net.ca_cert:
            with private_folder() as folder:
                files.write(folder / "certs" / "ca.crt", files.read(net.ca_cert))
                yield ("--cert-dir", str(folder / "certs"))
        else:
            yield ()

    def pull(self, ref: str, net: Net) -> Image:
        """Fetch an image, through the mirror where there is one, checked by digest."""
        return fetch.pull(self, ref, net, names.platform_here())

    def fetch(self, source: str, net: Net) -> None:
        """Pull it."""
        with self._trust(source, net) as flags:
            self._do("pull", "--quiet", *flags, source, timeout=_LONG)

    def tag(self, source: str, name: str) -> None:
        """Give an image another name."""
        self._do("tag", source, name)

    def take(self, file: Path) -> None:
        """Take the images of an archive into the store, under the names that it gives them."""
        self._do("load", "--input", str(file))

    def _attrs(self, ref: str) -> dict[str, Any] | None:
        """What podman knows of an image, under this name or under its local one."""
        for name in names.local_names(ref):
            done = self._ask("image", "inspect", name)
            if done.rc == 0:
                found: list[dict[str, Any]] = json.loads(done.out)
                return found[0]
            if "image not known" not in done.err:
                raise refused(self.name, done.err)
        return None

    def inspect(self, ref: str) -> Image | None:
        """The image if podman has it."""
        attrs = self._attrs(ref)
        if attrs is None:
            return None
        config = attrs.get("Config") or {}
        return Image(
            ref=ref,
            config="sha256:" + str(attrs["Id"]).removeprefix("sha256:"),
            manifest=fetch.manifest_of(attrs),
            platform=f"{attrs['Os']}/{attrs['Architecture']}",
            diff_ids=tuple((attrs.get("RootFS") or {}).get("Layers") or ()),
            labels=Pairs(attrs.get("Labels") or {}),
            env=common.env_pairs(config.get("Env")),
            user=attrs.get("User") or "",
            size=attrs.get("Size"),
        )

    def _id(self, ref: str) -> str:
        attrs = self._attrs(ref)
        if attrs is None:
            what = f"podman has no image {ref}"
            raise MachineError(what, fix="build or pull it first")
        return str(attrs["Id"])

    def run(self, ref: str, spec: RunSpec) -> proc.Completed:
        """Run one command in a fresh container; it is removed however this ends."""
        image = self._id(ref)
        self._sweep()
        while True:
            name = f"envbuild-{uuid.uuid4().hex[:12]}"
            argv = ["run", "--name", name, "--label", f"{owner.LABEL}={owner.owner()}"]
            argv += _options(spec) + self._extra("run", alone=spec.network == "none")
            try:
                done = self._ask(
                    *argv, *common.command(image, spec.argv), timeout=spec.timeout, grace=0.2
                )
                # A command may give these codes, too; only podman knows whether it ever began.
                began = done.rc not in common.OWN_CODES or self._began(name)
            finally:
                self._remove(name)
            done = done._replace(argv=spec.argv)
            if began or done.timed_out:
                return done
            own = done.err.rpartition("Error: ")[2]
            if (code := common.not_started(own)) is not None:
                return done._replace(rc=code)
            if not self._helped(own, "run", alone=spec.network == "none"):
                raise not_run(self.name, ref, own)

    def _began(self, name: str) -> bool:
        done = self._ask("container", "inspect", "--format", "{{.State.StartedAt.Unix}}", name)
        return done.rc == 0 and not done.out.startswith("-")

    def _remove(self, name: str) -> None:
        """Remove a container, if it is there."""
        argv = ("rm", "--force", "--time", "0", "--ignore", "--volumes", name)
        common.surely(lambda: self._ask(*argv))

    def _sweep(self) -> None:
        """Remove what a killed envbuild left; its label names its process."""
        filters = ("--all", "--filter", f"label={owner.LABEL}", "--format", "json")
        for entry in json.loads(self._do("ps", *filters) or "[]"):
            if owner.abandoned((entry.get("Labels") or {}).get(owner.LABEL, "")):
                self._remove(entry["Id"])

    def run_step(self, ref: str, argv: Sequence[str], access: str) -> Step:
        """The command of `interactive`."""
        terminal = sys.stdin.isatty() and sys.stdout.isatty()
        flags = ("--rm", "--interactive", *(("--tty",) if terminal else ()))
        attrs = self._attrs(ref)
        command = (
            self.name,
            "run",
            *flags,
            *common.rights(None if attrs is None else attrs.get("User") or ""),
            *common.device_flags(self.name, access),
            *self._extra("run"),
        )
        return Step(
            why=f"run it with podman, GPU access: {access}",
            argv=(*command, *common.command(ref, argv)),
        )

    def interactive(self, ref: str, argv: Sequence[str], access: str) -> int:
        """Run with this terminal; the container is gone afterwards."""
        image = self._id(ref)
        # The first start tells what this machine does not allow, before the terminal is given away.
        self.run(ref, RunSpec(argv=common.NOTHING, access=access, network=""))
        name = f"envbuild-{uuid.uuid4().hex[:12]}"
        command = list(self.run_step(image, argv, access).argv)
        command[2:2] = ["--name", name, "--label", f"{owner.LABEL}={owner.owner()}"]
        try:
            return common.attached(command, {})
        finally:
            self._remove(name)

    def push(self, ref: str, target: str, net: Net) -> Image:
        """Push under ``target``; podman may pack layers anew, so the digest is known only now."""
        from envbuild.values.codec import replace

        image_id = self._id(ref)
        self.tag(image_id, target)
        with self._trust(target, net) as flags, private_folder() as folder:
            digest = folder / "digest"
            argv = ("push", "--quiet", *flags, "--digestfile", str(digest), target)
            self._do(*argv, timeout=_LONG)
            manifest = digest.read_text(encoding="ascii").strip()
        image = self.inspect(image_id)
        if image is None:
            what = f"podman lost {ref} while it pushed it"
            raise MachineError(what, fix="push it again")
        return replace(image, ref=target, manifest=manifest)


def _options(spec: RunSpec) -> list[str]:
    """A run as podman's flags."""
    # What an image runs beside the command would work in its files, and on its GPU, meanwhile.
    flags = ["--no-healthcheck", *common.device_flags("podman", spec.access, spec.devices)]
    flags += () if spec.capable else common.NO_RIGHTS
    for name in spec.keeps:
        flags += ("--cap-add", name)
    if spec.network == "none":
        # Podman gives the variables of a proxy, which may have a login in it, to every container.
        flags.append("--http-proxy=false")
    if spec.mounts and spec.access != "cdi":
        flags += common.UNCONFINED
    for mount in spec.mounts:
        flags += _bind(mount)
    for name, value in spec.env:
        flags += ["--env", f"{name}={value}"]
    for flag, value in (
        ("--user", spec.user),
        ("--workdir", spec.workdir),
        ("--network", spec.network),
    ):
        if value:
            flags += [flag, value]
    return flags


def _bind(mount: Mount) -> tuple[str, str]:
    """A mount as a flag: one form splits at colons, the other at commas, and neither can quote.

    Raises:
        MachineError: the path has both.
    """
    if ":" not in mount.source:
        return "--volume", f"{mount.source}:{mount.target}:{'rw' if mount.writable else 'ro'}"
    if set(mount.source) & set(',"'):
        what = f"podman cannot mount {mount.source}: its path has a colon and a comma or quote"
        raise MachineError(what, fix="work in another folder")
    mode = "" if mount.writable else ",readonly"
    return "--mount", f"type=bind,source={mount.source},target={mount.target}{mode}"
