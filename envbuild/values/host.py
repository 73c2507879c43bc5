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

    Attributes:
        held_by: the kernel driver that the bus shows: ``nvidia``, ``nouveau``, ``vfio-pci``, ...
        compute_mode: ``default``, ``exclusive-process`` or ``prohibited``.
        driver_model: of Windows: ``wddm``, ``tcc`` or ``mcdm``.
        virtual: ``none``, ``passthrough``, ``vgpu``, ``host-vgpu`` or ``host-vsga``.
        licence: of a vGPU, as the driver says it: ``licensed``, ``unlicensed (restricted)``, ...
        fabric: registration with the NVLink fabric: ``completed``, ``in-progress``,
            ``not-started`` or ``not-supported``.
    """

    name: str | None = None
    uuid: str | None = None
    cc: str | None = None
    memory_mib: int | None = None
    mig: Mig | None = None
    pci_bus: str | None = None
    pci_id: str | None = None
    source: str = ""
    held_by: str | None = None
    compute_mode: str | None = None
    driver_model: str | None = None
    virtual: str | None = None
    licence: str | None = None
    persistence: bool | None = None
    fabric: str | None = None


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


class KernelModule(Value):
    """A kernel module of the graphics stack: what runs, and what would be loaded after a reboot.

    Attributes:
        name: ``nvidia``, ``nvidia_uvm``, ``nouveau``, ...
        loaded: it is in the running kernel.
        version: of the loaded one.
        on_disk: version of the file that belongs to the running kernel.
        flavour: of that file, by its licence.
        path: of that file.
    """

    name: str
    loaded: bool = False
    version: str | None = None
    on_disk: str | None = None
    flavour: Module | None = None
    path: str | None = None


class Kernel(Value):
    """What the running kernel holds and forbids.

    Attributes:
        modules: modules of the graphics stack, loaded or on disk.
        majors: device majors by name (``nvidia-uvm`` -> ``509``), from ``/proc/devices``.
        secure_boot: the firmware takes signed code only.
        lockdown: ``none``, ``integrity`` or ``confidentiality``.
        selinux: ``enforcing`` or ``permissive``; None without SELinux.
        container_use_devices: SELinux's boolean of that name.
        cgroup: version of the control groups, 1 or 2.
        user_namespaces: a user without root may make them.
        log: its own newest lines about the GPU (NVRM, Xid, nouveau), oldest first.
    """

    modules: tuple[KernelModule, ...] = ()
    majors: Pairs = Pairs()
    secure_boot: bool | None = None
    lockdown: str | None = None
    selinux: str | None = None
    container_use_devices: bool | None = None
    cgroup: int | None = None
    user_namespaces: bool | None = None
    log: tuple[str, ...] = ()


class DeviceNode(Value):
    """One device file: major number, rights (``0666``), owner, and whether we may use it."""

    path: str
    major: int | None = None
    mode: str | None = None
    uid: int | None = None
    gid: int | None = None
    usable: bool | None = None


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
        access: GPU access modes that the engine offers here: ``cdi``, ``gpus``, ``nvidia-runtime``,
            ``native``.
        rootless: the engine runs without root.
        says: why it does not answer.
        context: the docker context that the client uses: ``default``, ``desktop-linux``, ...
        endpoint: the socket of the server, or only the scheme where it is elsewhere (``ssh``).
        daemon: path of the server's program (``/snap/docker/2915/bin/dockerd``).
        system: the system of the server as it says it: ``Docker Desktop``, ``Ubuntu 24.04.3 LTS``.
        runtimes: OCI runtimes that the server knows.
        default_runtime: the one of them that a container gets unasked.
        cgroup_driver: ``systemd``, ``cgroupfs`` or ``none``.
        security: what the server confines with: ``seccomp``, ``selinux``, ``rootless``, ...
        devices: CDI devices that the server says it found.
    """

    name: str
    cli: str | None = None
    version: str | None = None
    answers: bool = False
    buildkit: str | None = None
    access: tuple[str, ...] = ()
    rootless: bool | None = None
    says: str = ""
    context: str | None = None
    endpoint: str | None = None
    daemon: str | None = None
    system: str | None = None
    runtimes: tuple[str, ...] = ()
    default_runtime: str | None = None
    cgroup_driver: str | None = None
    security: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


class CdiSpec(Value):
    """One CDI specification file: path, cdiVersion, the device names it defines.

    Attributes:
        driver: version of the driver whose files it mounts.
        majors: device majors that it writes down, by device path.
        missing: files and devices of this host that it names and that are not there.
        hooks: programs of this host that it has started for each container.
    """

    path: str
    version: str | None = None
    devices: tuple[str, ...] = ()
    driver: str | None = None
    majors: Pairs = Pairs()
    missing: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()


