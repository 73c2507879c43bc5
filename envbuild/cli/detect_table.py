"""A machine or an image as labelled lines, for people."""

from envbuild.values.host import EngineFacts, Gpu, Host, KernelModule, Tool, Windows
from envbuild.values.image import ImageFacts

Rows = list[tuple[str, str]]


def of_host(host: Host) -> Rows:
    """The host as labelled lines; what is not there is said, not left out."""
    rows: Rows = [("gpu", _gpu(gpu)) for gpu in host.gpus] or [("gpu", "none found")]
    rows.append(("driver", _driver(host)))
    name = _words(host.os.name or host.platform, host.os.id and f"({host.os.id})")
    kernel = host.os.kernel and f"kernel {host.os.kernel}"
    glibc = host.os.glibc and f"glibc {host.os.glibc}"
    rows.append(("system", _commas(name, kernel, glibc, host.os.arch)))
    if host.wsl:
        rows.append(("wsl", _words(f"WSL {host.wsl.generation}", host.wsl.version)))
    if host.jetson:
        rows.append(("jetson", _words(host.jetson.model, host.jetson.l4t)))
    if host.inside_container:
        rows.append(("inside", f"this is a container ({host.inside_container})"))
    rows.append(("compiler", " · ".join(map(_tool, host.compilers)) or "none on PATH"))
    rows += [
        ("toolkit", _words("CUDA", t.version, t.path, f"({t.source})")) for t in host.toolkits
    ] or [("toolkit", "no CUDA toolkit found")]
    rows += [("engine", _engine(e)) for e in host.engines] or [
        ("engine", "no docker, podman or apptainer: the local engine needs none")
    ]
    rows += [("module", _module(m)) for m in host.kernel.modules if m.name in {"nvidia", "nouveau"}]
    rows += [
        ("library", _words(t.name, t.version, t.path, f"({t.source})"))
        for t in host.libraries
        if t.name == "libcuda.so.1"
    ]
    rows += [("kernel", text) for text in _kernel(host)]
    if host.windows:
        rows.append(("windows", _windows(host.windows)))
    if host.container_toolkit:
        rows.append(("ctk", _words("NVIDIA container toolkit", host.container_toolkit.version)))
    rows += [("cdi", _words(c.path, c.version, f"({len(c.devices)} devices)")) for c in host.cdi]
    if host.python:
        rows.append(("python", _words(host.python.version, host.python.path)))
    rows += [("env", f"{name}={value}") for name, value in host.env]
    rows += [("held", " ".join(host.held))] if host.held else []
    rows += [("broken", " ".join(host.broken))] if host.broken else []
    rows += [("pin", f"{p.package}: {p.rule} ({p.path})") for p in host.pins]
    rows += [("failed", f"{p.name}: {p.says}") for p in host.probes if not p.ok]
    if host.kind != "detected" and host.recorded:
        rows.append((host.kind, host.recorded))
    return rows


def _words(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)


def _commas(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)


def _gpu(gpu: Gpu) -> str:
    return _commas(
        gpu.name or "unnamed",
        f"cc {gpu.cc}" if gpu.cc else "cc not known",
        f"{gpu.memory_mib} MiB" if gpu.memory_mib else None,
        f"MIG on, {len(gpu.mig.instances)} instances" if gpu.mig and gpu.mig.enabled else None,
        _words(gpu.pci_bus, gpu.pci_id and f"({gpu.pci_id})"),
        f"held by {gpu.held_by}" if gpu.held_by not in {None, "nvidia"} else None,
        f"compute mode {gpu.compute_mode}" if gpu.compute_mode not in {None, "default"} else None,
        f"{gpu.virtual}, {gpu.licence or 'licence not known'}" if gpu.virtual == "vgpu" else None,
        gpu.uuid,
        gpu.source and f"from {gpu.source}",
    )


def _driver(host: Host) -> str:
    driver = host.driver
    if driver is None:
        return "part of L4T, version not known" if host.jetson else "none loaded"
    return _commas(
        driver.version or "version not known",
        f"up to CUDA {driver.cuda}" if driver.cuda else "CUDA level not known",
        driver.module and f"{driver.module} kernel module",
        driver.source and f"from {driver.source}",
    )


def _tool(tool: Tool) -> str:
    return _words(tool.name, tool.version or "(version not known)")


def _engine(engine: EngineFacts) -> str:
    head = _words(engine.name, engine.version, engine.cli)
    if not engine.answers:
        return f"{head}: does not answer: {engine.says or 'no reason given'}"
    return _commas(
        head,
        f"BuildKit: {engine.buildkit or 'not with this client'}"
        if engine.name == "docker"
        else None,
        f"GPU access: {', '.join(engine.access) or 'none'}",
        "rootless" if engine.rootless else None,
        engine.system if engine.system == "Docker Desktop" else None,
        "from snap" if (engine.daemon or "").startswith("/snap/") else None,
    )


def _module(module: KernelModule) -> str:
    return _commas(
        _words(module.name, module.version, "loaded" if module.loaded else "not loaded"),
        module.on_disk and _words(module.on_disk, "on disk", module.flavour, module.path),
    )


def _kernel(host: Host) -> list[str]:
    kernel = host.kernel
    said = (
        "Secure Boot is on" if kernel.secure_boot else None,
        f"SELinux {kernel.selinux}" if kernel.selinux else None,
        f"lockdown {kernel.lockdown}" if kernel.lockdown not in {None, "none"} else None,
    )
    text = _commas(*said)
    return [text] if text else []


def _windows(windows: Windows) -> str:
    return _commas(
        _words(windows.name or "Windows", windows.build),
        windows.driver and f"driver {windows.driver}",
        windows.wsl and f"WSL {windows.wsl}",
        windows.wsl_kernel and f"kernel {windows.wsl_kernel}",
    )


def of_image(image: ImageFacts) -> Rows:
    """An image as labelled lines."""
    rows = [("image", _commas(image.ref, image.platform, f"user {image.user or 'root'}"))]
    rows.append(("system", _commas(image.os or "not known", image.shell or "no shell")))
    rows.append(("compiler", " · ".join(map(_tool, image.compilers)) or "no nvcc"))
    rows += [
        ("runtime", _words(one.name, one.version, one.path)) for one in image.resolves if one.path
    ]
    rows += [("driver", f"{path} is baked in") for path in image.drivers]
    rows += [("python", image.python)] if image.python else []
    rows += [("with", _words(t.name, t.version)) for t in image.framework]
    rows += [("built for", " ".join(image.arch_list))] if image.arch_list else []
    return rows
