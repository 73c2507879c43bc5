"""This machine as an engine: no container, no daemon, no root.

A toolkit that is already there is used if it fits the plan; else a private prefix is made from the
locked wheels. Nothing outside the workspace is written. A prefix keeps what runs in it away from
nothing: commands see this machine, its files and its network.
"""

import contextlib
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from envbuild.engines import archives, device, names, native, prefix, toolkits, tree, wheels
from envbuild.engines.base import Mount, RunSpec
from envbuild.engines.common import show_progress
from envbuild.errors import BuildError, InputError, MachineError, StaleError
from envbuild.io import files, proc
from envbuild.io.net import Net
from envbuild.values.codec import Pairs, Value, digest, dump, load
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts
from envbuild.values.image import BuildContext, Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan


class Record(Value):
    """What was built: the image, and every file it consisted of."""

    image: Image
    files: Pairs


class LocalEngine:
    """The engine without containers.

    Args:
        root: folder of prefixes and records, made when first needed.
        progress: gets each line of progress.
    """

    name = "local"

    def __init__(
        self, root: Path = Path(".envbuild/prefix"), progress: Callable[[str], None] = show_progress
    ) -> None:
        self.root = root.resolve()
        self.say = progress
        self._known = tree.Known()

    def probe(self) -> EngineFacts:
        """It answers wherever there is Linux; ``says`` is what it runs on."""
        if sys.platform != "linux":
            return EngineFacts(name=self.name, says="the local engine needs Linux")
        libc = platform.libc_ver()[1] or "none"
        return EngineFacts(
            name=self.name,
            version=platform.release(),
            answers=True,
            access=("native",),
            rootless=os.geteuid() != 0,
            says=f"{native.os_name()}, glibc {libc}, {platform.machine()}",
        )

    def inside(self, mount: Mount) -> str:
        """Nothing is mounted: a command finds the source itself."""
        return mount.source

    def toolkit_for(self, plan: Plan) -> Path | None:
        """Folder of a toolkit on this machine that fits the plan; None where one must be made.

        A source that the user named is taken at its word: then nothing else will do.
        """
        found = self.fitting(plan)
        return found.root if found else None

    def fitting(self, plan: Plan) -> toolkits.Toolkit | None:
        """What is known of that toolkit."""
        if plan.request.toolkit_source is not None:
            return None
        for folder in toolkits.folders():
            toolkit = toolkits.read(folder)
            if toolkit and toolkits.misfit(toolkit, plan) is None:
                return toolkit
        return None

    def build_steps(
        self, context: BuildContext, tag: str, net: Net, target: str = ""
    ) -> tuple[Step, ...]:
        """What ``build`` would do; nothing is done."""
        del tag, net
        plan = _plan(context, target)
        found = self.toolkit_for(plan)
        if found:
            return (Step(why="a toolkit that is here fits the plan", text=f"use {found}"),)
        if plan.toolkit_source == "wheels" and _file(context, "envbuild.lock") is None:
            folder = self.root / "HASH"  # its name is known once the wheels are
        elif (lock := _lock(context, plan)).parts:
            return archives.steps(lock, self.root)
        else:
            folder = self.root / prefix.key(lock.wheels)
        argv = wheels.download_argv("requirements.txt", str(self.root / "wheels"))
        return (
            Step(
                why="fetch the locked wheels (each in its own call, so that a cut run goes on)",
                argv=tuple(argv),
                check="the sha256 of each file is the lock's",
            ),
            Step(
                why="make a private toolkit folder of them",
                text=f"unpack them into {folder} and link lib64, lib*.so",
                check=f"{folder}/cuda/bin/nvcc --version",
            ),
        )

    def build(self, context: BuildContext, tag: str, net: Net, target: str = "") -> Image:
        """A toolkit that fits, or a private prefix; ``tag`` names nothing here.

        Raises:
            StaleError: the lock is of another plan, or a wheel is not the locked one.
            MachineError: no wheels to make it of, no host compiler, no room, no network.
            BuildError: the compiler does not do what the plan promises.
        """
        del tag
        plan = _plan(context, target)
        with files.locked(self.root / "lock"):
            found = self.fitting(plan)
            if found:
                self.say(f"toolkit   CUDA {found.cuda} in {found.root} fits: nothing is fetched")
                listing = tree.contents(found.root, toolkits.is_compiler_part, self._known)
                return self._record(found.root, found.root, listing, plan, cuda=found.cuda)
            return self._private(plan, _lock(context, plan), net)

    def _private(self, plan: Plan, lock: Lock, net: Net) -> Image:
        # The wheel of that bare name holds nvcc; a missing g++ is said before anything is fetched.
        if lock.parts or any(wheel.name == "nvidia-cuda-nvcc" for wheel in lock.wheels):
            toolkits.need_host_compiler(plan.host_compiler.max if plan.host_compiler else None)
        prefix.check_place(self.root)
        folder = self.root / prefix.key(lock.parts or lock.wheels)
        listing = self._intact(folder)
        if listing is None and lock.parts:
            archives.make(plan, lock, self.root, net, self.say)
        elif listing is None:
            size, indexes = plan.size.disk_mib, _indexes(plan)
            prefix.make(lock.wheels, self.root, net, self.say, size_mib=size, indexes=indexes)
        listing = listing or tree.contents(folder, known=self._known)
        return self._record(folder, folder / "cuda", listing, plan, cuda=plan.cuda or "", lock=lock)

    def _intact(self, folder: Path) -> Pairs | None:
        """Contents of a prefix that is as it was made, else None."""
        record = self._read(folder)
        if record is None or not folder.is_dir():
            return None
        now = tree.contents(folder, known=self._known)
        different = tree.changed(record.files, now)
        if different:
            self.say(f"prefix    {different[0]} was changed: made again")
        return None if different else now

    def _record(
        self,
        ref: Path,
        home: Path,
        listing: Pairs,
        plan: Plan,
        *,
        cuda: str,
        lock: Lock | None = None,
    ) -> Image:
        env, compiler = native.environment(ref, home, plan.env)
        image = Image(
            ref=str(ref),
            config=tree.digest(listing),
            platform=names.platform_here(),
            env=env,
            labels=Pairs(
                {
                    "envbuild.plan": digest(plan),
                    **({"envbuild.lock": digest(lock)} if lock else {}),
                    "envbuild.cc": ",".join(plan.cc),
                    "envbuild.promise": ",".join(plan.promise),
                    "envbuild.cuda": cuda,
                    "envbuild.stage": "devel",
                    "envbuild.compiler": compiler,
                }
            ),
        )
        self._check_promise(image, compiler, plan)
        files.write(self._path(ref), dump(Record(image=image, files=listing)))
        if compiler == "nvrtc":
            self.say(f"note      {device.NO_NVCC}")
            for step in device.WAYS:
                self.say(f"          {step.why}: {step.text}")
        return image

    def _check_promise(self, image: Image, compiler: str, plan: Plan) -> None:
        argv = (compiler, "--list-gpu-code")
        done = proc.run(argv, timeout=60, env=native.merged(image.env))
        targets = done.out.split()
        missing = [f"sm_{t}" for t in plan.promise if f"sm_{t}" not in targets]
        if done.rc:
            what = f"{compiler} of the new prefix does not run here"
            raise BuildError(what, why=done.err.strip(), fix="use a container engine")
        if missing:
            what = f"{compiler} in {image.ref} does not compile {', '.join(missing)}"
            raise BuildError(what, fix="plan again: envbuild plan --explain")

    def pull(self, ref: str, net: Net) -> Image:
        """There are no images here."""
        del net
        what = f"{ref} cannot be fetched: the local engine has no images"
        raise InputError(what, fix="use docker or podman")

    def push(self, ref: str, target: str, net: Net) -> Image:
        """There are no images here."""
        del target, net
        what = f"{ref} cannot be pushed: it is a folder of this machine, not an image"
        raise InputError(what, fix="build it with docker or podman to have an image")

    def inspect(self, ref: str) -> Image | None:
        """The prefix or toolkit under this path, as long as it is what was built.

        Raises:
            StaleError: a file of it was changed.
        """
        folder = Path(ref).resolve()
        record = self._read(folder)
        own = folder.parent == self.root
        if record is None:
            return None if own else native.unrecorded(folder, self._known)
        keep = (lambda _: True) if own else toolkits.is_compiler_part
        different = tree.changed(record.files, tree.contents(folder, keep, self._known))
        if different:
            what = f"{folder} is not what was built: {different[0]} was changed"
            raise StaleError(what, fix="envbuild build makes it again")
        return record.image

    def run(self, ref: str, spec: RunSpec) -> proc.Completed:
        """Run one command with the prefix's environment; its whole group ends at the time limit."""
        env = self._env_of(ref, spec.access) | dict(spec.env)
        if spec.user:
            what = "the local engine runs commands as you, not as another user"
            raise InputError(what, fix="leave the user out")
        if spec.devices:
            env["CUDA_VISIBLE_DEVICES"] = ",".join(spec.devices)
        return proc.run(spec.argv, timeout=spec.timeout, env=env, cwd=spec.workdir or None)

    def interactive(self, ref: str, argv: Sequence[str], access: str) -> int:
        """Run with this terminal; without a command, the user's shell."""
        command = list(argv) or _shell()
        env = self._env_of(ref, access)
        with _ctrl_c_is_the_commands():
            try:
                return subprocess.run(command, env=env, check=False).returncode
            except OSError as e:
                what = f"{command[0]} cannot be started: {e.strerror or e}"
                raise InputError(what, fix="check the command") from e

    def run_step(self, ref: str, argv: Sequence[str], access: str) -> Step:
        """The command of ``interactive`` for people to copy: only what differs from their own."""
        env = self._env_of(ref, access)
        ours = [f"{k}={v}" for k, v in sorted(env.items()) if os.environ.get(k) != v]
        return Step(why="no container: this machine", argv=("env", *ours, *(argv or _shell())))

    def _env_of(self, ref: str, access: str) -> dict[str, str]:
        if access not in ("native", "none"):
            what = f"the local engine has no access mode {access}"
            raise InputError(what, fix="native, or none to hide the GPUs")
        folder = Path(ref).resolve()
        record = self._read(folder)
        image = record.image if record else native.unrecorded(folder, self._known)
        if image is None:
            what = f"{ref} is neither a prefix made here nor a toolkit"
            raise InputError(what, fix="make one: envbuild build")
        return native.merged(image.env) | ({"CUDA_VISIBLE_DEVICES": ""} if access == "none" else {})

    def _path(self, folder: Path) -> Path:
        name = folder.as_posix().strip("/").replace("/", "-")
        return self.root / f"{folder.name if folder.parent == self.root else name}.json"

    def _read(self, folder: Path) -> Record | None:
        path = self._path(folder)
        if not path.is_file():
            return None
        record = load(Record, files.read(path), str(path))
        return record if record.image.ref == str(folder) else None


