"""A second newest docker, with a store of its own that is empty and goes when the test is over."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path


class Daemon:
    """A daemon beside the newest one.

    Args:
        bin_: folder of the newest docker's client, as its script left it.
        folder: for its store, socket and log; short, since a socket's path is.
        bridge: one that is there already; empty = the daemon is in a network that leads nowhere.
    """

    def __init__(self, bin_: Path, folder: Path, bridge: str = "") -> None:
        self.folder = folder
        self.socket = f"unix://{folder}/docker.sock"
        self.client = [str(bin_ / "docker"), "--host", self.socket]
        self._root = bin_.parent / "root"
        self._apart = () if bridge else ("unshare", "--net")
        config = {
            "features": {"containerd-snapshotter": True},
            "data-root": f"{folder}/data",
            "exec-root": f"{folder}/exec",
            "pidfile": f"{folder}/pid",
            "hosts": [self.socket],
            # "none" removes docker0, which is not to be seen from a network of its own.
            "bridge": bridge or "none",
            "insecure-registries": ["127.0.0.0/8"],
            "iptables": False,
            "ip6tables": False,
        }
        (folder / "daemon.json").write_text(json.dumps(config))

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # Of one that was killed: a new one takes any process of that number for it.
        (self.folder / "pid").unlink(missing_ok=True)
        programs = f"{self._root}/usr/bin:{self._root}/usr/sbin"
        dockerd = str(self._root / "usr/sbin/dockerd")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._apart, dockerd, "--config-file", f"{self.folder}/daemon.json"],
                env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}:/usr/sbin"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        for _ in range(120):
            done = subprocess.run([*self.client, "info"], check=False, capture_output=True)
            if done.returncode == 0:
                return
            assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.5)

    def kill(self) -> None:
        """End it and what it started at once, as a machine that fails does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        """Have it end, and remove what it leaves."""
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(30)
        self.kill()
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if (place := line.split(" ")[1]).startswith(f"{self.folder}/"):
                subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def second(bin_: Path, folder: Path, *, bridge: str = "") -> Iterator[Daemon]:
    """Start a `Daemon`, and end it afterwards."""
    daemon = Daemon(bin_, folder, bridge)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.end()
