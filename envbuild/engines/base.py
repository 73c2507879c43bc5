"""What an engine can do. Platforms are plain modules held to this one protocol."""

from collections.abc import Sequence
from typing import Protocol

from envbuild.io.net import Net
from envbuild.io.proc import Completed
from envbuild.values.codec import Pairs, Value
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts
from envbuild.values.image import BuildContext, Image


class Mount(Value):
    """A folder or file of this machine inside the container, read-only unless said."""

    source: str
    target: str
    writable: bool = False


class RunSpec(Value):
    """One command in an image.

    Attributes:
        argv: the command; replaces the image's entrypoint.
        access: GPU access mode: cdi, gpus, nvidia-runtime, native or none.
        devices: GPU uuids or indexes; empty with an access mode = all.
        timeout: seconds, then the container is removed.
        user: empty = the image's own.
        capable: keep the engine's default capabilities; else none, and no way to gain any.
        keeps: capabilities that root keeps all the same, without ``CAP_``.
    """

    argv: tuple[str, ...]
    access: str = "none"
    devices: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    env: Pairs = Pairs()
    user: str = ""
    workdir: str = ""
    network: str = "none"
    capable: bool = False
    keeps: tuple[str, ...] = ()
    timeout: float = 120.0


class Engine(Protocol):
    """An engine; every method raises MachineError when the engine or the machine is at fault."""

    name: str

    def probe(self) -> EngineFacts:
        """What it is, whether it answers, which access modes it has; never raises."""

    def inside(self, mount: Mount) -> str:
        """Where ``run`` finds the mount: its target, or its source where there is no container."""

    def build_steps(
        self, context: BuildContext, tag: str, net: Net, target: str = ""
    ) -> tuple[Step, ...]:
        """The exact commands that ``build`` would run (``--dry-run``); nothing is done."""

    def build(self, context: BuildContext, tag: str, net: Net, target: str = "") -> Image:
        """Build the context (one stage of it: ``target``); progress goes to stderr.

        Raises:
            BuildError: the engine ran the build and it failed.
        """

    def pull(self, ref: str, net: Net) -> Image:
        """Fetch ``ref`` (through the mirror, checked by digest); it then runs under ``ref``."""

    def inspect(self, ref: str) -> Image | None:
        """The image if the engine has it."""

    def run(self, ref: str, spec: RunSpec) -> Completed:
        """Run one command in a fresh container, which is gone afterwards."""

    def interactive(self, ref: str, argv: Sequence[str], access: str) -> int:
        """Run with this terminal attached; the exit code of the command."""

    def run_step(self, ref: str, argv: Sequence[str], access: str) -> Step:
        """The exact command that ``interactive`` would run."""

    def push(self, ref: str, target: str, net: Net) -> Image:
        """Push as ``target``; the image with its manifest digest."""
