"""The checks of a guide, run on this machine; they change no setting."""

import os
import shutil
from collections.abc import Iterator

from envbuild.errors import MachineError
from envbuild.io.proc import run
from envbuild.values.guide import Checked, Guide, Section

_SECONDS = 300.0  # a first `docker run` pulls a small image


def checked(guide: Guide) -> Iterator[Checked]:
    """Each section's check and how it ended, in order."""
    for section in guide.sections:
        yield _one(section)


def _one(section: Section) -> Checked:
    argv = command(section)
    if argv is None:
        where = "Windows" if section.runs_in == "powershell" else "Linux"
        return _result(section, None, f"it is a check of {where}, which is not reached from here")
    env = {**os.environ, "LC_ALL": "C", "WSL_UTF8": "1"}
    try:
        done = run(argv, timeout=_SECONDS, env=env, limit=1 << 16)
    except MachineError as e:
        return _result(section, False, e.what)
    if done.timed_out:
        return _result(section, False, f"no answer within {_SECONDS:.0f} seconds")
    return _result(section, done.rc == 0, "" if done.rc == 0 else section.fails)


def command(section: Section) -> tuple[str, ...] | None:
    """What runs the check from here, None where nothing can."""
    if section.runs_in == "powershell":
        shell = shutil.which("powershell.exe")
        test = f"try {{ if ({section.test}) {{ exit 0 }} }} catch {{ }}; exit 1"
        return (shell, "-NoProfile", "-NonInteractive", "-Command", test) if shell else None
    if os.name == "nt":
        inside = shutil.which("wsl.exe")
        return (inside, "--exec", "sh", "-c", section.test) if inside else None
    return ("sh", "-c", section.test)


def _result(section: Section, ok: bool | None, says: str) -> Checked:
    return Checked(id=section.id, title=section.title, ok=ok, optional=section.optional, says=says)
