"""Look at this machine: every probe side by side, each one's failure a fact of the result."""

import functools
import platform
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from envbuild.host import (
    apt,
    cdi,
    configs,
    containers,
    devices,
    gpu,
    jetson,
    kernel,
    libraries,
    limits,
    packages,
    pci,
    services,
    toolchain,
    windows,
    wsl,
)
from envbuild.host import os as system_probe
from envbuild.host.look import Found, Look, Runner, clean, here, run_limited, run_nothing, seconds
from envbuild.values.codec import Pairs, replace
from envbuild.values.host import Host, Kernel, Limits, Os, Probe, Windows, Wsl

T = TypeVar("T")

_ENV = re.compile(
    r"NVIDIA_\w+|CUDA\w+|NVCC_\w+|TORCH_CUDA_ARCH_LIST|LD_LIBRARY_PATH|LD_PRELOAD|LIBRARY_PATH"
    r"|NCCL_\w+|TRITON_PTXAS_PATH|PYTORCH_CUDA_ALLOC_CONF|PYTORCH_NVML_BASED_CUDA_CHECK|MAX_JOBS"
    r"|CC|CXX|CONDA_PREFIX|DOCKER_CONTEXT|NUMBAPRO_\w+|NUMBA_CUDA_\w+|CUPY_\w+"
)
# NVIDIA_API_KEY and its like change nothing about CUDA and belong to the user alone.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CRED|AUTH|PROXY|URL")
# What each probe reads; facts without a source of their own are from there.
_SOURCES = {
    "jetson": "/etc/nv_tegra_release, /proc/device-tree",
    "cdi": "/etc/cdi, /var/run/cdi",
    "windows": "reg.exe, wsl.exe, nvidia-smi.exe",
    "wsl": "/proc/version, /dev/dxg",
    "gpu": "NVML, nvidia-smi, /sys/bus/pci",
    "engines": "docker info, podman --version, apptainer --version",
    "container toolkit": "nvidia-ctk --version",
    "compilers": "PATH",
    "toolkits": "version.json, nvcc --version, conda-meta",
    "os": "/etc/os-release, libc.so.6",
    "container": "environment, /proc/1/cgroup",
    "kernel": "/proc/modules, /sys/module, modinfo, efivars, /sys/fs/selinux, dmesg",
    "devices": "/dev",
    "nvswitches": "/sys/bus/pci",
    "libraries": "LD_LIBRARY_PATH, /etc/ld.so.cache",
    "packages": "dpkg, rpm or pacman",
    "pins": "/etc/apt/preferences.d, versionlock of dnf",
    "apt": "/etc/apt/sources.list.d",
    "services": "systemctl show",
    "sockets": "/run",
    "configs": "the files that they name",
    "limits": "/proc/meminfo, /proc/self/limits, /sys/fs/cgroup",
    "user": "/proc/self/status, /etc/group",
}
_BUDGETS = 3  # a probe keeps its time by itself; what is stuck in the kernel is left behind


def detect(
    root: Path = Path("/"),
    *,
    environ: Mapping[str, str] | None = None,
    runner: Runner | None = None,
    system: str | None = None,
) -> Host:
    """What the machine below ``root`` is; never raises and writes nothing.

    Args:
        root: its file system; commands of another root than ``/`` are not run.
        environ: environment variables, None = ours.
        runner: runs commands, None = this machine's; a probe has two seconds for all of its own.
        system: ``Linux`` or ``Windows``, None = this one.
    """
    look = here(environ)
    if root != look.root or runner or system:
        own = run_limited if root == look.root else run_nothing
        look = Look(root, look.environ, system or platform.system(), runner or own)
    return _host(look)


@functools.cache
def this_machine() -> Host:
    """`detect` of this machine, once a process: stages of one command see one host."""
    return detect()


