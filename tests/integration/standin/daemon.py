"""A docker daemon of a test's own, with made parts where the NVIDIA Container Toolkit would be.

All three ways a GPU comes into a container end in the same made device and variable:

* CDI: a specification in a folder that this daemon reads;
* ``--gpus``: a made ``nvidia-container-runtime-hook``, which dockerd looks up on its PATH and runs
  before a container starts (moby daemon/nvidia_linux.go). Like the real one it makes the node from
  the container's own mount namespace, which is not yet its root;
* ``--runtime=nvidia``: a made ``nvidia-container-runtime`` around runc, which like the real one
  changes the container's OCI specification where NVIDIA_VISIBLE_DEVICES is set, but for ``void``.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

NODE, VARIABLE = "/dev/nvidia-made", "ENVBUILD_MADE"
NULL = {"type": "c", "major": 1, "minor": 3}

_HOOK = f"""#!/bin/sh
set -e
state=$(cat)
pid=$(printf %s "$state" | sed -n 's/.*"pid":[ ]*\\([0-9]*\\).*/\\1/p')
bundle=$(printf %s "$state" | sed -n 's/.*"bundle":[ ]*"\\([^"]*\\)".*/\\1/p')
root=$({sys.executable} -c 'import json, sys; print(json.load(open(sys.argv[1]))["root"]["path"])' \
"$bundle/config.json")
nsenter --target "$pid" --mount -- mknod -m 666 "$root{NODE}" c 1 3
"""
_RUNTIME = f"""#!{sys.executable}
import json, os, shutil, sys
if "create" in sys.argv:
    file = sys.argv[sys.argv.index("--bundle") + 1] + "/config.json"
    spec = json.load(open(file))
    env = spec["process"]["env"]
    asked = [e for e in env if e.startswith("NVIDIA_VISIBLE_DEVICES=") and not e.endswith("=void")]
    if asked:
        env.append("{VARIABLE}=runtime")
        node = {NULL | {"path": NODE, "fileMode": 0o666}!r}
        spec["linux"].setdefault("devices", []).append(node)
        json.dump(spec, open(file, "w"))
os.execv(shutil.which("runc"), ["runc", *sys.argv[1:]])
"""


def cdi_spec() -> str:
    """A specification in which ``nvidia.com/gpu=all`` is the null device under another name."""
    node = NULL | {"path": NODE, "hostPath": "/dev/null"}
    edits = {"env": [f"{VARIABLE}=cdi"], "deviceNodes": [node]}
    devices = [{"name": "all", "containerEdits": edits}]
    return json.dumps({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices})


@contextlib.contextmanager
def running(
    dockerd: Path, folder: Path, *, cdi: bool, default_runtime: str = "runc"
) -> Iterator[str]:
    """Start a daemon with the made parts; gives its address and ends it afterwards.

    Args:
        dockerd: the daemon; its containerd lies beside it or on PATH.
        folder: short, empty: the socket's path has a limit of 108 bytes.
        cdi: this daemon knows the feature.
        default_runtime: the one that a container gets unasked.
    """
    made = folder / "made"
    specs = folder / "cdi"
    for path in (made, specs):
        path.mkdir()
    (specs / "made.json").write_text(cdi_spec())
    runtime = made / "nvidia-container-runtime"
    for file, text in ((made / "nvidia-container-runtime-hook", _HOOK), (runtime, _RUNTIME)):
        file.write_text(text)
        file.chmod(0o755)
    socket = folder / "docker.sock"
    # Not "none": with that, dockerd removes the bridge of the machine's own daemon.
    number = zlib.crc32(str(folder).encode()) % 250
    bridge = f"envbuild-t{number}"
    _ip("link", "add", bridge, "type", "bridge")
    config = {
        "hosts": [f"unix://{socket}"],
        "data-root": str(folder / "data"),
        "exec-root": str(folder / "exec"),
        "pidfile": str(folder / "pid"),
        "bridge": bridge,
        "iptables": False,
        "ip6tables": False,
        "runtimes": {"nvidia": {"path": str(runtime)}},
        "default-runtime": default_runtime,
    }
    if cdi:
        config |= {"features": {"cdi": True}, "cdi-spec-dirs": [str(specs)]}
    (folder / "daemon.json").write_text(json.dumps(config))
    near = f"{dockerd.parent}:{dockerd.parent.parent / 'bin'}"
    env = os.environ | {"PATH": f"{made}:{near}:{os.environ['PATH']}:/usr/sbin:/sbin"}
    argv = [str(dockerd), "--config-file", str(folder / "daemon.json")]
    try:
        _ip("address", "add", f"172.31.{number}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        with (folder / "log").open("wb") as log:
            daemon = subprocess.Popen(argv, env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait(socket, daemon, folder / "log")
            yield f"unix://{socket}"
        finally:
            daemon.terminate()
            daemon.wait(60)
    finally:
        _ip("link", "delete", bridge)
        shutil.rmtree(folder, ignore_errors=True)


def _ip(*argv: str) -> None:
    subprocess.run(
        ["ip", *argv], check=True, env=os.environ | {"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}
    )


def _wait(socket: Path, daemon: "subprocess.Popen[bytes]", log: Path) -> None:
    import http.client
    import socket as sockets

    end = time.monotonic() + 60
    while time.monotonic() < end and daemon.poll() is None:
        with contextlib.suppress(OSError):
            link = http.client.HTTPConnection("docker", timeout=5)
            link.sock = sockets.socket(sockets.AF_UNIX)
            with contextlib.closing(link):
                link.sock.connect(str(socket))
                link.request("GET", "/_ping")
                if link.getresponse().status == 200:
                    return
        time.sleep(0.2)
    raise RuntimeError(log.read_text()[-4000:])
