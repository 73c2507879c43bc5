"""What a plan for WSL 2 says of the Windows around it."""

from collections.abc import Iterator

from envbuild.planner.notes.base import Chosen, note
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step


def windows_host(chosen: Chosen) -> Iterator[Finding]:
    """The machine that was looked at is Windows: what is planned needs WSL 2 on it."""
    seen = {(p.fact, p.value) for p in chosen.target.provenance}
    if ("system", "windows") not in seen:
        return
    says = (
        "this host is Windows, where containers see a GPU inside WSL 2 alone: the plan is for WSL 2"
    )
    if ("wsl", "2") in seen:
        yield note("windows-host", "info", f"{says}, which is there", _row("windows-11"))
        return
    says += ", and nothing here says whether that is installed"
    found = note("windows-host", "watch", says, _row("windows-11"))
    yield replace(found, steps=_STEPS)


def wsl_arm(chosen: Chosen) -> Iterator[Finding]:
    """What is known of WSL 2 is known of x86-64."""
    target = chosen.target
    if target.windows and target.arch == "aarch64":
        says = (
            "whether a GPU works in WSL 2 on an aarch64 machine is not known here, nor which "
            "driver it needs: look with nvidia-smi inside WSL, or plan for Linux itself"
        )
        yield note("wsl-arm", "warn", says, _row("arm64"))


_STEPS = (
    Step(
        why="install WSL 2 with a distribution, in PowerShell as administrator, then restart",
        argv=("wsl", "--install"),
        check="wsl -l -v: the distribution, with VERSION 2 (else: wsl --set-version NAME 2)",
    ),
    Step(
        why="bring the kernel of WSL up to date",
        argv=("wsl", "--update"),
        check="wsl --version",
    ),
    Step(
        why="see that the driver of Windows reaches into WSL; no Linux driver is installed there",
        argv=("wsl", "/usr/lib/wsl/lib/nvidia-smi"),
        check="it names the GPU and the driver of Windows",
    ),
)


def _row(what: str) -> str:
    # Rows that few plans need are not loaded for the others.
    from envbuild.matrix.load import load_reference

    row = next(row for row in load_reference().wsl if row.what == what)
    return f"wsl/{what} {row.status}"
