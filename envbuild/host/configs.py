"""Configuration files of driver, container stack and WSL: the settings that matter."""

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from envbuild.host.look import Look, clean
from envbuild.values.codec import Pairs
from envbuild.values.host import Config

_Settings = dict[str, str]
_MOST = 100
_VALUE = 300


class _Kind(NamedTuple):
    """How a file is read, and which of its settings are kept: the rest is the user's own affair."""

    parse: Callable[[str], _Settings]
    kept: re.Pattern[str]


def probe(look: Look) -> tuple[Config, ...]:
    """Every such file that is there and sets something of what is kept."""
    found = []
    for path, kind in _places(look):
        text = look.text(path)
        settings = kind.parse(text) if text else {}
        kept = [(n, v[:_VALUE]) for n, v in settings.items() if kind.kept.fullmatch(n)]
        if kept:
            found.append(Config(path=path, values=Pairs(tuple(sorted(kept)[:_MOST]))))
    return tuple(found)


def _places(look: Look) -> Iterator[tuple[str, _Kind]]:
    home = look.environ.get("HOME", "")
    if look.system == "Windows":
        profile = look.environ.get("USERPROFILE", "")
        yield f"{profile}/.wslconfig", _WSLCONFIG
        return
    for folder in ("/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"):
        for name in look.names(folder):
            if name.endswith(".conf"):
                yield f"{folder}/{name}", _MODPROBE
    yield "/proc/cmdline", _CMDLINE
    yield "/proc/driver/nvidia/params", _PARAMS
    yield "/etc/docker/daemon.json", _DAEMON
    yield "/etc/nvidia-container-runtime/config.toml", _CTK
    yield "/var/snap/docker/current/config/daemon.json", _DAEMON
    if home:
        yield f"{home}/.config/docker/daemon.json", _DAEMON
        yield f"{home}/.config/nvidia-container-runtime/config.toml", _CTK
    yield "/etc/nvidia/gridd.conf", _GRIDD
    yield "/etc/wsl.conf", _WSL
    if look.exists("/usr/lib/wsl") or look.exists("/dev/dxg"):
        for user in look.names("/mnt/c/Users")[:20]:
            yield f"/mnt/c/Users/{user}/.wslconfig", _WSLCONFIG


def parse_modprobe(text: str) -> _Settings:
    r"""``options.MODULE.NAME``, ``blacklist.MODULE`` and ``install.MODULE``.

    >>> parse_modprobe("options nvidia NVreg_RestrictProfilingToAdminUsers=0\nblacklist nouveau")
    {'options.nvidia.NVreg_RestrictProfilingToAdminUsers': '0', 'blacklist.nouveau': ''}
    """
    found = {}
    for line in re.sub(r"\\\n", " ", text).splitlines():
        words = line.split()
        if len(words) < 2 or words[0] not in {"options", "blacklist", "install"}:
            continue
        module = words[1].replace("-", "_")
        if words[0] != "options":
            found[f"{words[0]}.{module}"] = " ".join(words[2:])
        for word in words[2:] if words[0] == "options" else ():
            name, _, value = word.partition("=")
            found[f"options.{module}.{name}"] = value
    return found


def parse_cmdline(text: str) -> _Settings:
    """The words of the kernel's command line."""
    pairs = (word.partition("=") for word in text.split())
    return {name: value for name, _, value in pairs}


def parse_params(text: str) -> _Settings:
    """``Name: value`` lines of the loaded driver."""
    return dict(re.findall(r"^(\w{1,60}): (.{0,200})$", text, re.MULTILINE))


