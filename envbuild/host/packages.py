"""Installed packages of the GPU and container stack, which are held, which are half installed."""

import re
from typing import NamedTuple

from envbuild.host.look import Found, Look, clean, says
from envbuild.values.codec import Pairs
from envbuild.values.host import Pin, Probe

_OURS = re.compile(
    r"(lib)?nvidia[\w.+-]*|[\w.+-]*-nvidia(-[\w.+-]+)?|(lib)?cuda[\w.+-]*|libcu(dnn|blas|fft)[\w.+-]*"
    r"|libnccl\d*|libnvml[\w.+-]*|nsight-[\w.+-]+|datacenter-gpu-manager[\w.+-]*|mokutil|dkms"
    r"|docker[\w.+-]*|containerd(\.io)?|podman|buildah|crun|runc|apptainer|singularity[\w.+-]*"
    r"|linux-(headers|modules-nvidia)-[\w.+-]+|kernel-devel[\w.+-]*|nvlsm|xserver-xorg-video-(nvidia|nouveau)[\w.+-]*"
)
_STATUS = "/var/lib/dpkg/status"
_SIZE = 64 << 20
_MOST = 400
# States of dpkg that are whole, or no package at all.
_WHOLE = {"installed", "triggers-awaited", "triggers-pending"}
_GONE = {"config-files", "not-installed"}
_RPM = ("/usr/lib/sysimage/rpm", "/var/lib/rpm")
_PACMAN = "/var/lib/pacman/local"
_LOCKS = ("/etc/dnf/plugins/versionlock.list", "/etc/yum/pluginconf.d/versionlock.list")


class Packages(NamedTuple):
    """Versions by name, names that are held, names that are not whole."""

    versions: Pairs = Pairs()
    held: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


def probe(look: Look) -> Found[Packages]:
    """What dpkg, rpm or pacman has installed, of what matters here."""
    data = look.data(_STATUS, _SIZE)
    if data:
        return parse_dpkg(data), ()
    if any(look.names(folder) for folder in _RPM):
        return _rpm(look)
    local = look.names(_PACMAN)
    held = re.findall(
        r"^IgnorePkg\s*=\s*(.{1,500})$", look.text("/etc/pacman.conf") or "", re.MULTILINE
    )
    names = {name for line in held for name in line.split() if ours(name)}
    return Packages(parse_pacman(local), tuple(sorted(names))), ()


def parse_dpkg(data: bytes) -> Packages:
    """The paragraphs of dpkg's status file; of several architectures the first of a name counts."""
    versions: dict[str, str] = {}
    held: set[str] = set()
    broken: set[str] = set()
    for paragraph in data.split(b"\n\n"):
        head = re.match(rb"\s{0,9}Package: ([\w.+-]{1,100})\n", paragraph)
        if head is None or not ours(name := head[1].decode("ascii", "replace")):
            continue
        fields = dict(re.findall(rb"^(Status|Version): (.{1,200})$", paragraph, re.MULTILINE))
        # "install ok installed": what is wanted, whether dpkg fell over it, what it is.
        want, _, state = (
            *fields.get(b"Status", b"").decode("ascii", "replace").split(),
            "",
            "",
            "",
        )[:3]
        if not state or state in _GONE:
            continue
        versions.setdefault(name, clean(fields.get(b"Version", b"").decode("utf-8", "replace")))
        if want == "hold":
            held.add(name)
        if state not in _WHOLE:
            broken.add(name)
    kept = tuple(sorted(versions.items())[:_MOST])
    return Packages(Pairs(kept), tuple(sorted(held)), tuple(sorted(broken)))


def _rpm(look: Look) -> Found[Packages]:
    for program in look.find("rpm", "/usr/bin/rpm")[:1]:
        done = look.run(program, "-qa", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\\n")
        if done.rc:
            return Packages(), (Probe(name="packages", ok=False, says=says(done)),)
        return Packages(parse_rpm(done.out)), ()
    return Packages(), ()


def parse_rpm(text: str) -> Pairs:
    """Lines of ``name version-release``."""
    lines = (line.split(" ") for line in text.splitlines())
    found = {w[0]: w[1][:100] for w in lines if len(w) == 2 and ours(w[0])}
    return Pairs(tuple(sorted(found.items())[:_MOST]))


def parse_pacman(folders: tuple[str, ...]) -> Pairs:
    """Folder names of pacman's database.

    >>> dict(parse_pacman(("nvidia-open-580.95.05-3", "bash-5.3-1")))
    {'nvidia-open': '580.95.05-3'}
    """
    found = {}
    for folder in folders:
        name, _, rest = folder.rpartition("-")
        name, _, version = name.rpartition("-")
        if ours(name):
            found[name] = f"{version}-{rest}"[:100]
    return Pairs(tuple(sorted(found.items())[:_MOST]))


def version_locks(look: Look) -> tuple[Pin, ...]:
    """Entries of dnf's and yum's versionlock for our packages."""
    pins = []
    for path in _LOCKS:
        for line in (look.text(path) or "").splitlines():
            entry = line.strip().removeprefix("!")
            name = re.sub(r"^\d{1,3}:|(-\d{1,3}:|-\d).*$", "", entry)
            if entry and ours(name):
                pins.append(Pin(path=path, package=name, rule=line.strip()[:200]))
    path = "/etc/dnf/versionlock.toml"
    text = look.text(path) or ""
    for block in text.split("[[packages]]")[1:]:
        named = re.search(r'^name\s*=\s*"([^"\n]{1,100})"', block, re.MULTILINE)
        value = re.search(r'^value\s*=\s*"([^"\n]{1,100})"', block, re.MULTILINE)
        if named and ours(named[1]):
            pins.append(Pin(path=path, package=named[1], rule=value[1] if value else "locked"))
    return tuple(pins[:_MOST])


def ours(text: str) -> bool:
    """Whether a package name or pattern (``nvidia-driver-*``) is of the GPU or container stack."""
    return len(text) <= 100 and bool(_OURS.fullmatch(text.replace("*", "").strip("/^$-")))
