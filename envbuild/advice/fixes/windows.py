"""Steps on the Windows side: its driver, WSL itself, and what is allowed to look at the GPU."""

from envbuild.matrix.model.reference import WslNeed
from envbuild.values.finding import Step


def new_windows() -> Step:
    """A Windows that can lend its GPU."""
    return Step(
        why="the newest build that this machine can have",
        text="Settings > Windows Update: install all updates, restart Windows",
        check="winver: the build",
    )


def own_kernel() -> Step:
    """Back to Microsoft's kernel."""
    return Step(
        why="Microsoft's kernel brings /dev/dxg; one of your own may not",
        text="take the line kernel= out of .wslconfig in your Windows home folder, then "
        "wsl.exe --shutdown",
        check="ls -l /dev/dxg, inside the distribution",
    )


def hold(last: int) -> Step:
    """Stay at the last branch of a card."""
    return Step(
        why="no setting of Windows holds a driver's branch for certain: look after each update",
        text=f"let neither the NVIDIA app nor Windows Update go past R{last}: decline newer "
        "drivers, and run this check again after each Windows update",
        check=f"nvidia-smi.exe: a driver of R{last}",
    )


def driver(page: WslNeed, least: str | None, last: int | None) -> Step:
    """Install the one driver that there is; nothing of it goes into Linux.

    Args:
        page: where the vendor has it.
        least: the lowest version that serves the plan.
        last: the last branch for the card, None = none is announced.
    """
    wanted = f"{least} or newer" if least else "the newest"
    if last is not None:
        wanted += f", of branch R{last} and of none after it"
    return Step(
        why="the driver of Windows carries CUDA into WSL; it is the only driver",
        text=f"from {page.value} install the Windows driver for this card: {wanted}; then restart",
        check="nvidia-smi.exe: the card and this driver",
    )


def of_branch(page: WslNeed, last: int | None) -> tuple[Step, ...]:
    """The driver of Windows, held at the last branch of a card where one has a last."""
    new = driver(page, None, last)
    return (new,) if last is None else (new, hold(last))


def driver_model() -> Step:
    """Out of the mode of a pure compute card, which does not reach WSL."""
    return Step(
        why="a card in TCC mode is hidden from WSL; MCDM is for cards without a display",
        text="as administrator: nvidia-smi.exe -dm 0 (WDDM), or where that is not supported "
        "nvidia-smi.exe -dm 2 (MCDM); restart Windows",
        check="nvidia-smi.exe: WDDM or MCDM beside the card's name",
    )


def wsl() -> tuple[Step, ...]:
    """WSL itself, in its newest release."""
    return (
        Step(
            why="turn WSL on, as administrator; where it is on, nothing changes",
            argv=("wsl.exe", "--install", "--no-distribution"),
            check="wsl.exe --status; restart Windows if it asks for it",
        ),
        update(),
        Step(
            why="new distributions get a real Linux kernel: WSL 1 has no way to a GPU",
            argv=("wsl.exe", "--set-default-version", "2"),
            check="wsl.exe --status: default version 2",
        ),
    )


def update() -> Step:
    """The newest WSL, which brings the newest kernel."""
    return Step(
        why="the newest WSL brings the newest kernel, and with it the way to the GPU",
        argv=("wsl.exe", "--update"),
        check="wsl.exe --version",
    )


def distribution(name: str) -> Step:
    """A Linux system in WSL."""
    return Step(
        why="a Linux system of its own; it asks for a user name and a password",
        argv=("wsl.exe", "--install", "--distribution", name),
        check="wsl.exe --list --verbose: its name, with 2 under VERSION",
    )


def second_generation(name: str) -> Step:
    """A distribution of WSL 1 becomes one of WSL 2; its files stay."""
    return Step(
        why="WSL 1 has no way to a GPU; the files stay, it takes minutes",
        argv=("wsl.exe", "--set-version", name, "2"),
        check="wsl.exe --list --verbose: 2 under VERSION",
    )


def restart_wsl(why: str) -> Step:
    """WSL reads its settings, and finds a new driver, when it starts."""
    return Step(
        why=why,
        text="in PowerShell: wsl.exe --shutdown; then open the distribution again",
        check="uptime: minutes",
    )


def memory(row: WslNeed) -> Step:
    """How much of the machine WSL may take."""
    return Step(
        why=row.says,
        text="only where builds end for want of memory: write [wsl2] and below it a line like "
        "memory=24GB into .wslconfig in your Windows home folder, then wsl.exe --shutdown",
        check="free -g, inside the distribution",
    )


def counters(row: WslNeed) -> Step:
    """Performance counters for every user."""
    return Step(
        why="the one switch that opens them, for all users",
        text="NVIDIA Control Panel, as administrator: Desktop > Enable Developer Settings, then "
        f"{row.value}: allow access to all users; then wsl.exe --shutdown",
        check="ncu, further down, writes a report instead of ERR_NVGPUCTRPERM",
    )


def debugger(row: WslNeed) -> Step:
    """The interface that debuggers in WSL use."""
    return Step(
        why="compute-sanitizer and cuda-gdb in WSL ask the Windows driver; as administrator",
        argv=(
            *("reg.exe", "add", row.value),
            *("/v", "EnableInterface", "/t", "REG_DWORD", "/d", "1", "/f"),
        ),
        check=f"reg.exe query '{row.value}' /v EnableInterface: 0x1",
    )


def docker_desktop(package: WslNeed, switch: WslNeed, distribution: str) -> tuple[Step, ...]:
    """Docker Desktop, with its docker command inside the distribution."""
    return (
        Step(
            why="it brings the container toolkit along: nothing of NVIDIA is installed in Linux",
            argv=("winget.exe", "install", "--exact", "--id", package.value),
            check="Docker Desktop is in the start menu; start it once",
        ),
        Step(
            why="the docker command reaches it from inside the distribution",
            text=f"in Docker Desktop: {switch.value}: turn {distribution} on, then Apply",
            check="docker info, inside the distribution: Operating System: Docker Desktop",
        ),
    )
