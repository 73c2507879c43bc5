"""WSL 2 and Windows where no NVIDIA card is seen, and nothing else says why."""

from collections.abc import Iterator

from envbuild.advice.fixes import windows
from envbuild.advice.rules import Advice, advice
from envbuild.advice.rules.wsl_engines import cited, need
from envbuild.advice.scene import Scene, is_version, table
from envbuild.matrix.model import Branch
from envbuild.planner import drivers
from envbuild.values.codec import replace
from envbuild.values.finding import Step


def no_card(scene: Scene) -> Iterator[Advice]:
    """No card is seen: Windows' driver, WSL's kernel, or there is none."""
    host = scene.host
    driver = host.driver.version if host.driver is not None else None
    if host.gpus or host.inside_container is not None or host.platform not in {"wsl2", "windows"}:
        return
    newest = max(table().matrices.branches, key=lambda row: row.branch, default=None)
    page = windows.driver(need("windows-driver-page"), None, None)
    page = replace(page, text=f"{page.text}. {_left(newest)}".rstrip(". "))
    again = windows.restart_wsl("the GPU is taken up at the start")
    look = Step(
        why="Windows itself knows which cards it has, and which driver",
        argv=("nvidia-smi.exe", "-L"),
        check="it names the card; where it is no command, Windows has no NVIDIA driver",
    )
    if scene.wsl2 and driver is not None:
        yield advice(
            "wsl-no-card",
            "error",
            f"the Windows driver {driver} answers here, and shows no card",
            why=_left(drivers.branch_of(table(), driver) if is_version(driver) else None),
            steps=(look, windows.update(), again),
            source=cited("cards"),
        )
        return
    yield advice(
        "wsl-no-card",
        "watch",
        f"no NVIDIA card and no driver of Windows is seen {'in WSL' if scene.wsl2 else 'here'}",
        why="Where the machine has such a card, its Windows driver brings it into WSL 2.",
        steps=(look, page, windows.update(), *((again,) if scene.wsl2 else ())),
        source=cited("windows-driver"),
    )


def _left(branch: Branch | None) -> str:
    """The architectures that a driver of this branch no longer drives in WSL 2."""
    left: dict[int, list[str]] = {}
    for row in table().capabilities.values():
        if row.last_branch is None or row.tegra or branch is None or row.wsl == "no":
            continue
        if branch.branch > row.last_branch and row.arch not in left.setdefault(row.last_branch, []):
            left[row.last_branch].append(row.arch)
    return " ".join(
        f"R{branch.branch} does not drive {', '.join(names)}: for those install R{last}."
        for last, names in left.items()
        if branch is not None
    )
