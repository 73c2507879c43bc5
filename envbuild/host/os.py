"""Operating system: release, kernel, C library, architecture; and the container we are in."""

import os
import platform
import re
import struct
import sys
from collections.abc import Mapping

from envbuild.host.look import Look
from envbuild.values.host import Os, Tool

_ARCHES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
_ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
# How os-release spells what the matrices call otherwise, and whose minor version is no release.
_NAMES = {
    "rocky": "rockylinux",
    "amzn": "amazonlinux",
    "opensuse-leap": "opensuse",
    "ol": "oraclelinux",
}
_BY_MAJOR = {
    "debian",
    "rocky",
    "rhel",
    "almalinux",
    "centos",
    "ol",
    "sles",
    "amzn",
    "opensuse-leap",
}
# Systems that are an image, to which packages are layered: dnf changes nothing in them.
_VARIANTS = {"silverblue": "silverblue", "kinoite": "kinoite"}
_IMAGES = {"coreos", "iot", "sericea", "onyx", "sway-atomic", "budgie-atomic", "cosmic-atomic"}
_LIBC = (
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/aarch64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/aarch64-linux-gnu/libc.so.6",
    "/lib64/libc.so.6",
    "/usr/lib64/libc.so.6",
    "/usr/lib/libc.so.6",
)


def probe(look: Look) -> Os:
    """The system below the root; a field that cannot be read stays None."""
    if look.system != "Linux":
        release = platform.release() if look.real else None
        return Os(
            id=look.system.lower() or None,
            name=f"{look.system} {release or ''}".strip() or None,
            kernel=platform.version() if look.real else None,
            arch=arch(platform.machine()) if look.real else None,
            source="platform",
        )
    text = look.text("/etc/os-release") or look.text("/usr/lib/os-release")
    fields = parse_release(text or "")
    libc = next(filter(None, (look.data(path, 4 << 20) for path in _LIBC)), b"")
    kernel = (look.text("/proc/sys/kernel/osrelease") or "").strip()
    return Os(
        id=os_id(fields, ostree=look.exists("/run/ostree-booted")),
        name=fields.get("PRETTY_NAME") or fields.get("NAME"),
        kernel=kernel or (platform.release() if look.real else None),
        glibc=parse_libc(libc) or (_own_glibc() if look.real else None),
        arch=elf_arch(libc) or (arch(platform.machine()) if look.real else None),
        source="/etc/os-release" if text else "",
    )


def parse_release(text: str) -> dict[str, str]:
    """The ``NAME=value`` lines of os-release, quotes taken off."""
    pairs = re.findall(r"^([A-Z][A-Z0-9_]*)=([\"']?)(.*?)\2\s*$", text, re.MULTILINE)
    return {name: value[:200] for name, _, value in pairs}


def os_id(fields: Mapping[str, str], *, ostree: bool = False) -> str | None:
    """The release as the matrices spell it; a derivative is the release whose archive it uses.

    Args:
        fields: of os-release.
        ostree: the system was started from an image (``/run/ostree-booted``).

    >>> os_id({"ID": "ubuntu", "VERSION_ID": "24.04"})
    'ubuntu24.04'
    >>> os_id({"ID": "rocky", "VERSION_ID": "9.4"})
    'rockylinux9'
    >>> os_id({"ID": "fedora", "VERSION_ID": "42", "VARIANT_ID": "silverblue"})
    'fedora-silverblue42'
    """
    name, version = fields.get("ID", "").lower(), fields.get("VERSION_ID", "").lower()
    if name not in {"ubuntu", "debian"}:
        base = _base(fields)
        if base:
            return base
    elif not version:
        # Debian testing has no number, only a code name.
        return _by_codename(fields.get("VERSION_CODENAME", "")) or name
    if not re.fullmatch(r"[a-z0-9._-]{1,40}", name):
        return None
    version = version if re.fullmatch(r"[a-z0-9._-]{1,20}", version) else ""
    version = version.partition(".")[0] if name in _BY_MAJOR else version
    return _NAMES.get(name, name) + _image(name, fields, ostree=ostree) + version


def _image(name: str, fields: Mapping[str, str], *, ostree: bool) -> str:
    """What parts a system that is an image from the one of the same packages."""
    variant = fields.get("VARIANT_ID", "").lower()
    if name == "fedora" and variant in _VARIANTS:
        return f"-{_VARIANTS[variant]}"
    return "-ostree" if ostree or (name == "fedora" and variant in _IMAGES) else ""


def is_image(id: str) -> bool:
    """A system that is an image, by its id."""
    return any(part in id for part in ("-ostree", "-silverblue", "-kinoite"))


def _base(fields: Mapping[str, str]) -> str | None:
    codename = fields.get("UBUNTU_CODENAME") or fields.get("DEBIAN_CODENAME")
    return _by_codename(codename) if codename else None


def _by_codename(codename: str) -> str | None:
    from envbuild.matrix.load import load

    return next((row.id for row in load().oses if codename and row.codename == codename), None)


def parse_libc(data: bytes) -> str | None:
    """The version that a glibc holds: ``GNU C Library (...) stable release version 2.36``."""
    match = re.search(rb"GNU C Library [^\n]{0,200}?release version (\d{1,2}\.\d{1,3})", data)
    return match[1].decode() if match else None


def elf_arch(data: bytes) -> str | None:
    """The architecture of an ELF file, from its header."""
    if len(data) < 20 or data[:4] != b"\x7fELF" or data[5] != 1:
        return None
    return _ELF_MACHINES.get(struct.unpack_from("<H", data, 18)[0])


def arch(machine: str) -> str | None:
    """One spelling of an architecture: ``x86_64``, ``aarch64``, else as it is."""
    return _ARCHES.get(machine.lower(), machine.lower()) or None


def _own_glibc() -> str | None:
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return None
    return text.removeprefix("glibc ").strip() or None


def python(look: Look) -> Tool | None:
    """The interpreter that runs us; a foreign root's is not known."""
    if not look.real:
        return None
    version = ".".join(map(str, sys.version_info[:3]))
    return Tool(name="python", version=version, path=sys.executable or None, source="sys")


def inside(look: Look) -> str | None:
    """What kind of container this process is in: docker, podman, kubernetes, ...; None outside."""
    if look.environ.get("APPTAINER_CONTAINER") or look.environ.get("SINGULARITY_CONTAINER"):
        return "apptainer"
    if look.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    named = look.environ.get("container", "")
    if look.exists("/run/.containerenv"):
        return "podman"
    if look.exists("/.dockerenv"):
        return "docker"
    if re.fullmatch(r"[a-z][a-z0-9-]{1,30}", named):
        return named
    return parse_cgroup(look.text("/proc/1/cgroup") or "")


def parse_cgroup(text: str) -> str | None:
    """The container manager that the cgroup path of process 1 names.

    >>> parse_cgroup("12:devices:/kubepods/besteffort/pod1/abc")
    'kubernetes'
    """
    for word, kind in (
        ("kubepods", "kubernetes"),
        ("libpod", "podman"),
        ("docker", "docker"),
        ("lxc", "lxc"),
        ("containerd", "containerd"),
    ):
        if re.search(rf"^\d*:[^:\n]*:.*/{word}", text, re.MULTILINE):
            return kind
    return None
