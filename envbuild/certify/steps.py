"""Steps inside an image: written as a list, run in one container, read back as values."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from envbuild.certify.seen import Ran, Session
from envbuild.engines.base import Mount, RunSpec
from envbuild.io import files
from envbuild.io.proc import Completed
from envbuild.values.codec import replace
from envbuild.values.host import EngineFacts
from envbuild.values.image import Image


class Runner(Protocol):
    """The part of an `Engine` that certifying needs."""

    name: str

    def probe(self) -> EngineFacts:
        """What it is and which access modes it has."""

    def inside(self, mount: Mount) -> str:
        """Where a command finds the mount."""

    def inspect(self, ref: str) -> Image | None:
        """The image if the engine has it."""

    def run(self, ref: str, spec: RunSpec) -> Completed:
        """Run one command in a fresh container."""


class Step(NamedTuple):
    """One command.

    Attributes:
        env: entries are ``NAME=text``, or ``+NAME=text`` to go in front.
        within: steps whose results are what it prints, in their order.
    """

    name: str
    argv: tuple[str, ...]
    env: tuple[str, ...] = ()
    seconds: float = 60.0
    within: tuple[str, ...] = ()


class Work(NamedTuple):
    """One container run that a suite asks for.

    Attributes:
        name: the suite's own, or ``suite.part``; no two of a run share one.
        gpu: a GPU comes in; nothing of the driver does where it is False.
        user: who runs it, empty = the image's own user.
        devices: GPUs or MIG instances that come in, by uuid; None = the chosen GPU, empty = all.
    """

    name: str
    steps: tuple[Step, ...]
    gpu: bool = True
    user: str = ""
    devices: tuple[str, ...] | None = None


class Bench(NamedTuple):
    """An image on an engine, with the probes and a scratch folder."""

    engine: Runner
    ref: str
    probes: Path
    scratch: Path

    @property
    def mounts(self) -> tuple[Mount, Mount]:
        """The probes, read-only, and the scratch folder.

        Their place inside is named after the folder that holds both: a new one in each run, so that
        no image can have a file, a link or a volume there. (The local engine sees the sources.)
        """
        home = f"/{self.probes.parent.name}"
        return (
            Mount(source=str(self.probes), target=f"{home}/probes"),
            Mount(source=str(self.scratch), target=f"{home}/scratch", writable=True),
        )

    def probe(self, name: str = "") -> str:
        """Path of a probe file as the image sees it."""
        return "/".join(filter(None, (self.engine.inside(self.mounts[0]), name)))

    def out(self, name: str = "") -> str:
        """Path in the scratch folder as the image sees it."""
        return "/".join(filter(None, (self.engine.inside(self.mounts[1]), name)))


def encode(steps: Sequence[Step]) -> bytes:
    """The list as ``kernels/runner/steps.c`` reads it."""
    words: list[str] = []
    for step in steps:
        words += [step.name, str(int(step.seconds * 1000))]
        words += [str(len(step.env)), *step.env, str(len(step.argv)), *step.argv]
    return "".join(f"{word}\0" for word in words).encode()


def decode(text: str) -> tuple[tuple[Ran, ...], int]:
    """Results of steps, and how many lines were none."""
    steps, noise = [], 0
    for line in text.splitlines():
        try:
            ran = msgspec.json.decode(line, type=Ran)
        except msgspec.DecodeError:
            noise += bool(line.strip())
            continue
        steps.append(replace(ran, out=_utf8(ran.out), err=_utf8(ran.err)))
    return tuple(steps), noise


def _opened(step: Step, ran: Ran) -> tuple[Ran, ...]:
    """The step's result and those that it printed; of these none where one is out of order."""
    if not step.within:
        return (ran,)
    printed, _ = decode(ran.out)
    fits = [one.step for one in printed] == list(step.within[: len(printed)])
    return (replace(ran, out=""), *(printed if fits else ()))


def _utf8(text: str) -> str:
    """The runner writes each byte as one character."""
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


def run(
    bench: Bench,
    name: str,
    steps: Sequence[Step],
    *,
    access: str = "none",
    devices: tuple[str, ...] = (),
    user: str = "",
) -> Session:
    """Run the steps one after the other in one fresh container, and say how each went.

    Nothing an image does raises here: a step that cannot start, hangs or floods is a result.

    Raises:
        MachineError: the engine itself cannot run anything.
    """
    listing = bench.probes / f"{name}.steps"
    files.write(listing, encode(steps))
    listing.chmod(0o644)
    done = bench.engine.run(
        bench.ref,
        RunSpec(
            argv=(bench.probe("steps"), bench.probe(listing.name)),
            access=access,
            devices=devices,
            mounts=bench.mounts,
            user=user,
            timeout=sum(step.seconds for step in steps) + 30,
        ),
    )
    results, noise = decode(done.out)
    if [ran.step for ran in results] != [step.name for step in steps][: len(results)]:
        # Somebody else wrote results among ours: none of them can be told from a real one.
        results, noise = (), noise + len(results)
    if done.rc:
        # The runner always ends with 0: who ended it may have written results in its place.
        results = ()
    results = tuple(
        one for step, ran in zip(steps, results, strict=False) for one in _opened(step, ran)
    )
    return Session(
        name=name,
        rc=done.rc,
        timed_out=done.timed_out,
        seconds=round(done.seconds, 3),
        says=done.err[-2000:],
        noise=noise,
        steps=results,
    )
