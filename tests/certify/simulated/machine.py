"""An engine that is made: it reads the list of steps that a run mounts, and answers each.

Everything above it is the product's own: what to run, reading the answers, judging them.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from envbuild.certify import run
from envbuild.certify.seen import Seen
from envbuild.certify.suites import SUITES
from envbuild.engines.base import Mount, RunSpec
from envbuild.io.proc import Completed
from envbuild.matrix.load import load as matrices
from envbuild.values.codec import replace
from envbuild.values.host import EngineFacts, Host, Usage
from envbuild.values.image import Image
from tests.certify.simulated.devices import Device, Place, place
from tests.certify.simulated.inside import CONFIG, Inside, inside


class Trouble(NamedTuple):
    """What ails a machine or an image; the defaults ail nothing.

    Attributes:
        clock, dram, l2, fma, tensor, library, copies, launch: what is reached, as a share of what
            a healthy one reaches; ``launch`` of the time that it takes.
        compiled: speed of what the image's compiler makes, by that of the prebuilt code.
        noise: standard deviation of samples, as a share; ``spikes`` of them are slower by half.
        reasons: bits that NVML gives for a low clock.
        busy: percent, that others keep the GPU busy.
        wrong, nan: names of results with wrong elements, with NaN among them.
        green: controls that find nothing, by name.
        hung, cut, dead, garbled, silent: steps that never end, flood, crash, print half a line,
            print nothing.
        reference: the prebuilt code is as wrong as the image's own.
        answers: step to (event before which it stops, call that fails, its code, its name).
        says: framework step to the text of the exception that it ends with.
        tools: a profiler or debugger to what it says instead of working.
    """

    clock: float = 1.0
    dram: float = 1.0
    l2: float = 1.0
    fma: float = 1.0
    tensor: float = 1.0
    library: float = 1.0
    copies: float = 1.0
    launch: float = 1.0
    compiled: float = 1.0
    noise: float = 0.0015
    spikes: float = 0.0
    reasons: int = 0
    busy: int = 0
    wrong: tuple[str, ...] = ()
    nan: tuple[str, ...] = ()
    green: tuple[str, ...] = ()
    hung: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    garbled: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    reference: bool = False
    answers: tuple[tuple[str, str, str, int, str], ...] = ()
    says: tuple[tuple[str, str], ...] = ()
    tools: tuple[tuple[str, str], ...] = ()


HEALTHY = Trouble()


class Call(NamedTuple):
    """One step as the runner in a container would take it.

    Attributes:
        gpu: a GPU came in.
        uuid: of the GPU or MIG instance that came in; empty = all.
    """

    step: str
    argv: tuple[str, ...]
    env: dict[str, str]
    gpu: bool
    device: Device
    inside: Inside
    trouble: Trouble
    random: random.Random
    uuid: str = ""

    def after(self, flag: str) -> str:
        """The word behind a flag."""
        return self.argv[self.argv.index(flag) + 1]

    @property
    def program(self) -> str:
        """``probe smoke``, ``nvcc``, ``torch_build.py``."""
        name = Path(self.argv[0]).name
        if name == "python3":
            return Path(self.argv[1]).name
        return f"probe {self.argv[1]}" if name == "probe" else name


class Answer(NamedTuple):
    """What a program printed and how it ended."""

    out: str = ""
    err: str = ""
    rc: int = 0


Program = Callable[[Call], Answer]


class Machine:
    """The part of an engine that certifying needs.

    Args:
        device: its GPU.
        image: what is in the image; None = a healthy one for this GPU.
        trouble: what ails it.
        where: host and engine; None = a healthy machine of this GPU.
        seed: of the noise.
    """

    name = "docker"

    def __init__(
        self,
        device: Device,
        image: Inside | None = None,
        trouble: Trouble = HEALTHY,
        where: Place | None = None,
        seed: int = 1,
    ) -> None:
        self.device = device
        self.place = where or place(device)
        self.held = image or inside(device.cc)
        self.trouble = trouble
        self.specs: list[RunSpec] = []
        self.random = random.Random(f"{device.title} {seed}")  # noqa: S311 - noise

    @property
    def host(self) -> Host:
        return self.place.host

    @property
    def image(self) -> Image:
        return self.held.image()

    def probe(self) -> EngineFacts:
        return self.place.engine

    def inside(self, mount: Mount) -> str:
        return mount.source

    def inspect(self, ref: str) -> Image | None:
        return self.image if ref in {self.image.ref, CONFIG} else None

    def run(self, ref: str, spec: RunSpec) -> Completed:
        assert self.inspect(ref)
        self.specs.append(spec)
        lines = []
        for name, limit, env, argv in _steps(Path(spec.argv[1])):
            call = Call(
                name,
                argv,
                env,
                spec.access != "none",
                self.device,
                self.held,
                self.trouble,
                self.random,
                spec.devices[0] if spec.devices else "",
            )
            lines.append(json.dumps(ran(call, limit)))
        return Completed(spec.argv, 0, "\n".join(lines), "", False, 1.0)


def observe(machine: Machine, *require: str, **policy: object) -> Seen:
    """Everything that a run of these suites on this machine observes."""
    wanted = run.Policy(require=require or tuple(SUITES), **policy)  # type: ignore[arg-type]
    seen = run.observations(
        machine, machine.image, host=machine.host, policy=wanted, matrices=matrices()
    )
    gpu = seen.choice.gpu
    busy = (("before", machine.trouble.busy), ("after", machine.trouble.busy))
    usage = tuple(
        Usage(uuid=gpu.uuid if gpu else None, when=when, busy=now, used_mib=620, total_mib=24564)
        for when, now in busy
    )
    return replace(
        seen, usage=usage, started="2026-12-02T00:00:00Z", finished="2026-12-02T00:01:00Z"
    )


def _steps(path: Path) -> Iterator[tuple[str, int, dict[str, str], tuple[str, ...]]]:
    """The list, as `kernels/runner/steps.c` reads it."""
    words = iter(path.read_bytes().decode().split("\0")[:-1])
    for name in words:
        limit = int(next(words))
        env = dict(next(words).split("=", 1) for _ in range(int(next(words))))
        yield name, limit, env, tuple(next(words) for _ in range(int(next(words))))


def ran(call: Call, limit: int) -> dict[str, object]:
    """The runner's line for a step, with what ails it."""
    from tests.certify.simulated.programs import PROGRAMS

    trouble, step = call.trouble, call.step
    program = PROGRAMS.get(call.program)
    known = program is not None
    answer = program(call) if program else Answer("", f"{call.argv[0]} cannot be started", 127)
    out, rc, signal = answer.out, answer.rc, 0
    if step in trouble.hung or step in trouble.dead:
        # What it had printed by then: up to the middle.
        lines = out.splitlines(keepends=True)
        out = "".join(lines[: (len(lines) + 1) // 2])
        rc, signal = -1, 9 if step in trouble.hung else 11
    if step in trouble.cut:
        out = "nothing to see here, line after line\n" * 7000
    if step in trouble.garbled:
        out = out[: len(out) // 2]
    if step in trouble.silent:
        out = ""
    return {
        "step": step,
        "rc": rc if known else 127,
        "signal": signal,
        "timed_out": step in trouble.hung,
        "ms": limit if step in trouble.hung else 100,
        "cut": step in trouble.cut,
        "out": out,
        "err": answer.err,
    }
