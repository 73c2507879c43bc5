"""Steps that prove a toolkit on the GPU once: a program that checks every call, and profilers."""

import shlex

from envbuild.matrix.model.reference import Tool
from envbuild.planner.ranges import numbers
from envbuild.values.finding import Step

FOLDER = "envbuild-smoke"
"""Folder of the program, in the home folder."""

PROGRAM = f'"$HOME/{FOLDER}/smoke"'

CERTIFIED = (
    "tr -d ' \\n' <.envbuild/certificate.json | "
    """grep -q '"exit":0,.*"name":"smoke","required":true,"verdict":"pass"'"""
)
"""The check that ``envbuild up`` proved a kernel: a certificate is written of what fails, too."""


def compiled(nvcc: str, flags: str, compiler: str | None) -> Step:
    """Compile the program on the machine itself.

    Args:
        nvcc: path of the compiler driver.
        flags: its flags for the card, as a shell reads them.
        compiler: the host compiler where it is not the system's own (``g++-13``).
    """
    host = f" -ccbin {shlex.quote(compiler)}" if compiler else ""
    folder = f'"$HOME/{FOLDER}"'
    command = f"cd {folder} && {shlex.quote(nvcc)}{host} {flags} -o smoke smoke.cu && ./smoke"
    return Step(
        why="compile for this card, run it: every CUDA call and every sum is checked",
        argv=("sh", "-c", command),
        check=f"{PROGRAM}: a line that begins with ok",
    )


def in_container(run: tuple[str, ...], image: str, flags: str) -> Step:
    """Compile and run the program in a container of the planned image."""
    return Step(
        why="compile for this card and run it in the planned image: every CUDA call is checked",
        argv=("sh", "-c", container_line(run, image, f"nvcc {flags} -o smoke smoke.cu && ./smoke")),
        check="a line that begins with ok",
    )


def container_line(run: tuple[str, ...], image: str, command: str) -> str:
    """A command inside the image, in the folder of the program."""
    flags = " ".join(map(shlex.quote, run))
    # As this user, so that the program which it leaves is not root's.
    own = f'--user "$(id -u):$(id -g)" -v "$HOME/{FOLDER}:/work" -w /work'
    return f"docker run --rm {flags} {own} {shlex.quote(image)} sh -c {shlex.quote(command)}"


def timeline(nsys: str) -> Step:
    """One trace of Nsight Systems; it needs no rights."""
    out = f'"$HOME/{FOLDER}/timeline"'
    return Step(
        why="a timeline of calls and kernels; tracing needs no rights",
        argv=("sh", "-c", f"{shlex.quote(nsys)} profile --force-overwrite true -o {out} {PROGRAM}"),
        check=f'ls "$HOME/{FOLDER}/timeline.nsys-rep"',
    )


def counters(ncu: str) -> Step:
    """One report of Nsight Compute; sudo knows no PATH of yours, so that it needs the full path."""
    out = f'"$HOME/{FOLDER}/counters"'
    return Step(
        why="counters of the kernel; sudo does not look where nvcc lies, so ncu has its full path",
        argv=("sh", "-c", f"sudo {shlex.quote(ncu)} --force-overwrite -o {out} {PROGRAM}"),
        check=f'ls "$HOME/{FOLDER}/counters.ncu-rep"',
    )


def served(tools: tuple[Tool, ...], name: str, cc: str, cuda: str, platform: str) -> bool:
    """Whether a toolkit's own release of a tool serves a card.

    Args:
        tools: the rows.
        name: ``ncu`` or ``nsys``.
        cc: the card.
        cuda: the toolkit.
        platform: ``wsl2``, or empty elsewhere.
    """
    own = [row for row in tools if row.tool == name]
    rows = [row for row in own if not row.platform]
    # Later releases only ever leave cards out: the newest that this toolkit reaches decides.
    within = [row for row in rows if numbers(row.cuda_min or "0") <= numbers(cuda)]
    newest = max(within, key=lambda row: numbers(row.cuda_min or "0"), default=None)
    if newest is None or numbers(cc) < numbers(newest.cc_min or "0"):
        return False
    there = [row for row in own if row.platform == platform] if platform else []
    return all(numbers(cc) >= numbers(row.cc_min or "0") for row in there)
