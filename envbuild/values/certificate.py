"""The certificate: what ran, on what, what it gave, and how each verdict follows from it."""

from typing import Literal

from envbuild.values.codec import Pairs, Value
from envbuild.values.plan import MatrixId

Verdict = Literal["pass", "fail", "skip", "inconclusive", "void"]
Blame = Literal["image", "machine", "suite"]


class Subject(Value):
    """What was certified; never anything but what ran.

    Attributes:
        kind: ``manifest`` (digest of the platform manifest), ``config`` (unpushed: config digest
            and diff_ids), ``prefix`` (local engine: lock digest and tree hash), ``rootfs``.
        name: repository or path; the run used ``name@digest`` where kind is manifest.
        digest: of the kind said, None for rootfs.
    """

    kind: Literal["manifest", "config", "prefix", "rootfs"]
    name: str
    digest: str | None = None
    diff_ids: tuple[str, ...] = ()
    lock: str | None = None


class Device(Value):
    """The GPU a suite ran on; memory in MiB."""

    name: str
    uuid: str
    cc: str
    memory_mib: int | None = None
    sms: int | None = None
    pci_bus: str | None = None


class Control(Value):
    """The same check made to fail on purpose, in this run."""

    name: str
    red: bool
    says: str


class Point(Value):
    """A figure beside another, in its unit, with its own interval.

    Attributes:
        name: what differs: ``read``, ``to the device, page-locked``.
        size: bytes that were worked on, for a figure by size; 0 = it is not one.
    """

    name: str
    value: float
    low: float
    high: float
    size: int = 0


class Measure(Value):
    """A measured figure and the interval that a verdict is taken from.

    Attributes:
        value: median of ``n`` samples, in ``unit``; ``discarded`` more were thrown away.
        low, high: 95 % interval of the median, by order statistics.
        smallest, q1, q3, largest: how the samples lie.
        limit: physical limit in ``unit``, None = unknown; ``floor``: least share of it, 0 to 1.
        shown: the figure as people know it, with dtype: ``772 TFLOP/s bf16``.
        mhz: SM clock while it ran; ``celsius``: of the GPU after it; None = not known.
        throttle: reasons that the driver gave for a lowered clock, before or after.
        dtype: of the operations that were counted, ``bf16``; empty where none were.
        intensity: operations a byte that memory moves; None = nothing is moved, or not counted.
        points: the same figure in other sizes or directions.
        owner: whose it is when it falls behind an older one; an image owns only what it compiles
            or brings along.
    """

    unit: str
    value: float
    low: float
    high: float
    n: int
    discarded: int = 0
    smallest: float = 0.0
    q1: float = 0.0
    q3: float = 0.0
    largest: float = 0.0
    limit: float | None = None
    floor: float | None = None
    shown: str = ""
    mhz: float | None = None
    celsius: int | None = None
    throttle: tuple[str, ...] = ()
    dtype: str = ""
    intensity: float | None = None
    points: tuple[Point, ...] = ()
    owner: Blame = "machine"


class Check(Value):
    """One check.

    Attributes:
        id: ``suite.name``.
        core: the suite cannot pass without it.
        value, unit, limit: what was measured against what; text where it is not a number.
        formula, inputs: how ``limit`` and ``verdict`` follow from named inputs.
        expression: the limit as plain arithmetic over ``terms``, ``clock_khz * 2000 * bus_bits /
            8e9``; empty where nothing is computed.
        bounds: inequalities that a pass needs, over the terms, that ``limit``, and the figure's
            ``value``, ``low`` and ``high``: ``low >= 0.94 * limit``.
        terms: numbers by name, to the last digit.
        rule: the comparison in words.
        blame: who owns a failure; None unless the verdict is not pass.
        reason: why it was skipped, failed or stayed open.
        measure: the figure behind ``value``, where it is one.
    """

    id: str
    core: bool
    verdict: Verdict
    says: str
    value: str = ""
    unit: str = ""
    limit: str = ""
    formula: str = ""
    inputs: Pairs = Pairs()
    expression: str = ""
    bounds: tuple[str, ...] = ()
    terms: Pairs = Pairs()
    rule: str = ""
    blame: Blame | None = None
    reason: str = ""
    controls: tuple[Control, ...] = ()
    measure: Measure | None = None


class SuiteResult(Value):
    """A suite's verdict: pass only if every core check passed and none failed or stayed open."""

    name: str
    required: bool
    verdict: Verdict
    checks: tuple[Check, ...] = ()
    seconds: float = 0.0


class Runtimes(Value):
    """Three different things that are all called "the CUDA version"; None = there is none."""

    driver: str | None = None
    driver_cuda: str | None = None
    toolkit: str | None = None
    framework: str | None = None


class Certificate(Value):
    """The result of one certify run.

    Attributes:
        verdict: of the required suites together; ``exit`` is its exit code.
        cc: what the image promises; the certificate covers only ``device.cc``.
        access: how the GPU came in: cdi, gpus, nvidia-runtime, native or none.
        node: the machine that ran it, by the name it goes by; None = it was kept out, or an older
            release wrote this.
        recorded: how this file came to be: ``run``, or ``replayed`` (never a certificate).
    """

    schema: Literal["envbuild/certificate/1"] = "envbuild/certificate/1"
    verdict: Verdict
    exit: int
    subject: Subject
    cc: tuple[str, ...] = ()
    node: str | None = None
    device: Device | None = None
    runtimes: Runtimes = Runtimes()
    engine: str = ""
    engine_version: str | None = None
    access: str = "none"
    suites: tuple[SuiteResult, ...] = ()
    not_run: tuple[str, ...] = ()
    probes: Pairs = Pairs()
    started: str
    finished: str
    tool: str
    matrix: MatrixId
    recorded: Literal["run", "replayed"] = "run"