def parse_json(text: str) -> _Settings:
    """A JSON object, nested names joined by dots, a list's entries by commas."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return dict(_flat("", content)) if isinstance(content, dict) else {}


def _flat(prefix: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), inner)
    elif isinstance(value, list):
        yield clean(prefix), ",".join(clean(str(one)) for one in value[:_MOST])
    else:
        text = json.dumps(value) if isinstance(value, bool) or value is None else str(value)
        yield clean(prefix), clean(text)


def parse_ini(text: str) -> _Settings:
    """``section.name``; reads INI and the flat part of TOML, comments and quotes taken off."""
    found, section = {}, ""
    for line in map(str.strip, text.splitlines()):
        head = re.fullmatch(r"\[{1,2}([^\[\]]{1,100})\]{1,2}(\s*#.*)?", line)
        if head:
            section = head[1].strip().strip('"')
            continue
        match = re.fullmatch(r"([\w.-]{1,100})\s*=\s*(.{0,1000})", line)
        if match:
            name = f"{section}.{match[1]}" if section else match[1]
            found[name] = _plain(match[2])
    return found


def _plain(value: str) -> str:
    quoted = re.match(r"""(["'])(.*?)\1""", value)
    return quoted[2] if quoted else re.sub(r"\s+[#;].*$", "", value).strip()


_MODPROBE = _Kind(
    parse_modprobe,
    re.compile(r"(options|blacklist|install)\.(nvidia\w*|nouveau|nova_core)(\.\w+)?"),
)
_CMDLINE = _Kind(
    parse_cmdline,
    re.compile(
        r"(nvidia|nouveau|nvidia[-_]\w+)\.\w+|(modprobe\.|module_|rd\.driver\.)?blacklist|nomodeset"
        r"|systemd\.unified_cgroup_hierarchy|cgroup_no_v1|iommu|(intel|amd)_iommu|lockdown"
        r"|module\.sig_enforce|pci"
    ),
)
_PARAMS = _Kind(
    parse_params,
    re.compile(
        r"RmProfilingAdminOnly|OpenRmEnableUnsupportedGpus|EnableGpuFirmware|ModifyDeviceFiles"
        r"|DeviceFile(UID|GID|Mode)|PreserveVideoMemoryAllocations|NvLinkDisable|EnableResizableBar"
        r"|EnableStreamMemOPs|DynamicPowerManagement|RestrictProfilingToAdminUsers|EnableUVM"
    ),
)
_DAEMON = _Kind(
    parse_json,
    re.compile(
        r"default-runtime|runtimes\.[\w.-]+\.(path|runtimeType)|features\.\w+|exec-opts|cdi-spec-dirs"
        r"|live-restore|default-shm-size|userns-remap|storage-driver|default-cgroupns-mode"
        r"|node-generic-resources|default-ulimits\.\w+\.(Hard|Soft)"
    ),
)
_CTK = _Kind(
    parse_ini,
    re.compile(
        r"disable-require|swarm-resource|supported-driver-capabilities|features\.[\w-]+"
        r"|accept-nvidia-visible-devices-(as-volume-mounts|envvar-when-unprivileged)"
        r"|nvidia-container-cli\.(no-cgroups|ldconfig|ldcache|load-kmods|user|root|path)"
        r"|nvidia-container-runtime\.(mode|runtimes|modes\.[\w.-]+)"
        r"|nvidia-container-runtime\.modes\.\w+\.[\w-]+"
        r"|nvidia-container-runtime-hook\.(skip-mode-detection|path)|nvidia-ctk\.path"
    ),
)
_GRIDD = _Kind(parse_ini, re.compile(r"FeatureType|EnableUI|LicenseInterval"))
_WSL = _Kind(
    parse_ini,
    re.compile(
        r"boot\.systemd|interop\.(enabled|appendWindowsPath)|automount\.(enabled|root|ldconfig)"
        r"|gpu\.enabled"
    ),
)
_WSLCONFIG = _Kind(
    parse_ini,
    re.compile(
        r"(wsl2|experimental)\.(memory|swap|processors|kernelCommandLine|nestedVirtualization|gpuSupport"
        r"|guiApplications|networkingMode|vmIdleTimeout|kernel|autoMemoryReclaim|pageReporting"
        r"|localhostForwarding|sparseVhd|safeMode|debugConsole)"
    ),
)
