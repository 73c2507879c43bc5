"""The command line as a user starts it, and the whole corridor walked with it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from envbuild.values.certificate import Certificate
from envbuild.values.codec import load
from envbuild.values.image import Image
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

ROOT = Path(__file__).resolve().parents[2]
CA = Path("/etc/ssl/certs/ca-certificates.crt")


class Cli(NamedTuple):
    """``envbuild`` in one folder, with no settings of this machine's; ``docker`` is its client.

    ``more`` are variables that it gets.
    """

    folder: Path
    mirror: str
    docker: str
    more: tuple[tuple[str, str], ...] = ()

    def __call__(self, *argv: str, mirror: str | None = None) -> "subprocess.CompletedProcess[str]":
        """Run it; ``mirror`` is another registry mirror than the tests' own."""
        names = ("ENVBUILD_", "DOCKER_")
        own = {k: v for k, v in os.environ.items() if not k.startswith(names)}
        own |= {"PYTHONPATH": str(ROOT), "ENVBUILD_REGISTRY_MIRROR": mirror or self.mirror}
        if CA.is_file():
            own["ENVBUILD_CA_CERT"] = str(CA)
        own |= dict(self.more)
        return subprocess.run(
            [sys.executable, "-m", "envbuild", *argv],
            cwd=self.folder,
            env=own,
            capture_output=True,
            text=True,
            check=False,
        )

    def plan(self) -> Plan:
        """The plan in the workspace."""
        return load(Plan, self._file("plan.json"), "plan.json")

    def lock(self) -> Lock:
        """The lock in the workspace."""
        return load(Lock, self._file("envbuild.lock"), "envbuild.lock")

    def image(self) -> Image:
        """The image in the workspace."""
        return load(Image, self._file("image.json"), "image.json")

    def certificate(self) -> Certificate:
        """The certificate in the workspace."""
        return load(Certificate, self._file("certificate.json"), "certificate.json")

    def inside(self, script: str) -> str:
        """What a shell script prints in the image of the workspace; it must succeed."""
        argv = [self.docker, "run", "--rm", "--network=none", "--entrypoint=sh"]
        done = subprocess.run(
            [*argv, self.image().ref, "-ec", script], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def drop(self) -> None:
        """Take the image out of the engine again: it is big."""
        if (self.folder / ".envbuild/image.json").is_file():
            argv = [self.docker, "image", "rm", "--force", self.image().ref]
            subprocess.run(argv, check=False, capture_output=True)

    def _file(self, name: str) -> bytes:
        return (self.folder / ".envbuild" / name).read_bytes()


NewCli = Callable[[str], Cli]


def walked(cli: Cli, *wanted: str) -> Iterator[Cli]:
    """The folder after ``envbuild up``: ``flags``, ``up.out`` and ``up.err`` stand in it."""
    tag = f"envbuild-test/corridor-{wanted[3]}:1"
    flags = (*wanted, "--require", "toolchain", "--tag", tag)
    (cli.folder / "flags").write_text(" ".join(flags))
    try:
        done = cli("up", *flags)
        (cli.folder / "up.out").write_text(done.stdout)
        (cli.folder / "up.err").write_text(done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        yield cli
    finally:
        cli.drop()
