r"""Windows, from its own Python or from inside WSL: release, driver, WSL, switches of the driver.

Names of the registry: ``EnableInterface`` is documented in the CUDA debugger's guides,
``RmProfilingAdminOnly`` is what the control panel's page of performance counters writes.
"""

import re

from envbuild.host.look import Look, version_in
from envbuild.io.proc import Completed
from envbuild.values.codec import Pairs
from envbuild.values.host import Windows

_REG = ("/mnt/c/Windows/System32/reg.exe", "C:/Windows/System32/reg.exe")
_WSL = (
    "/mnt/c/Program Files/WSL/wsl.exe",
    "/mnt/c/Windows/System32/wsl.exe",
    "C:/Program Files/WSL/wsl.exe",
    "C:/Windows/System32/wsl.exe",
)
_SMI = (
    "/mnt/c/Windows/System32/nvidia-smi.exe",
    "/mnt/c/Program Files/NVIDIA Corporation/NVSMI/nvidia-smi.exe",
    "C:/Windows/System32/nvidia-smi.exe",
)
_RELEASE = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
_DEBUGGER = r"HKLM\SOFTWARE\NVIDIA Corporation\GPUDebugger"
_DRIVER = r"HKLM\SYSTEM\CurrentControlSet\Services\nvlddmkm"
_BUS = r"HKLM\SYSTEM\CurrentControlSet\Enum\PCI"
_ELEVEN = 22000  # the first build of Windows 11, whose registry still says Windows 10


def probe(look: Look) -> Windows | None:
    """The Windows of this machine; None where none answers."""
    reg = next(iter(look.find("reg.exe", *_REG)), None)
    wsl_exe = next(iter(look.find("wsl.exe", *_WSL)), None)
    if not reg and not wsl_exe and look.system != "Windows":
        return None
    release = parse_registry(look.run(reg, "query", _RELEASE).out) if reg else {}
    debugger = parse_registry(look.run(reg, "query", _DEBUGGER).out) if reg else {}
    search = ("query", _DRIVER, "/s", "/f", "RmProfilingAdminOnly", "/v", "/e")
    counters = parse_registry(look.run(reg, *search).out) if reg else {}
    versions = parse_versions(look.run(wsl_exe, "--version")) if wsl_exe else (None, None)
    found = Windows(
        name=name(release),
        build=build(release),
        driver=_driver(look),
        wsl=versions[0],
        wsl_kernel=versions[1],
        distros=parse_distros(look.run(wsl_exe, "--list", "--verbose")) if wsl_exe else Pairs(),
        debugger_interface=flag(debugger.get("EnableInterface")),
        counters_for_all=_not(flag(counters.get("RmProfilingAdminOnly"))),
    )
    # Where WSL may not start Windows programs none of them answers.
    return None if found == Windows() else found


def cards(look: Look) -> tuple[str, ...]:
    """``10de:2684`` of each NVIDIA device that Windows has met; a card may have been taken out."""
    reg = next(iter(look.find("reg.exe", *_REG)), None)
    done = look.run(reg, "query", _BUS, "/f", "VEN_10DE", "/k") if reg else None
    return parse_bus(done.out) if done else ()


def parse_bus(text: str) -> tuple[str, ...]:
    r"""Vendor and device of keys that are named as Windows names PCI devices.

    >>> parse_bus("HKEY_LOCAL_MACHINE\\SYSTEM\\Enum\\PCI\\VEN_10DE&DEV_1B06&SUBSYS_1&REV_A1")
    ('10de:1b06',)
    """
    found = re.findall(r"\\PCI\\VEN_10DE&DEV_([0-9A-F]{4})&", text)
    return tuple(dict.fromkeys(f"10de:{device.lower()}" for device in found))


def parse_registry(text: str) -> dict[str, str]:
    """Values that ``reg query`` prints: name, type and data in columns."""
    lines = re.findall(r"^ +(\S.{0,80}?) +REG_(?:SZ|DWORD) +(.{1,200})$", text, re.MULTILINE)
    return {name: value.strip() for name, value in lines}


def name(release: dict[str, str]) -> str | None:
    """The product; told by its build where the registry kept the old name."""
    product = release.get("ProductName")
    number = release.get("CurrentBuildNumber", "")
    if product and number.isdecimal() and int(number) >= _ELEVEN:
        return product.replace("Windows 10", "Windows 11")
    return product


def build(release: dict[str, str]) -> str | None:
    """``10.0.22631.4317``, as ``ver`` prints it."""
    number = release.get("CurrentBuildNumber", "")
    patch = release.get("UBR", "")
    if not number.isdecimal():
        return None
    tail = f".{int(patch, 16)}" if re.fullmatch(r"0x[0-9a-f]{1,8}", patch) else ""
    return f"10.0.{number}{tail}"


def flag(value: str | None) -> bool | None:
    """A DWORD as yes or no; None where it is not set."""
    return int(value, 16) != 0 if value and re.fullmatch(r"0x[0-9a-f]{1,8}", value) else None


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _driver(look: Look) -> str | None:
    for program in look.find("nvidia-smi.exe", *_SMI)[:1]:
        done = look.run(program, "--query-gpu=driver_version", "--format=csv,noheader")
        return version_in(done.out) if done.rc == 0 else None
    return None


def parse_versions(done: Completed) -> tuple[str | None, str | None]:
    """Versions of WSL and of its kernel: the first two lines, in whatever language.

    UTF-16 that was read as UTF-8 has lost only what is not ASCII.
    """
    lines = done.out.replace("\ufffd", "").splitlines() if done.rc == 0 else ()
    first, second, *_ = (*(version_in(line) for line in lines if line.strip()), None, None)
    return first, second


def parse_distros(done: Completed) -> Pairs:
    """Name and generation of each line of ``wsl --list --verbose``; the default has a star."""
    plain = done.out.replace("\ufffd", "").replace("\r", "") if done.rc == 0 else ""
    lines = re.findall(r"^[ *]{0,4}(\S{1,60}) .{0,80}? ([12]) *$", plain, re.MULTILINE)
    return Pairs(tuple(lines[:20]))
