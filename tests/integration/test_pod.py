"""What a Job of Kubernetes runs in its pod, run as the Job says: its script, rights and volumes.

Docker plays the kubelet, this machine's own programs are the tool's image, and a null device is
the GPU of the CDI specification that a made ``nvidia-ctk`` writes. No cluster is asked.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from envbuild.render.jobs import CAPABILITIES
from tests import toolkit
from tests.integration.certifying import RUNTIME
from tests.integration.command import ROOT, envbuild

pytestmark = [pytest.mark.engine, pytest.mark.apart]

NAME = "cu135-cc90"
CTK = """#!/bin/sh
[ ! -e /tools/broken ] || { echo "no NVML here" >&2; exit 3; }
cp /tools/nvidia.yaml "${3#--output=}"
"""
CDI = """\
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
  - name: all
    containerEdits:
      deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/null, type: c, major: 1, minor: 3}]
"""
# What `certify` does with the image of a real GPU: a start with the device, and mounts.
RUN = """
import sys
from envbuild.engines.base import Mount, RunSpec
from envbuild.engines.podman import PodmanEngine
from envbuild.io.net import Net
engine, mount = PodmanEngine(), Mount(source="/tools", target="/in")
engine.pull(sys.argv[1], Net())
script = "ls -l /dev/nvidia0 /in; ls -ld /kept; id -u; ls /sys/class/net; cat /proc/self/status"
done = engine.run(sys.argv[1], RunSpec(argv=("sh", "-c", script), access="cdi", mounts=(mount,)))
print(done.out, done.err)
sys.exit(done.rc)
"""


class Pod(NamedTuple):
    """How the container of a Job ended."""

    code: int
    log: str
    message: str


class Job(NamedTuple):
    """A rendered Job and the folders that its pod gets."""

    spec: dict[str, Any]
    image: str
    work: Path
    docker: str

    def run(self, capabilities: Sequence[str] = (), argv: Sequence[str] = ()) -> Pod:
        [it] = self.spec["containers"]
        rights = it["securityContext"]
        assert (rights["runAsUser"], rights["capabilities"]["drop"]) == (0, ["ALL"])
        assert not rights.get("privileged")
        message = self.work / "message"
        message.write_text("")
        flags = ["--rm", "--network", "host", "--read-only", "--cap-drop", "ALL"]
        flags += ["--security-opt", "seccomp=unconfined", "--env", f"PYTHONPATH={ROOT}"]
        for right in capabilities or rights["capabilities"]["add"]:
            flags += ["--cap-add", right]
        places = [(self.work / "message", "/dev/termination-log", "rw")]
        for mount in it["volumeMounts"]:
            place = self.work / mount["name"] / mount.get("subPath", "")
            place.mkdir(parents=True, exist_ok=True)
            places.append((place, mount["mountPath"], "ro" if mount.get("readOnly") else "rw"))
        own = {ROOT, sys.prefix, sys.base_prefix} - {"/usr"}
        places += [(Path(path), path, "ro") for path in ("/usr", "/etc/containers", *own)]
        places.append((self.work / "tools", "/tools", "ro"))
        for source, target, mode in places:
            flags += ["--volume", f"{source}:{target}:{mode}"]
        flags += ["--env", f"PATH=/tools:{os.defpath}:/usr/sbin"]
        for one in it["env"]:
            assert one["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
            flags += ["--env", f"{one['name']}=gpu1"]
        command = argv or (*it["command"], *it["args"])
        whole = (self.docker, "run", *flags, "debian:pod-test", *command)
        done = subprocess.run(whole, capture_output=True, text=True, timeout=120, check=False)
        return Pod(done.returncode, done.stdout + done.stderr, message.read_text())


@pytest.fixture
def job(tmp_path: Path, env: dict[str, str], registry: str, old_docker: str) -> Iterator[Job]:
    """A Job for an image that is in the registry, and what its pod finds."""
    place = f"{registry}/envbuild-test/pod-{os.urandom(4).hex()}"
    image = f"{place}/{NAME}"
    context = tmp_path / "context"
    context.mkdir()
    more = "RUN install -d -o 33 -g 33 -m 2700 /kept\n"
    text = RUNTIME.format(base=f"{registry}/library/debian:bookworm-slim", more=more)
    (context / "Dockerfile").write_text(text)
    (context / "libcudart.so.13").write_bytes(toolkit.CUDART.read_bytes())
    (tmp_path / "hosts.yaml").write_text("- {name: gpu1, cc: ['9.0']}\n")
    wish = ("--toolkit-source", "wheels", "--base-os", "debian12")
    plan = ("plan", "--fleet", "hosts.yaml", "--split", "-o", "fleet.json", *wish)
    render = ("render", "fleet.json", "--format", "kubernetes", "-o", "out", "--no-lock")
    named = ("--repository", place, "--tool-image", "tool:1", "--require", "toolchain")
    for argv in (plan, (*render, *named)):
        assert (done := envbuild(env, tmp_path, *argv)).returncode == 0, done.stderr
    tools = tmp_path / "pod" / "tools"
    tools.mkdir(parents=True)
    (tools / "nvidia.yaml").write_text(CDI)
    (tools / "run.py").write_text(RUN)
    own = f'#!/bin/sh\nexec "{sys.executable}" -m envbuild "$@"\n'
    for name, body in (("nvidia-ctk", CTK), ("envbuild", own)):
        (tools / name).write_text(body)
        (tools / name).chmod(0o755)
    for command in (
        ("build", "--quiet", "--tag", image, str(context)),
        ("push", "--quiet", image),
        ("pull", "--quiet", f"{registry}/library/debian:bookworm-slim"),
        ("tag", f"{registry}/library/debian:bookworm-slim", "debian:pod-test"),
    ):
        subprocess.run((old_docker, *command), check=True, capture_output=True)
    spec = yaml.safe_load((tmp_path / "out" / f"{NAME}.yaml").read_text())["spec"]
    yield Job(spec["template"]["spec"], image, tmp_path / "pod", old_docker)
    subprocess.run((old_docker, "image", "rm", image), check=False, capture_output=True)


@toolkit.needed
def test_a_pod_certifies_without_being_privileged_and_says_why_where_it_cannot(
    job: Job, env: dict[str, str], tmp_path: Path
) -> None:
    key = job.work / "key" / "key.pem"
    key.parent.mkdir()
    make = ("openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key))
    subprocess.run(make, check=True, capture_output=True)
    show = ("openssl", "pkey", "-in", str(key), "-pubout", "-out", "key.pub")
    subprocess.run(show, cwd=tmp_path, check=True)
    pod = job.run()
    assert pod.code == 0, pod
    assert pod.log.startswith('{"payload'), "the log holds the certificate alone"
    assert "CERTIFIED toolchain" in pod.message
    (tmp_path / "any.intoto.jsonl").write_text(pod.log)
    flags = ("--key", "key.pub", "--require", "toolchain", "--nodes", f"out/{NAME}.nodes")
    done = envbuild(env, tmp_path, "verify", "any.intoto.jsonl", *flags)
    assert done.returncode == 0, done.stdout + done.stderr

    (job.work / "tools" / "broken").touch()
    pod = job.run()
    assert (pod.code, pod.log) == (3, "")
    assert "no NVML here" in pod.message


@toolkit.needed
def test_a_pod_has_no_capability_that_it_does_not_need(job: Job) -> None:
    """The image inside has none, a filter of its own and no network; with one less none starts."""
    script = job.spec["containers"][0]["args"][0]
    begin = script.partition("set -- certify")[0].replace("/tmp/log 2>&1", "/dev/null")
    inside = ("/bin/sh", "-euc", f'{begin}\nexec "{sys.executable}" /tools/run.py "$0"', job.image)
    pod = job.run(argv=inside)
    assert pod.code == 0, pod
    assert "drwx--S---" in pod.log
    assert re.search(r"^crw.* 1, +3 .* /dev/nvidia0$", pod.log, re.MULTILINE)
    assert re.search("^lo\n[^e]", pod.log, re.MULTILINE), "no network but its own"
    status = dict(line.split(":\t", 1) for line in pod.log.splitlines() if ":\t" in line)
    assert (status["CapBnd"], status["Seccomp"]) == ("0000000000000000", "2")
    assert status["Uid"].split()[0] == "1234"
    for one in ("SYS_ADMIN", "KILL"):
        less = [name for name in CAPABILITIES if name != one]
        assert job.run(less, inside).code != 0, one
