"""What a `doctor` case gives as ``host`` and ``image``, as the records that the command reads.

The hosts are *made*: each field is what the report of the case says; what it does not name is
healthy, as the header of open.yaml defines it.
"""

from typing import Any

from envbuild.values.codec import Pairs
from envbuild.values.host import (
    AptSource,
    CdiSpec,
    Config,
    Driver,
    EngineFacts,
    Gpu,
    Host,
    Kernel,
    KernelModule,
    Limits,
    Mig,
    Module,
    Os,
    Probe,
    Tool,
    Windows,
    Wsl,
)
from envbuild.values.image import ImageFacts

Given = dict[str, Any]

HOST_KEYS = {
    "gpus", "driver", "driver_cuda", "nvidia_smi", "module_flavour", "module_loaded",
    "secure_boot", "os", "glibc", "arch", "gcc", "toolkits", "nvcc", "env", "wsl", "wsl_version",
    "windows", "docker_root", "docker_context", "dockerd_path", "docker", "no_cgroups",
    "container_toolkit", "podman", "podman_root", "cdi_spec_version", "cdi_devices", "cdi_driver",
    "selinux", "container_use_devices", "proc_devices", "cdi_spec_majors", "params",
    "modprobe_conf", "apt_list_files", "packages", "held", "services", "nvswitches", "libraries",
    "l4t", "shm_mib", "compilers", "inside", "nouveau", "memory_mib",
}  # fmt: skip
IMAGE_KEYS = {"torch", "torch_cuda", "toolkit", "user", "os", "torch_arch_list", "packages", "env"}
_CONFIG = "/etc/nvidia-container-runtime/config.toml"


def host_of(given: Given) -> Host:
    """The machine of a case."""
    wsl = bool(given.get("wsl"))
    smi = given.get("nvidia_smi", "ok")
    works = smi == "ok"
    version = given.get("driver", "580.95.05")
    return Host(
        kind="made",
        recorded="2026-12-01",
        gpus=tuple(_gpu(one, given, works=works) for one in given.get("gpus", [{}])),
        driver=version and _driver(given, version, works=works, wsl=wsl),
        os=_os(given),
        platform="wsl2" if wsl else "jetson" if "l4t" in given else "linux",
        wsl=Wsl(generation=2, version=given.get("wsl_version", "2.6.1.0"), dxg=True, systemd=True)
        if wsl
        else None,
        inside_container=given.get("inside"),
        engines=_engines(given),
        container_toolkit=_container_toolkit(given),
        cdi=_cdi(given, wsl=wsl),
        toolkits=_toolkits(given),
        compilers=_compilers(given),
        env=Pairs({name: str(text) for name, text in given.get("env", {}).items()}),
        probes=_probes(smi),
        kernel=_kernel(given, version),
        packages=Pairs(given.get("packages", {})),
        held=tuple(given.get("held", ())),
        apt_sources=tuple(
            AptSource(path=path, says=text)
            for path, text in given.get("apt_list_files", {}).items()
        ),
        services=Pairs(given.get("services", {})),
        nvswitches=given.get("nvswitches", 0),
        sockets=_sockets(given),
        configs=_configs(given),
        windows=_windows(given) if wsl else None,
        limits=Limits(memory_mib=given.get("memory_mib"), shm_mib=given.get("shm_mib")),
    )


def _gpu(one: Given, given: Given, *, works: bool) -> Gpu:
    mig = Mig(enabled=True, instances=tuple(one.get("mig", ()))) if one.get("mig_mode") else None
    windows = given.get("windows", {})
    model = windows.get("driver_model")
    named = bool(one)
    return Gpu(
        name=one.get("name") if named else "NVIDIA GeForce RTX 4090",
        cc=str(one["cc"]) if "cc" in one else None if named else "8.9",
        pci_id=one.get("pci_id"),
        mig=mig,
        source="nvml" if works else "pci",
        held_by="nouveau" if given.get("nouveau") else None,
        driver_model=model.lower() if model else None,
        compute_mode=one.get("compute_mode"),
        licence=one.get("licence"),
        virtual=one.get("virtual"),
    )


def _driver(given: Given, version: str, *, works: bool, wsl: bool) -> Driver:
    source = "nvml" if works else "/proc/driver/nvidia/version"
    module: Module | None = given.get("module_flavour") or (None if wsl else _fitting(given))
    return Driver(version=version, cuda=given.get("driver_cuda"), module=module, source=source)


def _fitting(given: Given) -> Module:
    """The flavour that fits the cards of a case."""
    old = any(float(one.get("cc", 8.9)) < 7.5 for one in given.get("gpus", ()))
    return "proprietary" if old else "open"


def _os(given: Given) -> Os:
    id = given.get("os", "ubuntu24.04")
    glibc = {
        "ubuntu22.04": "2.35",
        "ubuntu24.04": "2.39",
        "ubuntu26.04": "2.43",
        "debian12": "2.36",
    }
    return Os(
        id=id,
        name=id,
        glibc=given.get("glibc", glibc.get(id)),
        arch=given.get("arch", "x86_64"),
        source="/etc/os-release",
    )