class Wsl(Value):
    """WSL facts: 1 or 2, and the version of WSL where it is known.

    Attributes:
        distro: the name of the distribution in WSL's own list.
        systemd: process 1 is systemd.
        dxg: ``/dev/dxg``, the way to the GPU, is there.
        interop: Windows programs can be started from here.
    """

    generation: int
    version: str | None = None
    distro: str | None = None
    systemd: bool | None = None
    dxg: bool | None = None
    interop: bool | None = None


class Windows(Value):
    """The Windows around us, or below us.

    Attributes:
        name: ``Windows 11 Pro``, ``Windows Server 2022 Standard``.
        build: ``10.0.22631.4317``.
        driver: version of the NVIDIA driver of Windows.
        wsl: version of WSL; None with the one that came with Windows, which does not tell.
        wsl_kernel: version of WSL's Linux kernel.
        distros: distributions of WSL and the generation of each.
        debugger_interface: ``EnableInterface`` of GPUDebugger is set, as debuggers in WSL need.
        counters_for_all: GPU performance counters are open to every user.
    """

    name: str | None = None
    build: str | None = None
    driver: str | None = None
    wsl: str | None = None
    wsl_kernel: str | None = None
    distros: Pairs = Pairs()
    debugger_interface: bool | None = None
    counters_for_all: bool | None = None


class Jetson(Value):
    """Jetson facts: the L4T release and the module's model string.

    ``csv`` are the lists of files that the container runtime mounts there.
    """

    l4t: str | None = None
    model: str | None = None
    csv: tuple[str, ...] = ()


class AptSource(Value):
    """One apt entry of a vendor: where it stands and points to.

    ``says`` is the first line of a file that holds no entry (an error page saved as a list).
    """

    path: str
    url: str | None = None
    suite: str | None = None
    signed_by: str | None = None
    says: str = ""


class Pin(Value):
    """A package manager's rule that keeps a version: ``package`` as it is written there.

    ``rule`` is apt's ``version 580.*`` or the versionlock entry; ``priority`` is apt's.
    """

    path: str
    package: str
    rule: str
    priority: int | None = None


class Config(Value):
    """What a configuration file sets, of what matters here; nested names joined by dots.

    ``options.nvidia.NVreg_...`` of modprobe.d, ``nvidia-container-cli.no-cgroups`` of the container
    toolkit, ``wsl2.memory`` of .wslconfig, ``features.cdi`` of docker's daemon.json.
    """

    path: str
    values: Pairs = Pairs()


class Limits(Value):
    """What programs may use here: memory and shared memory in MiB, locked memory in KiB.

    ``memory_mib`` is the least of the machine's and the container's; -1 = without a limit.
    """

    cpus: int | None = None
    memory_mib: int | None = None
    swap_mib: int | None = None
    shm_mib: int | None = None
    memlock_kib: int | None = None
    open_files: int | None = None


class Host(Value):
    """A machine. ``platform`` is linux, wsl2, wsl1, jetson, windows or another system's name.

    ``inside_container`` says what kind of container this process is in; ``env`` holds only the
    variables that change how CUDA behaves or builds (NVIDIA_*, CUDA*, NVCC_*, LD_LIBRARY_PATH,
    TORCH_CUDA_ARCH_LIST, NCCL_*, LD_PRELOAD, TRITON_PTXAS_PATH, ...).

    Attributes:
        kernel: modules, Secure Boot, SELinux, control groups, kernel log.
        devices: the GPU's device files (``/dev/nvidia*``, ``/dev/dxg``, ``/dev/nvgpu``).
        nvswitches: NVSwitches on the PCI bus.
        libraries: driver libraries in the loader's order, so the first of a name is the one that
            programs get; ``source`` is LD_LIBRARY_PATH, ld.so.cache or folder (not searched).
        packages: installed packages of the GPU and container stack, with versions.
        held: those that the package manager is told to keep.
        broken: those that are unpacked and not configured.
        pins: version rules of apt and dnf for them.
        apt_sources: apt entries of the vendors.
        services: systemd units -> ``active``, ``inactive``, ``failed``; what is not there is left
            out.
        sockets: container daemons' sockets that are there.
        configs: configuration files of driver, container stack and WSL.
        root: this process runs as root.
        groups: groups of this process that open devices or daemons (docker, video, render, ...).
        windows: the Windows around a WSL, or the one we run on.
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
    kernel: Kernel = Kernel()
    devices: tuple[DeviceNode, ...] = ()
    nvswitches: int = 0
    libraries: tuple[Tool, ...] = ()
    packages: Pairs = Pairs()
    held: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    pins: tuple[Pin, ...] = ()
    apt_sources: tuple[AptSource, ...] = ()
    services: Pairs = Pairs()
    sockets: tuple[str, ...] = ()
    configs: tuple[Config, ...] = ()
    root: bool | None = None
    groups: tuple[str, ...] = ()
    limits: Limits = Limits()
    windows: Windows | None = None
