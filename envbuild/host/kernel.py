"""The running kernel: modules of the graphics stack, what it forbids, and what it logged."""

import re

from envbuild.host import gpu
from envbuild.host.look import Found, Look, says
from envbuild.values.codec import Pairs
from envbuild.values.host import Kernel, KernelModule, Module, Probe

_MODULES = {
    "nvidia",
    "nvidia_uvm",
    "nvidia_modeset",
    "nvidia_drm",
    "nvidia_peermem",
    "nvgpu",
    "nouveau",
    "nova_core",
    "vfio_pci",
}
_FIRMWARE = "/sys/firmware"
# The variable and its vendor's GUID are the UEFI specification's own (3.3, Globally Defined).
_SECURE_BOOT = f"{_FIRMWARE}/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_SELINUX = "/sys/fs/selinux"
_LOGGED = re.compile(r"NVRM|\bnvidia\b|\bnvidia[-_]\w+|nouveau|nvgpu|\bXid\b")
_LINES = 40
_NO = {"/proc/sys/kernel/unprivileged_userns_clone": "0", "/proc/sys/user/max_user_namespaces": "0"}
_NO |= {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"}


def probe(look: Look) -> Found[Kernel]:
    """The kernel's own facts; a log that may not be read is a failed probe."""
    log, probes = _log(look)
    kernel = Kernel(
        modules=_modules(look),
        majors=parse_majors(look.text("/proc/devices") or ""),
        secure_boot=_secure_boot(look),
        lockdown=parse_choice(look.text("/sys/kernel/security/lockdown") or ""),
        selinux={"0": "permissive", "1": "enforcing"}.get(_word(look, f"{_SELINUX}/enforce")),
        container_use_devices=_boolean(look, "container_use_devices"),
        cgroup=_cgroup(look),
        user_namespaces=_user_namespaces(look),
        log=log,
    )
    return kernel, probes


def _word(look: Look, path: str) -> str:
    return (look.text(path) or "").strip()


def _modules(look: Look) -> tuple[KernelModule, ...]:
    loaded = {line.partition(" ")[0] for line in (look.text("/proc/modules") or "").splitlines()}
    on_disk = _on_disk(look)
    found = [
        KernelModule(name=name, loaded=True, version=_loaded_version(look, name))
        for name in sorted(loaded & _MODULES - {"nvidia"})
    ]
    version = _loaded_version(look, "nvidia")
    if version or on_disk or "nvidia" in loaded:
        first = on_disk or KernelModule(name="nvidia")
        own = KernelModule(
            name="nvidia",
            loaded="nvidia" in loaded or version is not None,
            version=version,
            on_disk=first.on_disk,
            flavour=first.flavour,
            path=first.path,
        )
        found.insert(0, own)
    return tuple(found)


def _loaded_version(look: Look, name: str) -> str | None:
    text = _word(look, f"/sys/module/{name}/version")
    if re.fullmatch(r"\d{1,4}(\.\d{1,6}){1,3}", text, re.ASCII):
        return text
    driver = gpu.loaded(look) if name == "nvidia" else None
    return driver.version if driver else None


def _on_disk(look: Look) -> KernelModule | None:
    for program in look.find("modinfo", "/usr/sbin/modinfo", "/sbin/modinfo")[:1]:
        done = look.run(program, "nvidia")
        return parse_modinfo(done.out) if done.rc == 0 else None
    return None


def parse_modinfo(text: str) -> KernelModule | None:
    """The file that ``modinfo nvidia`` found for the running kernel; None if it found none.

    The open module is dual licensed, as it must be for the symbols that it uses (README of
    open-gpu-kernel-modules); the other is not.
    """
    fields = dict(re.findall(r"^(filename|version|license): {1,20}(.{1,300})$", text, re.MULTILINE))
    version = fields.get("version", "").strip()
    if not re.fullmatch(r"\d{1,4}(\.\d{1,6}){1,3}", version, re.ASCII):
        return None
    licence = fields.get("license", "")
    flavour: Module | None = None
    if licence:
        flavour = "open" if "GPL" in licence else "proprietary"
    path = fields.get("filename", "").strip() or None
    return KernelModule(name="nvidia", on_disk=version, flavour=flavour, path=path)


def parse_majors(text: str) -> Pairs:
    r"""Majors of our character devices in ``/proc/devices``.

    >>> dict(parse_majors("Character devices:\n195 nvidia\n509 nvidia-uvm\n\nBlock devices:\n"))
    {'nvidia': '195', 'nvidia-uvm': '509'}
    """
    lines = re.findall(
        r"^ *(\d{1,4}) ((?:nvidia|nvgpu|nvhost|nvmap)[\w-]{0,40})$", text, re.MULTILINE
    )
    return Pairs(tuple((name, number) for number, name in lines))


def _secure_boot(look: Look) -> bool | None:
    data = look.data(_SECURE_BOOT, 16)
    if data is not None and len(data) == 5:  # four bytes of attributes, then the value
        return data[4] == 1
    # Without UEFI there is none; a container may be shown an empty folder.
    names = look.names(_FIRMWARE)
    return False if names and "efi" not in names and look.exists(f"{_FIRMWARE}/memmap") else None


def parse_choice(text: str) -> str | None:
    """The chosen word of a kernel's list.

    >>> parse_choice("none [integrity] confidentiality")
    'integrity'
    """
    match = re.search(r"\[(\w{1,30})\]", text)
    return match[1] if match else None


def _boolean(look: Look, name: str) -> bool | None:
    # "1 1": the value in force, then the pending one.
    word = _word(look, f"{_SELINUX}/booleans/{name}").partition(" ")[0]
    return word == "1" if word in {"0", "1"} else None


def _cgroup(look: Look) -> int | None:
    if look.exists("/sys/fs/cgroup/cgroup.controllers"):
        return 2
    return (
        1 if look.exists("/sys/fs/cgroup/devices") or look.exists("/sys/fs/cgroup/memory") else None
    )


def _user_namespaces(look: Look) -> bool | None:
    words = {path: _word(look, path) for path in _NO}
    if any(word == _NO[path] for path, word in words.items()):
        return False
    return True if words["/proc/sys/user/max_user_namespaces"] else None


def _log(look: Look) -> Found[tuple[str, ...]]:
    for program in look.find("dmesg", "/usr/bin/dmesg", "/bin/dmesg")[:1]:
        done = look.run(program)
        if done.rc == 0:
            return parse_log(done.out), ()
        return (), (Probe(name="kernel", ok=False, says=f"log: {says(done)}"),)
    return (), ()


def parse_log(text: str) -> tuple[str, ...]:
    """The newest lines about the GPU without their times and without whose process it was.

    >>> parse_log("[  9.1] NVRM: Xid (PCI:0000:01:00): 31, pid=77, name=eve-tool, Ch 8")
    ('NVRM: Xid (PCI:0000:01:00): 31, Ch 8',)
    """
    found = []
    for line in text.splitlines():
        if _LOGGED.search(line):
            plain = re.sub(r"^(<\d{1,3}>)?\[[ \d.]{1,20}\] ?", "", line[:600])
            found.append(re.sub(r",? ?\b(pid|name|uid)=[^,]{0,80}", "", plain)[:300])
    # The same line a hundred times is one line; its last place counts.
    return tuple(reversed(dict.fromkeys(reversed(found))))[-_LINES:]
