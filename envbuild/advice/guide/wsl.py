"""WSL 2, Windows first: nothing of Linux is there yet when this guide begins."""

import re

from envbuild.advice.fixes import windows as windows_fixes
from envbuild.advice.fixes import wsl as fixes
from envbuild.advice.guide import engine, toolkit, windows
from envbuild.advice.guide.base import Case, Make, cite, line, state, wsl
from envbuild.matrix.load import load
from envbuild.values.finding import Step
from envbuild.values.guide import Section


def gpu(case: Case) -> Section:
    """The GPU, seen from inside the distribution."""
    folder, host = wsl("libcuda").value, case.host
    inside = host is not None and host.platform == "wsl2"
    seen = [gpu for gpu in host.gpus if gpu.source != "pci"] if host is not None and inside else []
    return Section(
        id="gpu",
        title="The distribution sees the GPU",
        why=f"{wsl('libcuda').says}; a shell of root may not have {folder} on its PATH, so the "
        "check names the whole path",
        steps=(
            windows_fixes.restart_wsl(
                "WSL finds a new driver when it starts; open it with the "
                "same rights each time: as administrator and as user at once, only one gets the GPU"
            ),
        ),
        test=f"{line(f'{folder}/nvidia-smi', '-L')} | grep -q '^GPU 0'",
        fails="the file is missing: WSL is old (wsl.exe --update) or of generation 1. 'GPU access "
        "blocked by the operating system': the Windows driver is old, or the card is in TCC mode. "
        "'libcuda.so.1 is not a symbolic link' from ldconfig is harmless: change nothing there",
        state=state((bool(seen) or None) if inside else None),
        seen=", ".join(gpu.name or "a GPU" for gpu in seen),
        source=cite("libcuda", "two-users"),
    )


def no_linux_driver(case: Case) -> Section | None:
    """Nothing of a Linux driver is installed."""
    if case.os is None or case.os.family != "apt":
        return None
    drivers, others = wsl("linux-driver-packages"), wsl("not-driver-packages")
    host = case.host
    found = [
        name
        for name, _ in (host.packages if host is not None and host.platform == "wsl2" else ())
        if re.search(drivers.value, name) and not re.search(others.value, name)
    ]
    known = not found if host is not None and host.platform == "wsl2" and host.packages else None
    return Section(
        id="no-linux-driver",
        title="No Linux driver is installed, and nothing that depends on one",
        why="cuda, cuda-drivers, nvidia-driver-* and the system's own nvidia-cuda-toolkit bring a "
        "Linux driver, which hides that of Windows: never install them here",
        steps=(_keep_out(), *fixes.purge(drivers, others)),
        test=fixes.none_left(drivers, others),
        fails="some package that stays needs a driver package: the output of apt-get names it",
        state=state(known),
        seen=", ".join(found),
        source=cite("linux-driver-packages", "toolkit"),
    )


def _keep_out() -> Step:
    """The toolkit's repository knows which packages never to take."""
    row = next(r for r in load().repositories if r.platform == "wsl2")
    return fixes.keep_out(row.never, wsl("container-toolkit-packages"))


def systemd(case: Case) -> Section | None:
    """Docker's own engine is a service."""
    if case.way == "docker-desktop":
        return None
    row, host = wsl("systemd"), case.host
    known = host.wsl.systemd if host is not None and host.wsl is not None else None
    return Section(
        id="systemd",
        title="systemd starts services",
        why=f"docker is a service of systemd; {row.says}",
        steps=(
            fixes.systemd(),
            windows_fixes.restart_wsl("WSL reads wsl.conf when it starts; this ends all that runs"),
        ),
        test="test -d /run/systemd/system",
        fails="WSL was not shut down since, or is older than "
        f"{row.least}: wsl.exe --update in PowerShell",
        state=state(known),
        way="docker",
        source=cite("systemd"),
    )


SECTIONS: tuple[Make, ...] = (
    *windows.BEFORE,
    engine.desktop,
    engine.desktop_gpu,
    *windows.TOOLS,
    gpu,
    no_linux_driver,
    systemd,
    engine.docker_engine,
    engine.podman,
    engine.container_toolkit,
    engine.container_gpu,
    toolkit.toolkit,
    toolkit.compiler,
    toolkit.torch,
    toolkit.certified,
    toolkit.smoke,
    toolkit.desktop_smoke,
    toolkit.timeline,
    toolkit.counters,
    windows.hold,
)
