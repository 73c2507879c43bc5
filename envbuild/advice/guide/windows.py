"""The Windows side: what must hold before any Linux system is there."""

import re

from envbuild.advice.fixes import windows as fixes
from envbuild.advice.guide.base import (
    Case,
    Make,
    at_least,
    cite,
    fits,
    next_branch,
    ps,
    state,
    version_of,
    wsl,
)
from envbuild.matrix.load import load_reference
from envbuild.values.guide import Section
from envbuild.values.host import Windows

_SMI = "nvidia-smi.exe '--query-gpu={}' '--format=csv,noheader'"
_FIRST = " | Select-Object -First 1"


def _windows(case: Case) -> Windows:
    """What is known of Windows; all None where nothing is."""
    found = case.host.windows if case.host is not None else None
    return found or Windows()


def driver_version(case: Case) -> str | None:
    """The Windows driver: NVML inside WSL reports that one too."""
    host = case.host
    here = host.driver.version if host is not None and host.driver is not None else None
    return _windows(case).driver or here


def system(case: Case) -> Section:
    """Windows itself is new enough."""
    row = wsl("windows-11")
    host = case.host
    text = _windows(case).build
    if text is None and host is not None and host.platform == "windows":
        text = host.os.kernel
    parts = (text or "").split(".")
    build = parts[2] if len(parts) > 2 else None
    inside = host is not None and host.platform == "wsl2"
    return Section(
        id="windows",
        title=f"Windows 11, or Windows 10 with build {row.least}",
        why="older builds cannot lend the GPU to Linux",
        runs_in="powershell",
        steps=(fixes.new_windows(),),
        test=f"[Environment]::OSVersion.Version.Build -ge {int(row.least or 0)}",
        fails="Windows Update is off or held back: nothing below works before it is done",
        state=state(at_least(build, row.least) if build else True if inside and not text else None),
        seen=f"build {build}" if build else "WSL 2 runs here" if inside else "",
        source=cite("windows-11"),
    )


def driver(case: Case) -> Section:
    """The one driver."""
    last, version = case.last_branch, driver_version(case)
    known = fits(version, case)
    what = "The Windows driver"
    what += f": branch R{last}, none after it" if last else ""
    return Section(
        id="windows-driver",
        title=what + (f", {case.least_driver} or newer" if case.least_driver else ""),
        why="it carries CUDA into WSL: never install a Linux driver there. nvidia-smi shows the "
        "newest CUDA that it serves, not a toolkit that anybody installed",
        runs_in="powershell",
        steps=(fixes.driver(wsl("windows-driver-page"), case.least_driver, last),),
        test=_driver_test(case),
        fails="nvidia-smi.exe is not there: the driver is not installed. An older version: its "
        "installer was not run as administrator, or Windows was not restarted"
        + (f". A newer one: go back to R{last}, newer ones ignore this card" if last else ""),
        state=state(known),
        seen=f"driver {version}" if version else "",
        source=cite("windows-driver", "driver-version"),
    )


def _driver_test(case: Case) -> str:
    version = f"[version]({_SMI.format('driver_version')}{_FIRST})"
    parts = [f"{version} -ge [version]{ps(version_of(case.least_driver or '1'))}"]
    beyond = next_branch(case.last_branch) if case.last_branch is not None else None
    if beyond is not None:
        parts.append(f"{version} -lt [version]{ps(version_of(str(beyond)))}")
    return " -and ".join(parts)


def driver_model(case: Case) -> Section | None:
    """Data-centre and workstation cards can be in a mode that hides them; GeForce never is."""
    gpus = case.host.gpus if case.host is not None else ()
    names = [gpu.name or "" for gpu in gpus] or list(case.plan.request.gpus)
    models = [gpu.driver_model for gpu in gpus if gpu.driver_model]
    if not models and names and all("geforce" in name.lower() for name in names):
        return None
    row = wsl("driver-model")
    known = all(model != row.value.lower() for model in models) if models else None
    return Section(
        id="driver-model",
        title=f"The card is not in {row.value} mode",
        why=row.says,
        runs_in="powershell",
        steps=(fixes.driver_model(),),
        test=f"-not ({_SMI.format('driver_model.current')} | Select-String -Quiet {ps(row.value)})",
        fails="the mode did not change: not as administrator, or Windows was not restarted; no "
        "package inside Linux helps",
        state=state(known),
        seen=", ".join(models),
        source=cite("driver-model"),
    )


def subsystem(case: Case) -> Section:
    """WSL itself."""
    least = wsl("wsl-for-docker-desktop").least
    version = _windows(case).wsl
    if version is None and case.host is not None and case.host.wsl is not None:
        version = case.host.wsl.version
    kernel = wsl("kernel").value
    return Section(
        id="wsl",
        title=f"WSL {least} or newer, with its own kernel {kernel} or newer",
        why="the kernel of WSL brings /dev/dxg, the way to the GPU",
        runs_in="powershell",
        steps=fixes.wsl(),
        test=f"{_wsl_version(0)} -ge [version]{ps(version_of(least or '1'))} "
        f"-and {_wsl_version(1)} -ge [version]{ps(version_of(kernel))}",
        fails="'wsl.exe --version' is unknown: this WSL is a part of Windows and old, and "
        "wsl.exe --update replaces it. Virtualisation is off: turn it on in the firmware",
        state=state(at_least(version, least)),
        seen=f"WSL {version}" if version else "",
        source=cite("kernel", "systemd", "wsl-for-docker-desktop"),
    )


