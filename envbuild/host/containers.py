"""Container engines: what each answers, how it builds, how it gives a GPU to a container.

Engines and `detect` share these functions; ``look.here()`` is the machine we are on.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from envbuild.host import cdi, jetson
from envbuild.host.access import OF_PODMAN
from envbuild.host.look import Look, clean, says, version_in
from envbuild.values.host import CdiSpec, EngineFacts, Tool

_PIDS = ("/run/docker.pid", "/var/run/docker.pid", "/var/snap/docker/common/run/docker.pid")
_MOST = 512
_HOOKS = ("nvidia-container-runtime-hook", "nvidia-container-toolkit")


def engines(look: Look, specs: tuple[CdiSpec, ...]) -> tuple[EngineFacts, ...]:
    """Every engine client that is here, answering or not; docker in the order of PATH.

    Each has a probe's time for itself: one that hangs costs no other its answer.
    """
    from concurrent.futures import ThreadPoolExecutor

    asked = [partial(docker, cli=cli, specs=specs) for cli in docker_clis(look)]
    asked += [partial(podman, cli=cli, specs=specs) for cli in look.find("podman")[:1]]
    apptainers = look.find("apptainer") or look.find("singularity")
    asked += [partial(apptainer, cli=cli, specs=specs) for cli in apptainers[:1]]
    with ThreadPoolExecutor(max_workers=8) as pool:
        return tuple(pool.map(lambda ask: ask(look.probing()), asked))


def docker_clis(look: Look) -> tuple[str, ...]:
    """Each docker client: the first on PATH may lack BuildKit where the system's own has it."""
    if look.system == "Windows":
        return look.find("docker.exe")
    return look.find("docker", "/usr/bin/docker")


def docker(look: Look, cli: str, specs: tuple[CdiSpec, ...]) -> EngineFacts:
    """One docker client, its server, its way to BuildKit and its access modes."""
    done = look.run(cli, "info", "--format", "{{json .}}")
    info = parse_info(done.out)
    if "host" in info and "version" in info:
        return EngineFacts(name="docker", cli=cli, says=OF_PODMAN)
    if done.timed_out:
        return EngineFacts(name="docker", cli=cli, says=says(done))
    version = info.get("ServerVersion")
    client = info.get("ClientInfo")
    context = client.get("Context") if isinstance(client, dict) else None
    answers = isinstance(version, str) and bool(version) and not info.get("ServerErrors")
    return EngineFacts(
        name="docker",
        cli=cli,
        version=clean(version)[:60] if answers and isinstance(version, str) else None,
        answers=answers,
        buildkit=buildkit(look, cli),
        access=docker_access(look, info, specs) if answers else (),
        rootless=parse_rootless(info) if answers else None,
        says="" if answers else _why(info) or says(done),
        context=_word(context),
        endpoint=endpoint(look.environ.get("DOCKER_HOST", ""), _word(context)),
        daemon=daemon(look, info),
        system=_word(info.get("OperatingSystem")),
        runtimes=tuple(sorted(_keys(info.get("Runtimes")))),
        default_runtime=_word(info.get("DefaultRuntime")),
        cgroup_driver=_word(info.get("CgroupDriver")),
        security=tuple(
            option.partition(",")[0].removeprefix("name=")
            for option in _texts(info.get("SecurityOptions"))
        ),
        devices=tuple(_devices(info)),
    )


def endpoint(docker_host: str, context: str | None) -> str | None:
    """The socket that the client talks to; of another machine only how it is reached.

    >>> endpoint("ssh://eve@box.example", None)
    'ssh'
    """
    scheme, _, place = docker_host.partition("://")
    if docker_host:
        return place if scheme == "unix" else scheme[:20]
    return "/var/run/docker.sock" if context in {None, "default"} else None


def daemon(look: Look, info: Mapping[str, Any]) -> str | None:
    """Path of the server's program, where its process can be seen from here."""
    root = _word(info.get("DockerRootDir"))
    for file in _PIDS:
        pid = (look.text(file) or "").strip()
        line = look.data(f"/proc/{pid}/cmdline", 4096) if re.fullmatch(r"\d{1,9}", pid) else None
        program = clean((line or b"").partition(b"\0")[0].decode("utf-8", "replace"))
        is_snap = file.startswith("/var/snap")
        if program and (root is None or root.startswith("/var/snap") == is_snap):
            return program[:200]
    return None


def _devices(info: Mapping[str, Any]) -> Iterator[str]:
    found = info.get("DiscoveredDevices")
    for device in (found if isinstance(found, list) else [])[:_MOST]:
        if isinstance(device, dict) and isinstance(device.get("ID"), str):
            yield clean(device["ID"])[:200]


def _keys(value: object) -> tuple[str, ...]:
    return tuple(clean(str(key))[:60] for key in value) if isinstance(value, dict) else ()


def _word(value: object) -> str | None:
    return clean(value)[:100] or None if isinstance(value, str) else None


def parse_info(text: str) -> Mapping[str, Any]:
    """The JSON object that ``docker info --format '{{json .}}'`` prints; empty if it is none."""
    try:
        info = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return info if isinstance(info, dict) else {}


def _why(info: Mapping[str, Any]) -> str:
    errors = _texts(info.get("ServerErrors"))
    return errors[0][:300] if errors else ""


