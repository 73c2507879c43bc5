"""What a machine is, as probes found it. A failed probe is a fact too."""

from typing import Literal

from envbuild.values.codec import Pairs, Value

Module = Literal["open", "proprietary"]


class Probe(Value):
    """One probe: what it looked at and whether it could read it."""

    name: str
    ok: bool
    says: str = ""


class Mig(Value):
    """Partitioning of one GPU: the mode, and the uuid of each instance."""

    enabled: bool
    instances: tuple[str, ...] = ()


class Gpu(Value):
    """One NVIDIA GPU. ``source`` names the probe; memory in MiB; cc None = not known.

    ``pci_id`` is ``vendor:device`` (``10de:1b06``), ``pci_bus`` the address.
    """

    name: str | None = None
    uuid: str | None = None
    cc: str | None = None
    memory_mib: int | None = None
    mig: Mig | None = None
    pci_bus: str | None = None
    pci_id: str | None = None
    source: str = ""


class Usage(Value):
    """How busy a GPU was at one moment; memory in MiB, None = not known.

    Attributes:
        when: ``before`` or ``after`` a run's own work.
        busy: percent of the time in which a kernel ran, over about a second.
        used_mib: memory in use, without what the driver keeps for itself.
    """

    uuid: str | None = None
    when: str = ""
    busy: int | None = None
    used_mib: int | None = None
    total_mib: int | None = None


class Driver(Value):
    """The NVIDIA driver: its version, the highest CUDA it serves, its kernel module."""

    version: str | None = None
    cuda: str | None = None
    module: Module | None = None
    source: str = ""


class Os(Value):
    """Operating system; ``id`` as the matrices spell it (``debian12``, ``ubuntu24.04``)."""

    id: str | None = None
    name: str | None = None
    kernel: str | None = None
    glibc: str | None = None
    arch: str | None = None
    source: str = ""


class Tool(Value):
    """A compiler, toolkit or interpreter: name, version, where it is, which probe saw it."""

    name: str
    version: str | None = None
    path: str | None = None
    source: str = ""


class EngineFacts(Value):
    """A container engine, and whether it answers.

    Attributes:
        name: docker, podman or apptainer.
        cli: path of the client that was probed.
        version: of the server where there is one, else of the program.
        answers: a daemon or the program itself did what it was asked.
        buildkit: how builds reach BuildKit: ``buildx``, ``DOCKER_BUILDKIT``, or None.
        access: GPU access modes that the engine offers here: ``cdi``, ``gpus``, ``nvidia-runtime``.
        rootless: the engine runs without root.
        says: why it does not answer.
    """

    name: str
    cli: str | None = None
    version: str | None = None
    answers: bool = False
    buildkit: str | None = None
    access: tuple[str, ...] = ()
    rootless: bool | None = None
    says: str = ""


class CdiSpec(Value):
    """One CDI specification file: path, cdiVersion, the device names it defines."""

    path: str
    version: str | None = None
    devices: tuple[str, ...] = ()


class Wsl(Value):
    """WSL facts: 1 or 2, and the version of WSL where it is known."""

    generation: int
    version: str | None = None


class Jetson(Value):
    """Jetson facts: the L4T release and the module's model string."""

    l4t: str | None = None
    model: str | None = None


class Host(Value):
    """A machine. ``platform`` is linux, wsl2, wsl1, jetson, windows or another system's name.

    ``inside_container`` says what kind of container this process is in; ``env`` holds only the
    variables that change how CUDA behaves or builds (NVIDIA_*, CUDA*, NVCC_*, LD_LIBRARY_PATH,
    TORCH_CUDA_ARCH_LIST).
    """

    schema: Literal["envbuild/host/1"] = "envbuild/host/1"
    recorded: str | None = None
    kind: Literal["detected", "recorded", "made"] = "detected"
    gpus: tuple[Gpu, ...] = ()
    driver: Driver | None = None
    os: Os = Os()
    platform: str = "linux"
    wsl: Wsl | None = None
    jetson: Jetson | None = None
    inside_container: str | None = None
    engines: tuple[EngineFacts, ...] = ()
    container_toolkit: Tool | None = None
    cdi: tuple[CdiSpec, ...] = ()
    toolkits: tuple[Tool, ...] = ()
    compilers: tuple[Tool, ...] = ()
    python: Tool | None = None
    env: Pairs = Pairs()
    probes: tuple[Probe, ...] = ()
