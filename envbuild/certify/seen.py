"""What a run observed: enough to judge it again from a file, on a machine without a GPU."""

from typing import Literal

import msgspec

from envbuild.certify.card import Card
from envbuild.certify.floors import Floor
from envbuild.errors import InputError
from envbuild.values.certificate import Subject
from envbuild.values.codec import Pairs, Value
from envbuild.values.host import EngineFacts, Gpu, Usage
from envbuild.values.image import Image
from envbuild.values.plan import MatrixId

# Exit code of a session whose container never came up, as the clients of engines give it.
NOT_STARTED = 125


class Ran(Value):
    """One command inside the image: how it ended, what it printed (at most 256 KiB a stream).

    Attributes:
        rc: exit code, -1 when a signal ended it; 127 = could not be started.
        signal: the signal that ended it, else 0.
        ms: milliseconds.
        cut: it printed more than was kept.
    """

    step: str
    rc: int
    signal: int = 0
    timed_out: bool = False
    ms: int = 0
    cut: bool = False
    out: str = ""
    err: str = ""

    @property
    def ok(self) -> bool:
        """It ended by itself, in time, with exit code 0."""
        return self.rc == 0 and not self.timed_out and not self.signal


class Session(Value):
    """One container run (or one local run) that went through a list of steps.

    Attributes:
        rc, timed_out: of the whole run; ``says`` is the engine's own last words.
        noise: lines on stdout that are no step's result.
    """

    name: str
    rc: int
    timed_out: bool = False
    seconds: float = 0.0
    says: str = ""
    noise: int = 0
    steps: tuple[Ran, ...] = ()


class Code(Value):
    """Device code that the run made or carried, and its real targets as our reader sees them."""

    name: str
    sha256: str
    targets: tuple[str, ...] = ()
    error: str = ""


class Ceiling(Value):
    """Newest host compilers that a toolkit takes, from its matrix row."""

    cuda: str
    gcc: int
    clang: int | None = None
    source: str = ""


class Terms(Value):
    """What the image promises, and where that is said.

    Attributes:
        stage: ``devel`` must have a compiler; ``runtime`` is certified with prebuilt code.
        cc: compute capabilities promised; ``promise`` their real targets, without ``sm_``.
        gencode: what its compiler is asked for.
        cuda: toolkit release promised.
        origin: plan, labels, flag or device.
        wheels, apt: locked versions by name; empty without a lock.
        lock: digest of that lock.
    """

    stage: Literal["devel", "runtime"] = "devel"
    cc: tuple[str, ...] = ()
    promise: tuple[str, ...] = ()
    gencode: tuple[str, ...] = ()
    cuda: str | None = None
    origin: str = ""
    wheels: Pairs = Pairs()
    apt: Pairs = Pairs()
    lock: str | None = None


class Choice(Value):
    """The GPU to run on and how it comes in; ``reason`` says why there is none."""

    gpu: Gpu | None = None
    access: str = "none"
    reason: str = ""


class Seen(Value):
    """Everything that ``judge`` reads.

    Attributes:
        gpus: all that a driver shows on the host; suite `multi` works on each.
        platform: of the host, as `Host` has it: who can allow a thing differs by it.
        inside: the container that envbuild itself runs in, None = none: a rented machine, mostly.
        usage: how busy they were before and after the run.
        place: where the scratch and probe folders were seen inside.
        nonce: a random text that the probe had to repeat.
        count: elements that the add kernel had to sum.
        asked: suites that were observed.
        ceiling: None = the toolkit inside has no matrix row, or there is none.
        card: what rows know of the chosen GPU.
        floors: the lowest cc that packages of the image take, from their rows.
        faults: a kernel may be made to fault; that is written to the machine's log.
        interrupted: somebody ended the run after `smoke`; later suites were not seen to their end.
    """

    schema: Literal["envbuild/observations/1"] = "envbuild/observations/1"
    image: Image
    subject: Subject
    terms: Terms
    engine: EngineFacts
    choice: Choice
    gpus: tuple[Gpu, ...] = ()
    usage: tuple[Usage, ...] = ()
    asked: tuple[str, ...]
    nonce: str
    count: int
    probes_at: str
    scratch_at: str
    sessions: tuple[Session, ...] = ()
    codes: tuple[Code, ...] = ()
    ceiling: Ceiling | None = None
    card: Card = Card()
    floors: tuple[Floor, ...] = ()
    faults: bool = False
    interrupted: bool = False
    driver: str | None = None
    platform: str = "linux"
    inside: str | None = None
    probes: Pairs = Pairs()
    started: str
    finished: str
    tool: str
    matrix: MatrixId

    def step(self, name: str) -> Ran | None:
        """How the step of this name went, the last time; None = it never ran."""
        return next(reversed(self.all(name)), None)

    def all(self, name: str) -> tuple[Ran, ...]:
        """Each run of the step of this name."""
        return tuple(ran for s in self.sessions for ran in s.steps if ran.step == name)

    def code(self, name: str) -> Code | None:
        """The device code of this name."""
        return next((code for code in self.codes if code.name == name), None)


class Spoken(msgspec.Struct, frozen=True):
    """What lines of every probe have; fields that another kind of line has keep their defaults.

    Attributes:
        event: the line's kind.
        nonce: the run that ``start`` and ``end`` are of.
        call, says, code: a call that failed, in words and by number.
        uuid: of a device.
        bad: calls of the whole run that failed.
    """

    event: str
    nonce: str = ""
    name: str = ""
    call: str = ""
    says: str = ""
    code: int = 0
    uuid: str = ""
    bad: int = 0


class Event(Spoken, frozen=True):
    """One line of ``probe loads``, ``probe driver`` and ``probe smoke``."""

    path: str = ""
    error: str = ""
    signal: int = 0
    version: int = 0
    module: str = ""
    missing: str = ""
    cuda: int = 0
    bus: str = ""
    major: int = 0
    minor: int = 0
    sms: int = 0
    bytes: int = 0
    count: int = 0
    cc: str = ""
    answer: int = 0
    available: int = 0
    total: int = 0
    need: int = 0
    compared: int = -1
    wrong: int = -1
    first: int = -1
    ms: float = 0.0
    calls: int = 0


def events(text: str) -> tuple[Event, ...]:
    """The probe's lines, in order; lines that are no JSON object are other people's noise.

    Raises:
        InputError: a line is a JSON object and yet none of the probe's.
    """
    found = []
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            found.append(msgspec.json.decode(line, type=Event))
        except msgspec.DecodeError as e:
            what = f"the probe printed {line[:80]!r}: {e}"
            raise InputError(what) from e
    return tuple(found)