def _plan(context: BuildContext, target: str) -> Plan:
    if target not in ("", "devel"):
        what = f"the local engine has no {target} stage: it makes a compiler's folder"
        raise InputError(what, fix="use docker or podman for it")
    data = _file(context, "plan.json")
    if data is None:
        what = "the context holds no plan.json"
        raise InputError(what, fix="make it with envbuild render")
    return load(Plan, data, "plan.json")


def _lock(context: BuildContext, plan: Plan) -> Lock:
    data = _file(context, "envbuild.lock")
    lock = load(Lock, data, "envbuild.lock") if data else None
    if lock is None or not (lock.wheels or lock.parts):
        what = (
            f"no toolkit here fits, and the source {plan.toolkit_source} needs a container engine"
        )
        fix = "--toolkit-source wheels, redist or conda; start docker or podman; or set CUDA_HOME"
        raise MachineError(what, fix=fix)
    if lock.plan != digest(plan):
        what = "envbuild.lock was made for another plan"
        raise StaleError(what, fix="make it again: envbuild lock")
    return lock


def _indexes(plan: Plan) -> Pairs:
    """Address of each index that is not pip's default, by the name that the lock gives it."""
    torch = plan.torch
    return Pairs({torch.index: torch.index_url}) if torch and torch.index_url else Pairs()


def _shell() -> list[str]:
    return [os.environ.get("SHELL") or "/bin/sh"]


def _file(context: BuildContext, name: str) -> bytes | None:
    return next((file.data for file in context.files if file.path == name), None)


@contextlib.contextmanager
def _ctrl_c_is_the_commands() -> Iterator[None]:
    """Ctrl-C ends what runs in the terminal, not us; a handler is not passed on as 'ignore' is."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