def _host(look: Look) -> Host:
    asked = _Probes(look)
    board = asked.ask("jetson", jetson.probe)
    specs = asked.ask_found("cdi", cdi.probe)
    around = asked.ask("windows", windows.probe)
    in_wsl = asked.ask("wsl", wsl.probe)
    cards = asked.ask_found("gpu", lambda look: gpu.probe(look, board()))
    engines = asked.ask("engines", lambda look: containers.engines(look, specs() or ()))
    toolkit = asked.ask("container toolkit", containers.container_toolkit)
    compilers = asked.ask("compilers", toolchain.compilers)
    toolkits = asked.ask("toolkits", toolchain.probe)
    release = asked.ask("os", system_probe.probe)
    inside = asked.ask("container", system_probe.inside)
    running = asked.ask_found("kernel", kernel.probe)
    nodes = asked.ask("devices", devices.probe)
    switches = asked.ask("nvswitches", pci.switches)
    loaded = asked.ask("libraries", libraries.probe)
    installed = asked.ask_found("packages", packages.probe)
    pins = asked.ask("pins", lambda look: (*apt.pins(look), *packages.version_locks(look)))
    lists = asked.ask("apt", apt.sources)
    units = asked.ask_found("services", services.probe)
    sockets = asked.ask("sockets", services.sockets)
    files = asked.ask("configs", configs.probe)
    limited = asked.ask("limits", limits.probe)
    user = asked.ask("user", limits.user)
    gpus, driver = cards() or ((), None)
    nvcc, cuda = toolkits() or ((), ())
    names = installed() or packages.Packages()
    root, groups = user() or (None, ())
    linux = _with_version(in_wsl(), around())
    return Host(
        gpus=gpus,
        driver=driver,
        os=release() or Os(),
        platform=_platform(look, linux, is_jetson=board() is not None),
        wsl=linux,
        jetson=board(),
        inside_container=inside(),
        engines=engines() or (),
        container_toolkit=toolkit(),
        cdi=specs() or (),
        toolkits=cuda,
        compilers=(*(compilers() or ()), *nvcc),
        python=system_probe.python(look),
        env=environment(look.environ),
        kernel=running() or Kernel(),
        devices=nodes() or (),
        nvswitches=switches() or 0,
        libraries=loaded() or (),
        packages=names.versions,
        held=names.held,
        broken=names.broken,
        pins=pins() or (),
        apt_sources=lists() or (),
        services=units() or Pairs(),
        sockets=sockets() or (),
        configs=files() or (),
        root=root,
        groups=groups,
        limits=limited() or Limits(),
        windows=around(),
        # Fields are read top down: by here every probe has answered.
        probes=asked.facts(),
    )


class _Probes:
    """Probes at work side by side, and the facts about themselves."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._until = time.monotonic() + _BUDGETS * seconds(look.environ)
        self._facts: list[Callable[[], tuple[Probe, ...]]] = []

    def ask(self, name: str, probe: Callable[[Look], T]) -> Callable[[], T | None]:
        """Start a probe that gives a value only."""
        return self.ask_found(name, lambda look: (probe(look), ()))

    def ask_found(self, name: str, probe: Callable[[Look], Found[T]]) -> Callable[[], T | None]:
        """Start a probe that gives a value and facts about itself.

        Returns:
            The answer, which waits for it; None where the probe failed or does not come back.
        """
        found: list[Found[T]] = []
        failed = ["something that it looks at does not come back"]
        look = self._look.probing()

        def work() -> None:
            # A probe that fails in a way nobody thought of costs its own fact, never the others.
            try:
                found.append(probe(look))
            except Exception as e:
                failed[0] = clean(f"{type(e).__name__}: {e}")[:300]

        # The end of the process takes the thread along, however the kernel holds it.
        thread = threading.Thread(target=work, daemon=True)
        thread.start()

        def answer() -> T | None:
            thread.join(max(0.0, self._until - time.monotonic()))
            return found[0][0] if found else None

        def facts() -> tuple[Probe, ...]:
            if not found:
                return (Probe(name=name, ok=False, says=failed[0]),)
            late = tuple(Probe(name=name, ok=False, says=says) for says in dict.fromkeys(look.late))
            return found[0][1] or late or (Probe(name=name, ok=True, says=_SOURCES[name]),)

        self._facts.append(facts)
        return answer

    def facts(self) -> tuple[Probe, ...]:
        """How each probe went, and which mounts do not answer."""
        dead = (f"{mount} does not answer" for mount in self._look.mounts.dead)
        silent = tuple(Probe(name="mount", ok=False, says=says) for says in dead)
        return (*(probe for facts in self._facts for probe in facts()), *silent)


def _with_version(found: Wsl | None, around: Windows | None) -> Wsl | None:
    return replace(found, version=around.wsl) if found and around else found


def _platform(look: Look, found: Wsl | None, *, is_jetson: bool) -> str:
    if found:
        return f"wsl{found.generation}"
    return "jetson" if is_jetson else look.system.lower()


def environment(environ: Mapping[str, str]) -> Pairs:
    """The variables that change how CUDA behaves or builds, sorted, without anything secret."""
    return Pairs(
        tuple(
            (name, re.sub(r"(://)[^/@\s]{1,200}@", r"\1", clean(environ[name])[:2000]))
            for name in sorted(environ)
            if _ENV.fullmatch(name) and not _SECRET.search(name)
        )
    )
