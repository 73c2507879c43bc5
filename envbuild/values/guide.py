"""A guide: the way from a machine as it is to one that the plan runs on."""

from typing import Literal

from envbuild.values.codec import Value
from envbuild.values.finding import Step
from envbuild.values.plan import MatrixId

Kind = Literal["wsl2", "ubuntu", "debian", "rhel", "linux", "jetson", "rented", "windows"]
Shell = Literal["sh", "powershell"]
State = Literal["done", "open", "unknown"]


class GuideFile(Value):
    """A text file that a section needs; ``path`` is relative to the home folder."""

    path: str
    text: str


class Section(Value):
    """One goal of a guide: why, the steps to it, the check, and what its failure means.

    Attributes:
        id: a slug, stable across releases.
        title: what holds once the steps are done.
        runs_in: where steps and test run: in the Linux system, or in PowerShell on Windows.
        test: a command line of that shell that changes no setting; ``sh``: it ends with 0 where
            the goal is reached; ``powershell``: an expression that is then true.
        fails: what it means where the test still fails after the steps.
        state: what is known of this machine before anything is run; unknown is unknown.
        seen: the fact behind the state.
        way: which of several ways it belongs to (``docker`` or ``docker-desktop``), empty = all.
        optional: the machine serves the plan without it.
        source: matrix rows and their status.
    """

    id: str
    title: str
    why: str
    runs_in: Shell = "sh"
    steps: tuple[Step, ...] = ()
    files: tuple[GuideFile, ...] = ()
    test: str
    fails: str
    state: State = "unknown"
    seen: str = ""
    way: str = ""
    optional: bool = False
    source: str = ""


class Guide(Value):
    """Sections in the order to do them in.

    Attributes:
        kind: for which kind of machine.
        about: the plan and the machine, a line each.
        again: arguments of ``envbuild`` that make this guide again.
    """

    schema: Literal["envbuild/guide/1"] = "envbuild/guide/1"
    kind: Kind
    about: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    sections: tuple[Section, ...]
    matrix: MatrixId


class Checked(Value):
    """How the check of one section ended on this machine; ok None = it was not run here."""

    id: str
    title: str
    ok: bool | None = None
    optional: bool = False
    says: str = ""