def _wsl_version(line: int) -> str:
    """The number in a line of `wsl.exe --version`, whatever language its words are in."""
    return f"[version]((wsl.exe --version)[{line}] -replace '^[^0-9]*([0-9.]+).*$','$1')"


def distribution(case: Case) -> Section:
    """A Linux system in it."""
    name, host = distribution_name(case), case.host
    old = host is not None and host.platform == "wsl1"
    generation = _windows(case).distros.get(name)
    known = generation == "2" if generation else None
    if host is not None and host.platform in {"wsl1", "wsl2"}:
        known = not old
    return Section(
        id="distribution",
        title=f"{name} in WSL 2",
        why="a Linux system of its own, with a real kernel: WSL 1 has no way to a GPU",
        runs_in="powershell",
        steps=(fixes.second_generation(name) if old else fixes.distribution(name),),
        test="[bool](wsl.exe --list --verbose | Select-String -Quiet "
        f"('(^|\\s)' + [regex]::Escape({ps(name)}) + '\\s.*\\s2\\s*$'))",
        fails="it is listed with 1 under VERSION: wsl.exe --set-version turns it into 2. It is not "
        "listed: wsl.exe --list --online shows the names that can be installed",
        state=state(known),
        seen=f"{name} is of generation {generation or (1 if old else 2)}"
        if known is not None
        else "",
        source=cite("wsl-2-x64"),
    )


def distribution_name(case: Case) -> str:
    """The distribution that is there, else the one to install."""
    here = case.host.wsl.distro if case.host is not None and case.host.wsl is not None else None
    named = f"distribution-{case.os.id if case.os is not None else ''}"
    rows = {row.what: row.value for row in load_reference().wsl}
    return here or rows.get(named) or wsl("distribution-ubuntu24.04").value


def wslconfig(case: Case) -> Section:
    """What .wslconfig must not say, and what it may."""
    row = wsl("custom-kernel")
    configs = case.host.configs if case.host is not None else ()
    own = next((c for c in configs if re.search(r"[/\\]\.wslconfig$", c.path)), None)
    file = '"$env:USERPROFILE\\.wslconfig"'
    return Section(
        id="wslconfig",
        title=".wslconfig: no kernel of one's own, memory enough",
        why=f"{row.says}. {wsl('wslconfig').says}",
        runs_in="powershell",
        steps=(fixes.own_kernel(), fixes.memory(wsl("wslconfig"))),
        test=f"-not (Test-Path {file}) "
        f"-or -not (Select-String -Quiet '^\\s*{row.value}\\s*=' {file})",
        fails="a kernel that you build yourself needs dxgkrnl, or there is no GPU in WSL",
        state=state(own.values.get("wsl2.kernel") is None if own is not None else None),
        seen=f"{own.path}: {', '.join(f'{k} = {v}' for k, v in own.values)}" if own else "",
        source=cite("custom-kernel", "wslconfig"),
    )


def counters(case: Case) -> Section:
    """Performance counters for ncu."""
    row = wsl("counters")
    key = wsl("counters-key")
    return Section(
        id="counters",
        title="GPU performance counters are open (for ncu)",
        why="Windows guards them: no setting and no sudo inside Linux opens them; "
        f"{wsl('periodic-sampling').says}",
        runs_in="powershell",
        steps=(fixes.counters(row),),
        test=_registry(key.value, "RmProfilingAdminOnly", 0),
        fails="the panel was not started as administrator, or WSL was not shut down since; without "
        "it ncu ends in ERR_NVGPUCTRPERM, and everything else works",
        state=state(_windows(case).counters_for_all),
        optional=True,
        source=cite("counters", "periodic-sampling"),
    )


def debugger(case: Case) -> Section:
    """The interface of debuggers."""
    row = wsl("debugger")
    return Section(
        id="debugger",
        title="GPUDebugger\\EnableInterface is 1 (for compute-sanitizer and cuda-gdb)",
        why=row.says,
        runs_in="powershell",
        steps=(fixes.debugger(row),),
        test=_registry(row.value, "EnableInterface", 1),
        fails="PowerShell was not started as administrator; without it the debuggers alone fail",
        state=state(_windows(case).debugger_interface),
        optional=True,
        source=cite("debugger"),
    )


def _registry(key: str, name: str, value: int) -> str:
    path = ps(key.replace("HKLM\\", "HKLM:\\", 1))
    return f"(Get-ItemProperty -Path {path} -Name {name} -ErrorAction Stop).{name} -eq {value}"


def hold(case: Case) -> Section | None:
    """The last section for a card whose drivers have ended: stay there."""
    last = case.last_branch
    if last is None:
        return None
    known = fits(driver_version(case), case)
    return Section(
        id="hold-windows-driver",
        title=f"The Windows driver stays at R{last}",
        why=f"R{last} is the last branch for this card: with a newer one the card is gone",
        runs_in="powershell",
        steps=(fixes.hold(last),),
        test=_driver_test(case),
        fails=f"an update went past R{last}: install R{last} again from the vendor's page",
        state=state(known),
        seen=f"driver {driver_version(case)}" if known is not None else "",
        source=f"branches/{last} sourced",
    )


BEFORE: tuple[Make, ...] = (system, driver, driver_model, subsystem, distribution, wslconfig)
"""What a distribution and both engines need."""

TOOLS: tuple[Make, ...] = (counters, debugger)
"""What profilers and debuggers need."""
