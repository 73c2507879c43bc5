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


@contextlib.contextmanager
def second(bin_: Path, folder: Path, *, bridge: str = "") -> Iterator[str]:
    """Start a daemon beside the newest one; its socket's address.

    Args:
        bin_: folder of the newest docker's client, as its script left it.
        folder: for its store, socket and log; short, since a socket's path is.
        bridge: one that is there already; empty = the daemon is in a network that leads nowhere.
    """
    root = bin_.parent / "root"
    socket = f"unix://{folder}/docker.sock"
    config = {
        "features": {"containerd-snapshotter": True},
        "data-root": f"{folder}/data",
        "exec-root": f"{folder}/exec",
        "pidfile": f"{folder}/pid",
        "hosts": [socket],
        # "none" removes docker0, which is not to be seen from a network of its own.
        "bridge": bridge or "none",
        "insecure-registries": ["127.0.0.0/8"],
        "iptables": False,
        "ip6tables": False,
    }
    (folder / "daemon.json").write_text(json.dumps(config))
    path = f"{root}/usr/bin:{root}/usr/sbin:{os.environ['PATH']}:/usr/sbin"
    argv = [
        *(() if bridge else ("unshare", "--net")),
        str(root / "usr/sbin/dockerd"),
        "--config-file",
        f"{folder}/daemon.json",
    ]
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(
            argv, env={**os.environ, "PATH": path}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        client = [str(bin_ / "docker"), "--host", socket, "info"]
        for _ in range(120):
            if subprocess.run(client, check=False, capture_output=True).returncode == 0:
                break
            assert daemon.poll() is None, (folder / "log").read_text()[-2000:]
            time.sleep(0.5)
        yield socket
    finally:
        daemon.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait()
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if (place := line.split(" ")[1]).startswith(f"{folder}/"):
                subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)
