"""What every guide is made of: one case, sections from it, and small words for their tests."""

import re
import shlex
from collections.abc import Callable

import msgspec

from envbuild.matrix.load import load, load_reference
from envbuild.matrix.model import Os
from envbuild.matrix.model.reference import WslNeed
from envbuild.planner.ranges import numbers
from envbuild.values.guide import Kind, Section, State
from envbuild.values.host import Host
from envbuild.values.host import Os as HostOs
from envbuild.values.plan import Plan


class Case(msgspec.Struct, frozen=True):
    """What a guide is made for.

    Attributes:
        host: the machine as it is; None = nothing is known of it.
        plan: what it shall run.
        native: the toolkit for the machine itself, a refusal where none fits.
        os: its Linux system, None = a system without a row.
        way: the engine that was chosen (``docker``, ``docker-desktop``, ``podman``), empty = all.
    """

    kind: Kind
    host: Host | None
    plan: Plan
    native: Plan
    os: Os | None = None
    way: str = ""

    @property
    def system(self) -> HostOs:
        """The Linux system as the fixes take it, also where no row of `os.yaml` is about it."""
        here = self.host.os.id if self.host is not None else None
        return HostOs(id=self.os.id if self.os is not None else here, arch=self.plan.arch)

    @property
    def last_branch(self) -> int | None:
        """The last driver branch that drives all planned cards, None = none is announced."""
        return min((d.last_branch for d in self.plan.driver if d.last_branch), default=None)

    @property
    def least_driver(self) -> str | None:
        """The lowest driver that serves the plan."""
        return max((d.min for d in self.plan.driver if d.min), key=numbers, default=None)


DRIVER_VERSION = (
    "nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null "
    "| grep -m 1 -x '[0-9.]*'"
)
"""The command that prints the version of the driver that runs, nothing where it says a word."""


def looked(host: Host | None, *probes: str) -> bool:
    """Whether somebody looked for a thing on a machine, so that what is not there is missing.

    Args:
        host: the machine; a file that lists neither engines nor probes was written by hand.
        probes: those that find it; a failed one leaves it unknown.
    """
    if host is None or not (host.kind == "detected" or host.engines or host.probes):
        return False
    return all(probe.ok for probe in host.probes if probe.name in probes)


Make = Callable[[Case], Section | None]
"""One section of a guide, None where this case has none of it."""


def state(fact: bool | None) -> State:
    """What a fact of the machine says of a goal; unknown is unknown."""
    if fact is None:
        return "unknown"
    return "done" if fact else "open"


def at_least(version: str | None, least: str | None) -> bool | None:
    """Whether a version is enough; None where it is not known, or is no version."""
    parts = re.match(r"\d{1,6}(\.\d{1,6}){0,3}", version or "", re.ASCII)
    if parts is None:
        return None
    return least is None or numbers(parts[0]) >= numbers(least)


def next_branch(branch: int) -> int | None:
    """The driver branch after this one: what it begins with is too new for its last cards."""
    return min((b.branch for b in load().branches if b.branch > branch), default=None)


def fits(version: str | None, case: Case) -> bool | None:
    """Whether a driver serves the plan: new enough, and not of a branch after the last."""
    enough = at_least(version, case.least_driver)
    last = case.last_branch
    beyond = next_branch(last) if last is not None else None
    if not enough or beyond is None:
        return enough
    return not at_least(version, str(beyond))


def within(case: Case, version: str) -> str:
    """A shell command that ends with 0 where a version serves the plan and is of no later branch.

    Args:
        case: its plan names the least driver and the last branch.
        version: a shell word that gives the version.
    """
    test = f"printf '%s\\n' {case.least_driver or '0'} {version} | sort -CV"
    beyond = next_branch(case.last_branch) if case.last_branch is not None else None
    if beyond is not None:
        test += f" && printf '%s\\n' {version} {beyond} | sort -CV"
    return test


def wsl(what: str) -> WslNeed:
    """The row of `wsl.yaml` with that name."""
    return next(row for row in load_reference().wsl if row.what == what)


def cite(*whats: str) -> str:
    """Rows of `wsl.yaml` as a source line."""
    return " · ".join(f"wsl/{what} {wsl(what).status}" for what in whats)


def line(*argv: str) -> str:
    """Arguments as one line of a POSIX shell."""
    return shlex.join(argv)


def ps(text: str) -> str:
    """A text as a literal word of PowerShell, which takes typographic quotes for its own."""
    doubled = "".join(c * 2 if c in "'\u2018\u2019\u201a\u201b" else c for c in text)
    return f"'{doubled}'"


def version_of(text: str) -> str:
    """The version as ``[version]`` takes it: at least two numbers, at most four."""
    parts = [str(n) for n in numbers(text)][:4]
    return ".".join(parts if len(parts) > 1 else [*parts, "0"])
