"""Apptainer: images without a daemon and without root, as clusters run them.

It builds no Dockerfile. An image comes from an OCI archive that another engine wrote (``envbuild
build -o FILE``, ``podman save --format oci-archive``) or from a registry, and lies in a folder of
the workspace, which needs no FUSE and is not packed first. A SIF file holds no digest of the image
that it was made of, so nothing can be said of it.
"""

import contextlib
import csv
import functools
import io
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from envbuild.engines import common, names, sandbox
from envbuild.engines.base import Mount, RunSpec
from envbuild.engines.configs import image_of
from envbuild.engines.failures import not_run
from envbuild.errors import EnvbuildError, InputError, MachineError
from envbuild.host import cdi, containers, look
from envbuild.io import files, oci, ociarchive, ocilayout, proc
from envbuild.io.net import Net
from envbuild.io.workspace import private_folder
from envbuild.values.codec import Value, dump, load, replace
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts
from envbuild.values.image import BuildContext, Image

_FATAL = 255  # what apptainer ends with where it started nothing; a command may, too
_NEW = ".new-"


class Record(Value):
    """An unpacked image, and the references that it was fetched by."""

    image: Image
    names: tuple[str, ...] = ()


class ApptainerEngine:
    """Apptainer, or Singularity, on this machine.

    Args:
        progress: gets each line of progress.
        root: folder of unpacked images, made when first needed.
    """

    name = "apptainer"

    def __init__(
        self,
        progress: Callable[[str], None] = common.show_progress,
        root: Path = Path(".envbuild/apptainer"),
    ) -> None:
        self._progress = progress
        self.root = root.resolve()

    def probe(self) -> EngineFacts:
        """What it says of itself; never raises."""
        return self._facts

    @functools.cached_property
    def _facts(self) -> EngineFacts:
        here = look.here()
        found = here.find("apptainer") or here.find("singularity")
        if not found:
            return EngineFacts(name=self.name, says="no apptainer on PATH")
        return containers.apptainer(here, found[0], cdi.probe(here)[0])

    def _cli(self) -> str:
        if not self._facts.answers or self._facts.cli is None:
            fix = "install apptainer, or use another engine"
            raise MachineError("apptainer does not answer", why=self._facts.says, fix=fix)
        return self._facts.cli

    def _gpu(self, access: str, devices: Sequence[str] = ()) -> tuple[str, ...]:
        """Flags for a GPU; one that this release does not know would end as the command's own 1."""
        offered = ("none", *self._facts.access)
        if access not in offered:
            what = f"this apptainer has no GPU access mode {access!r} here"
            raise MachineError(what, fix=f"one of {', '.join(offered)}")
        return common.gpu_flags(self.name, access, devices)

    def inside(self, mount: Mount) -> str:
        """Where the container sees it."""
        return mount.target

    def build_steps(
        self, context: BuildContext, tag: str, net: Net, target: str = ""
    ) -> tuple[Step, ...]:
        """It has none."""
        del context, tag, net, target
        raise _builds_nothing()

    def build(self, context: BuildContext, tag: str, net: Net, target: str = "") -> Image:
        """It builds no Dockerfile, and says so."""
        del context, tag, net, target
        raise _builds_nothing()

    def inspect(self, ref: str) -> Image | None:
        """The image of an archive, or one that was unpacked here; by name or digest.

        Raises:
            InputError: the file is no OCI archive.
            StaleError: its manifest or config is not what its digest says.
        """
        if path := names.archive(ref):
            found = ociarchive.head(path)
            return image_of(ref, found.config, found.settings)
        for record in self._records():
            if ref in {record.image.config, *record.names}:
                return replace(record.image, ref=ref)
        return None

    def _records(self) -> Iterator[Record]:
        for path in sorted(self.root.glob("*/image.json")):
            yield load(Record, files.read(path), str(path))

    def pull(self, ref: str, net: Net) -> Image:
        """Fetch an image, through the mirror where there is one, each blob checked by its digest.

        Raises:
            MachineError: the registry does not answer or lacks it, or nothing may be fetched.
            StaleError: what came is not what its digest says.
        """
        image = self.inspect(ref)
        if image and (net.offline or names.digest_of(ref)):
            return image
        if net.offline:
            what = f"{ref} is not here, and --offline fetches nothing"
            raise MachineError(what, fix="pull it while there is a network, or name an OCI archive")
        manifest = oci.resolve(ref, names.platform_here(), net)
        known = tuple(dict.fromkeys((ref, f"{names.repository(ref)}@{manifest.digest}")))
        with private_folder() as work, self._writing():
            # Where there is room for the image itself; the link is since a colon ends a name.
            layout = self.root / f"{_NEW}layout"
            (work / "layout").symlink_to(layout)
            try:
                ocilayout.write(layout, [("image", manifest)], net, self._progress)
                config = files.read(layout / ociarchive.place(manifest.config))
                image = replace(image_of(ref, manifest.config, config), manifest=manifest.digest)
                self._keep(image, f"oci:{work / 'layout'}", known)
            except OSError as e:
                what = f"{ref} cannot be kept in {self.root}: {e.strerror or e}"
                raise MachineError(what, fix="free some space, or work in another folder") from e
            finally:
                shutil.rmtree(layout, ignore_errors=True)
        return image

    def _unpacked(self, ref: str) -> Path:
        """The folder of an image; that of an archive is made when it is first run.

        Raises:
            MachineError: it is not here, or there is no room for it.
        """
        image = self.inspect(ref)
        if image is None:
            what = f"apptainer has no image {ref}"
            raise MachineError(what, fix="pull it, or name an OCI archive: envbuild build -o FILE")
        folder = self._folder(image)
        if not folder.is_dir():
            with private_folder() as work, self._writing():
                # A colon ends the name of an archive for apptainer.
                (work / "image.tar").symlink_to(Path(ref).resolve())
                if ociarchive.read(work / "image.tar").config != image.config:
                    what = f"{ref} was changed while it was read"
                    raise MachineError(what, fix="run it again")
                self._keep(image, f"oci-archive:{work / 'image.tar'}", ())
        return folder

    def _folder(self, image: Image) -> Path:
        return self.root / image.config.removeprefix("sha256:") / "system"

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Be the only one that unpacks here; what a killed one left is removed."""
        with files.locked(self.root / "lock"):
            for left in self.root.glob(f"{_NEW}*"):
                shutil.rmtree(left, ignore_errors=True)
            yield

    def _keep(self, image: Image, source: str, known: tuple[str, ...]) -> None:
        """Unpack an image, whole or not at all, and note by which names it is known."""
        final = self._folder(image).parent
        for record in self._records():
            # A tag means what it meant last.
            mine = record.image.config == image.config
            rest = tuple(name for name in record.names if name not in known)
            renamed = replace(record, names=(*rest, *known) if mine else rest)
            if mine and image.manifest:
                renamed = replace(renamed, image=image)
            files.write(self._folder(record.image).parent / "image.json", dump(renamed))
        if final.is_dir():
            return
        new = Path(tempfile.mkdtemp(prefix=_NEW, dir=self.root))
        self._progress(f"unpack    {image.ref} into {final}")
        try:
            sandbox.unpack(self._cli(), source, image.ref, new / "system")
        except EnvbuildError:
            shutil.rmtree(new, ignore_errors=True)
            raise
        files.write(new / "image.json", dump(Record(image=image, names=known)))
        new.rename(final)

    def run(self, ref: str, spec: RunSpec) -> proc.Completed:
        """Run one command in a fresh container; what it writes is gone afterwards."""
        if spec.user not in ("", str(os.geteuid())):
            what = f"apptainer runs commands as you, not as user {spec.user}"
            raise MachineError(what, fix="use docker or podman for it")
        folder, cli = self._unpacked(ref), self._cli()
        with private_folder() as work:
            # A site's settings may bring the driver into every container.
            gpu = self._gpu(spec.access, spec.devices) or ("--no-nv",)
            flags = (*_options(spec, work), *gpu)
            env = _environment(spec, Path(cli).name.upper())
            argv = (cli, "--quiet", "exec", *flags, str(folder), *spec.argv)
            done = proc.run(argv, timeout=spec.timeout, env=env, grace=0.2)._replace(argv=spec.argv)
        said = re.sub(r"\x1b\[[\d;]*m", "", done.err).rstrip().rpartition("\n")[2]
        if done.rc != _FATAL or done.timed_out or not said.startswith("FATAL:"):
            return done
        said = said.removeprefix("FATAL:").strip()
        if (code := _not_started(said)) is not None:
            return done._replace(rc=code)
        raise not_run(self.name, ref, said)

    def run_step(self, ref: str, argv: Sequence[str], access: str) -> Step:
        """The command of `interactive`; what is not here yet, apptainer would fetch."""
        image = self.inspect(ref)
        where = str(self._folder(image)) if image else f"docker://{ref}"
        flags = (*_plain(), *self._gpu(access))
        return Step(
            why=f"run it with apptainer, GPU access: {access}",
            argv=(self._cli(), "exec" if argv else "run", *flags, where, *argv),
        )

    def interactive(self, ref: str, argv: Sequence[str], access: str) -> int:
        """Run with this terminal, in this folder and with this home, as apptainer does."""
        self._unpacked(ref)
        code = common.attached(self.run_step(ref, argv, access).argv, {})
        if code == _FATAL:
            # The command's own, or apptainer's? Where nothing starts, this says why.
            self.run(ref, RunSpec(argv=common.NOTHING, access=access, network=""))
        return code

    def push(self, ref: str, target: str, net: Net) -> Image:
        """It pushes SIF files alone."""
        del net
        what = f"{ref} cannot be pushed to {target}: apptainer pushes no OCI images"
        fix = "push the archive: skopeo copy --preserve-digests oci-archive:FILE docker://TARGET"
        raise InputError(what, fix=fix)


def _builds_nothing() -> MachineError:
    what = "apptainer builds no Dockerfile"
    fix = "build an archive with docker: envbuild build -o image.oci.tar; apptainer then runs it"
    return MachineError(what, fix=fix)


def _not_started(text: str) -> int | None:
    """127 or 126 as a shell gives them where the image lacks the command; None = another cause."""
    code = common.not_started(text)
    return 126 if code is None and text in {"permission denied", "is a directory"} else code


def _environment(spec: RunSpec, prefix: str) -> dict[str, str]:
    """The client's: what the command gets, and what ``--nvccli`` reads."""
    env = {**sandbox.environment(), "NVIDIA_VISIBLE_DEVICES": ",".join(spec.devices) or "all"}
    return env | {f"{prefix}ENV_{name}": text for name, text in spec.env}


def _plain() -> tuple[str, ...]:
    """Root in a container is this machine's own root: it keeps no capability."""
    return () if os.geteuid() else ("--no-privs",)


def _options(spec: RunSpec, work: Path) -> list[str]:
    """A run as apptainer's flags: nothing of this machine inside but what is named.

    Args:
        spec: the run.
        work: where /tmp and the home inside lie; apptainer's own place for them is 64 MiB.
    """
    flags = [*_plain(), "--compat", "--workdir", str(work), "--pwd", spec.workdir or "/"]
    if spec.network not in ("", "host"):
        flags += ["--net", "--network", spec.network]
    for mount in spec.mounts:
        flags += ["--mount", _bind(mount)]
    return flags


def _bind(mount: Mount) -> str:
    """A mount as a line of CSV, in which any path can be quoted."""
    line = io.StringIO()
    fields = ["type=bind", f"source={mount.source}", f"destination={mount.target}"]
    csv.writer(line, lineterminator="").writerow(fields + ["ro"] * (not mount.writable))
    return line.getvalue()