def parse_rootless(info: Mapping[str, Any]) -> bool:
    """Whether docker's server runs without root."""
    return any("rootless" in option for option in _texts(info.get("SecurityOptions")))


def buildkit(look: Look, cli: str) -> str | None:
    """How this client reaches BuildKit: ``buildx``, ``DOCKER_BUILDKIT``, or None.

    A client up to 22 holds BuildKit itself: its help then knows ``--secret``. A newer one without
    the plug-in fails here with its own words.
    """
    done = look.run(cli, "buildx", "version")
    if done.rc == 0 and "buildx" in done.out:
        return "buildx"
    done = look.run(cli, "build", "--help", DOCKER_BUILDKIT="1")
    return "DOCKER_BUILDKIT" if done.rc == 0 and "--secret" in done.out else None


def docker_access(
    look: Look, info: Mapping[str, Any], specs: tuple[CdiSpec, ...]
) -> tuple[str, ...]:
    """GPU access modes of a docker server: ``cdi``, ``gpus``, ``nvidia-runtime``.

    Files of this machine count only if the server runs on it: not behind DOCKER_HOST=tcp:// or
    ssh://, not in Docker Desktop's own machine.
    """
    host = look.environ.get("DOCKER_HOST", "")
    desktop = "Docker Desktop" in str(info.get("OperatingSystem", ""))
    local = not desktop and (not host or host.startswith("unix:"))
    modes = []
    if _has_cdi(look, info, specs, local=local):
        modes.append("cdi")
    runtimes = info.get("Runtimes")
    runtime = isinstance(runtimes, dict) and "nvidia" in runtimes
    hook = local and any(look.find(name, f"/usr/bin/{name}") for name in _HOOKS)
    # Docker Desktop passes the GPU on by itself, on its WSL kernel only.
    own = desktop and "microsoft" in str(info.get("KernelVersion", "")).lower()
    # The hook behind --gpus refuses a Jetson (nvidia-container-toolkit, hook_config.go).
    refused = local and jetson.probe(look) is not None
    if (runtime or hook or own) and not refused:
        modes.append("gpus")
    if runtime:
        modes.append("nvidia-runtime")
    return tuple(modes)


def _has_cdi(
    look: Look, info: Mapping[str, Any], specs: tuple[CdiSpec, ...], *, local: bool
) -> bool:
    found = tuple(_devices(info))
    if any(device.startswith("nvidia.com/gpu=") for device in found):
        return True
    if found or not local:
        return False
    # Engines from 25 to 28.1 read their folders but do not list what they found; later ones leave
    # the list out when it is empty.
    folders = {_real(look, folder): folder for folder in _texts(info.get("CDISpecDirs"))}
    usual = {_real(look, folder) for folder in cdi.FOLDERS}
    other = cdi.read(look, [name for real, name in folders.items() if real not in usual])[0]
    return has_nvidia(
        tuple(s for s in (*specs, *other) if _real(look, str(Path(s.path).parent)) in folders)
    )


def _real(look: Look, folder: str) -> str:
    return os.path.realpath(look.path(folder))


def has_nvidia(specs: tuple[CdiSpec, ...]) -> bool:
    """Whether any specification names an NVIDIA GPU."""
    return any(device.startswith("nvidia.com/gpu=") for s in specs for device in s.devices)


def podman(look: Look, cli: str, specs: tuple[CdiSpec, ...]) -> EngineFacts:
    """Podman, asked for its version only: ``podman info`` makes a storage folder and a process."""
    done = look.run(cli, "--version")
    version = version_in(done.out, "podman version ") if done.rc == 0 else None
    user = getattr(os, "geteuid", None)
    return EngineFacts(
        name="podman",
        cli=cli,
        version=version,
        answers=version is not None,
        access=("cdi",) if version and has_nvidia(specs) else (),
        rootless=user() != 0 if user and look.real else None,
        says="" if version else says(done),
    )


def apptainer(look: Look, cli: str, specs: tuple[CdiSpec, ...]) -> EngineFacts:
    """Apptainer or Singularity; ``--nv`` takes the host's driver files, so the access is native.

    Its other ways are found in its help: ``--device`` came with apptainer 1.5 (its CHANGELOG.md).
    """
    done = look.run(cli, "--version")
    version = version_in(done.out) if done.rc == 0 else None
    flags = look.run(cli, "exec", "--help").out if version else ""
    user = getattr(os, "geteuid", None)
    ways = (
        ("native", bool(version)),
        ("cdi", " --device " in flags and has_nvidia(specs)),
        ("gpus", " --nvccli " in flags and bool(look.find("nvidia-container-cli"))),
    )
    return EngineFacts(
        name="apptainer",
        cli=cli,
        version=version,
        answers=version is not None,
        access=tuple(way for way, offered in ways if offered),
        rootless=user() != 0 if user and look.real else None,
        says="" if version else says(done),
    )


def container_toolkit(look: Look) -> Tool | None:
    """The NVIDIA container toolkit, by whichever of its programs is here."""
    for name in ("nvidia-ctk", "nvidia-container-cli"):
        for path in look.find(name, f"/usr/bin/{name}")[:1]:
            version = version_in(look.run(path, "--version").out, r"version:? ")
            return Tool(name="nvidia-container-toolkit", version=version, path=path, source=name)
    return None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(clean(v) for v in value if isinstance(v, str)) if isinstance(value, list) else ()
