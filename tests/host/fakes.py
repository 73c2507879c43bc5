"""A machine in a folder: files, programs and what they print. Each one says where it is from."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from envbuild.host.detect import detect
from envbuild.io.proc import Completed
from envbuild.values.codec import replace
from envbuild.values.host import Host

Content = str | bytes | tuple[str, str]
PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass
class Machine:
    """A made machine.

    Attributes:
        source: where its texts are from; a text without a source is plain file-system layout.
        files: path -> content; a tuple ``("link", target)`` is a symbolic link.
        commands: ``[VAR=1 ]PATH ARGS`` -> (exit code, stdout[, stderr]); every PATH becomes a
            program. ``nvml`` is the answer of the NVML child process.
    """

    source: str
    files: Mapping[str, Content] = field(default_factory=dict)
    commands: Mapping[str, tuple[int, str] | tuple[int, str, str]] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    system: str = "Linux"

    def build(self, root: Path) -> Path:
        """Lay the machine out below ``root``."""
        for path, content in self.files.items():
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, tuple):
                target = root / content[1].lstrip("/")
                if not target.exists():
                    target.mkdir(parents=True)
                place.symlink_to(target)
            else:
                place.write_bytes(content.encode() if isinstance(content, str) else content)
        for command in self.commands:
            program = _program(command)
            if program is not None:
                place = root / program.lstrip("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.touch()
                place.chmod(0o755)
        return root

    def run(self, argv: Sequence[str], env: Mapping[str, str], limit: float) -> Completed:
        """The runner of this machine."""
        assert 0 < limit <= 2.0
        assert env["LC_ALL"] == "C"
        key = "nvml" if argv[0] == sys.executable else " ".join(argv)
        if env.get("DOCKER_BUILDKIT"):
            key = f"DOCKER_BUILDKIT={env['DOCKER_BUILDKIT']} {key}"
        rc, out, *err = self.commands.get(key, (127, "", f"{key.split()[0]}: not on this machine"))
        return Completed(tuple(argv), rc, out, "".join(err), False, 0.0)

    def detect(self, root: Path, runner: Callable[..., Completed] | None = None) -> Host:
        """What `detect` makes of it."""
        environ = {"PATH": PATH} | dict(self.environ)
        found = detect(
            self.build(root), environ=environ, runner=runner or self.run, system=self.system
        )
        return replace(found, kind="made", recorded="2026-12-01")


def _program(command: str) -> str | None:
    words = command.removeprefix("DOCKER_BUILDKIT=1 ").split(" -")[0]
    for verb in (" buildx", " build", " info", " nvidia", " query", " show"):
        words = words.removesuffix(verb).split(verb + " ")[0]
    return words if words.startswith(("/", "C:")) else None


def script(folder: Path, name: str, body: str) -> Path:
    """A real shell script on a real PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / name
    place.write_text(f"#!/bin/sh\n{body}\n")
    place.chmod(0o755)
    return place


def only(folder: Path) -> dict[str, str]:
    """An environment whose PATH holds our scripts first and the system's tools after."""
    return {"PATH": f"{folder}:/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}