def _engines(given: Given) -> tuple[EngineFacts, ...]:
    root = given.get("docker_root", "rootful")
    docker = EngineFacts(
        name="docker",
        cli="/snap/bin/docker" if "snap" in given.get("dockerd_path", "") else "/usr/bin/docker",
        version=given.get("docker", "28.5.2"),
        answers=True,
        buildkit="buildx",
        access=("cdi", "gpus", "nvidia-runtime") if given.get("container_toolkit", "1") else (),
        rootless=root == "rootless",
        context=given.get("docker_context", "default"),
        daemon=given.get("dockerd_path", "/usr/bin/dockerd"),
        system="Docker Desktop" if "desktop" in given.get("docker_context", "") else "Linux",
        runtimes=("nvidia", "runc"),
    )
    if "podman" not in given:
        return (docker,)
    podman = EngineFacts(
        name="podman",
        cli="/usr/bin/podman",
        version=given["podman"],
        answers=True,
        access=("cdi",),
        rootless=given.get("podman_root") == "rootless",
    )
    return (podman,)


def _container_toolkit(given: Given) -> Tool | None:
    version = given.get("container_toolkit", "1.18.1")
    path = "/usr/bin/nvidia-ctk"
    return Tool(name="nvidia-container-toolkit", version=version, path=path) if version else None


def _cdi(given: Given, *, wsl: bool) -> tuple[CdiSpec, ...]:
    if not given.get("container_toolkit", "1.18.1"):
        return ()
    names = given.get("cdi_devices", ["all"] if wsl else ["0", "all"])
    majors = given.get("cdi_spec_majors", {})
    return (
        CdiSpec(
            path="/var/run/cdi/nvidia.yaml",
            version=given.get("cdi_spec_version", "0.5.0"),
            devices=tuple(f"nvidia.com/gpu={name}" for name in names),
            driver=given.get("cdi_driver", given.get("driver", "580.95.05")),
            majors=Pairs({f"/dev/{name}": str(number) for name, number in majors.items()}),
        ),
    )


def _toolkits(given: Given) -> tuple[Tool, ...]:
    found = []
    for one in given.get("toolkits", ()):
        path = one if str(one).startswith("/") else f"/usr/local/cuda-{one}"
        found.append(Tool(name="cuda", version=path.rpartition("-")[2], path=path, source="folder"))
    if given.get("nvcc"):
        version = given["nvcc"]
        found.append(Tool(name="cuda", version=version, path=f"/usr/local/cuda-{version}"))
    return tuple(found)


def _compilers(given: Given) -> tuple[Tool, ...]:
    found = [Tool(name="gcc", version=str(given.get("gcc", "13.3.0")), path="/usr/bin/gcc")]
    for tool in _toolkits(given):
        path = f"{tool.path}/bin/nvcc"
        found.append(Tool(name="nvcc", version=tool.version, path=path, source="PATH"))
    return tuple(found)


def _probes(smi: str | None) -> tuple[Probe, ...]:
    if smi == "ok":
        return (Probe(name="nvml", ok=True),)
    says = smi or "not found"
    return (Probe(name="nvml", ok=False, says=says), Probe(name="nvidia-smi", ok=False, says=says))


def _kernel(given: Given, version: str | None) -> Kernel:
    loaded = given.get("module_loaded", True)
    flavour: Module = given.get("module_flavour") or _fitting(given)
    modules = []
    if version and not given.get("wsl"):
        running = version if loaded else None
        module = KernelModule(
            name="nvidia", loaded=loaded, version=running, on_disk=version, flavour=flavour
        )
        modules.append(module)
    if given.get("nouveau"):
        modules.append(KernelModule(name="nouveau", loaded=True))
    use = given.get("container_use_devices")
    return Kernel(
        modules=tuple(modules),
        majors=Pairs({n: str(major) for n, major in given.get("proc_devices", {}).items()}),
        secure_boot=given.get("secure_boot"),
        selinux=given.get("selinux"),
        container_use_devices=None if use is None else use not in {"off", False},
        cgroup=2,
    )


def _sockets(given: Given) -> tuple[str, ...]:
    root = given.get("docker_root", "rootful")
    roots = root if isinstance(root, list) else [root]
    paths = {"rootful": "/run/docker.sock", "rootless": "/run/user/1000/docker.sock"}
    return tuple(paths[one] for one in roots)


def _configs(given: Given) -> tuple[Config, ...]:
    found = []
    if (value := given.get("no_cgroups")) is not None:
        pairs = Pairs({"nvidia-container-cli.no-cgroups": str(value).lower()})
        found.append(Config(path=_CONFIG, values=pairs))
    if "params" in given:
        pairs = Pairs({name: str(number) for name, number in given["params"].items()})
        found.append(Config(path="/proc/driver/nvidia/params", values=pairs))
    for path, line in given.get("modprobe_conf", {}).items():
        words = line.split()
        pairs = Pairs(
            {f"options.{words[1]}.{n}": v for n, _, v in (w.partition("=") for w in words[2:])}
        )
        found.append(Config(path=path, values=pairs))
    return tuple(found)


def _windows(given: Given) -> Windows:
    windows = given.get("windows", {})
    return Windows(
        name=windows.get("os", "Windows 11 Pro"),
        driver=windows.get("driver", given.get("driver", "581.42")),
        wsl=given.get("wsl_version", "2.6.1.0"),
    )


def image_of(given: Given) -> ImageFacts:
    """The image of a case."""
    framework = []
    if "torch" in given:
        framework.append(Tool(name="torch", version=given["torch"]))
    cuda = given.get("torch_cuda")
    if cuda:
        framework.append(Tool(name="torch.cuda", version=cuda))
    toolkit = given.get("toolkit")
    return ImageFacts(
        ref="made/image:1",
        os=given.get("os", "ubuntu24.04"),
        framework=tuple(framework),
        toolkits=(Tool(name="cuda", version=toolkit),) if toolkit else (),
        arch_list=tuple(given.get("torch_arch_list", ())),
        user=str(given.get("user", "")),
        env=Pairs(given.get("env", {})),
    )
