"""What a machine's own system means for a plan: its platform, and what of the machine counts."""

import re
from typing import NoReturn

from envbuild.errors import InputError, MachineError
from envbuild.matrix.model import Os
from envbuild.planner.table import Table
from envbuild.values.codec import replace
from envbuild.values.host import Host
from envbuild.values.host import Os as OsFacts
from envbuild.values.request import Request

_PLANNED = {"linux": None, "windows": "wsl2", "wsl2": "wsl2", "jetson": "jetson"}
"""What is planned on a system; what is planned on Windows runs in WSL 2."""
_ON_WINDOWS = frozenset({"windows", "wsl1", "wsl2"})
_NAMES = {"darwin": "macOS", "windows": "Windows"}


def counted(host: Host | None, request: Request) -> Host | None:
    """The machine as far as it counts for the platform that is asked for, or its own.

    A driver of Windows is none of Linux, and what is installed on one is not there on the other.

    Raises:
        InputError: a recorded machine that the request cannot be planned for.
        MachineError: the same of this machine.
    """
    if host is None:
        return None
    asked = (request.platform or "").partition("/")[0]
    if not asked:
        _planned(host, request)
    elif host.platform not in {*_PLANNED, "wsl1"}:
        return None
    elif (host.platform in _ON_WINDOWS) != (asked == "wsl2"):
        return replace(_bare(host), driver=None, engines=(), container_toolkit=None, cdi=())
    return _bare(host) if host.platform == "windows" else host


def platform(host: Host) -> str | None:
    """The platform that this machine is planned for, as ``--platform`` takes it; None = linux."""
    return _PLANNED.get(host.platform)


def on_windows(host: Host) -> tuple[tuple[str, str], ...]:
    """What a plan records of a Windows: that it is one, and that WSL 2 is seen there.

    It is, where a distribution of it is listed, or docker gives its containers a GPU.
    """
    if host.platform != "windows":
        return ()
    listed = "2" in dict(host.windows.distros).values() if host.windows is not None else False
    there = listed or any(e.answers and "gpus" in e.access for e in host.engines)
    return (("system", "windows"), *((("wsl", "2"),) if there else ()))


def _bare(host: Host) -> Host:
    """The cards and the CPU: nothing that is installed."""
    return replace(host, os=OsFacts(arch=host.os.arch), compilers=(), python=None, toolkits=())


def _planned(host: Host, request: Request) -> None:
    """Check that this machine's own system can be planned for."""
    if host.platform == "wsl1":
        what = "this host is WSL 1, which has no way to a GPU"
        fix = (
            "in PowerShell: wsl --set-version NAME 2 (check: wsl -l -v says VERSION 2); "
            "or plan ahead: --platform wsl2, with --cc or --gpu"
        )
        _refuse(host, what, "Windows lends its driver to WSL 2 alone", fix)
    name = _NAMES.get(host.platform, host.platform or "an unknown system")
    if host.platform == "windows" and request.where == "host":
        what = f"this host is {name}, and --where host plans for Linux itself"
        why = "on Windows that is WSL 2; a toolkit for Windows itself is not planned here"
        fix = (
            "for WSL 2: --platform wsl2 --where host, or a container without --where host; "
            "if it is not there yet, in PowerShell: wsl --install (check: wsl -l -v says VERSION 2)"
        )
        _refuse(host, what, why, fix)
    if host.platform not in _PLANNED:
        what = f"this host runs {name}, for which these matrices have no CUDA and no driver"
        fix = "say for which machine: --platform linux with --cc or --gpu, or --host of a record"
        _refuse(host, what, "plans are for Linux, WSL 2 and Jetsons", fix)


def _refuse(host: Host, what: str, why: str, fix: str) -> NoReturn:
    # A record is input; the machine at hand is what another machine would help against.
    raise (MachineError if host.kind == "detected" else InputError)(what, why=why, fix=fix)


def row_of(table: Table, name: str | None) -> Os | None:
    """The row of a system as a machine spells it (``rocky9``, ``sles15.7``); None = no row."""
    if name is None:
        return None
    word = re.sub(r"[\s:_-]+", "", name.lower())
    for one in (word, word.partition(".")[0]):
        for row in table.oses.values():
            if one == row.id or one in row.aliases:
                return row
    return None


class System:
    """C library, compiler and Python of this machine; a system that is named brings its own.

    ``origins`` says where a fact is from that nobody looked at: ``base-os`` = the system that was
    named, ``derived`` = the row of the machine's own system.
    """

    def __init__(self, host: Host | None) -> None:
        self.glibc = host.os.glibc if host is not None else None
        self.gcc = _gcc(host)
        self.python = _python(host)
        self.origins: dict[str, str] = {}


def native(table: Table, host: Host | None, base: str | None) -> System:
    """The system of a plan for a machine itself: what nobody looked at is that of its row."""
    named = table.oses.get(base) if base is not None else None
    here = row_of(table, host.os.id) if host is not None else None
    other = named is not None and named is not here
    found = System(None if other else host)
    row = named or here
    if row is not None:
        gcc = str(row.gcc) if row.gcc is not None else None
        for fact, value in (("glibc", row.glibc), ("gcc", gcc), ("python", row.python)):
            if getattr(found, fact) is None and value is not None:
                setattr(found, fact, value)
                found.origins[fact] = "base-os" if other else "derived"
    return found


def _gcc(host: Host | None) -> str | None:
    if host is None:
        return None
    return next((t.version for t in host.compilers if t.name in {"gcc", "g++"} and t.version), None)


def _python(host: Host | None) -> str | None:
    if host is None or host.python is None or host.python.version is None:
        return None
    return ".".join(host.python.version.split(".")[:2])
