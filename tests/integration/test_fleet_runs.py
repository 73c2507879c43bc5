"""A fleet's Slurm script, run by Slurm itself: two nodes of it on this machine, neither with a GPU.

Slurm counts no GPUs here, so the line that asks it for them is taken out, as the script says. Only
where a test says so is it envbuild itself that certifies; else a program writes a certificate as
`tests.attest.made` has it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from envbuild.io import files
from envbuild.values.certificate import Device
from envbuild.values.codec import dump, replace
from tests.attest.made import certificate
from tests.integration.command import ROOT, envbuild
from tests.integration.conftest import STATE, service

pytestmark = [pytest.mark.engine, pytest.mark.apart]

NODES = "- {name: gpu1, cc: ['9.0']}\n- {name: gpu2.cluster, cc: ['9.0']}\n"
NAME = "cu135-cc90"
# The last word is where the certificate goes; a node does what a file of its name says, if any.
TOOL = """#!/bin/bash
do=$(dirname "$0")/$SLURMD_NODENAME.sh
if [ -e "$do" ]; then . "$do"; fi
cp "$(dirname "$0")/$SLURMD_NODENAME.json" "${@: -1}"
"""


class Ended(NamedTuple):
    """What Slurm says of a job that is over: its state, and ``code:signal``."""

    state: str
    code: str
    log: str


class Cluster(NamedTuple):
    """A user's folder on the cluster, and what is in their environment."""

    folder: Path
    env: dict[str, str]

    def ask(self, *argv: str) -> str:
        done = subprocess.run(
            argv, env=self.env, cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def submit(self, **more: str) -> str:
        script = self.folder / "out" / f"{NAME}.sbatch"
        counts = "#SBATCH --gpus-per-node=1\n"
        text = script.read_text()
        assert counts in text
        script.write_text(text.replace(counts, ""))
        argv = ("sbatch", "--parsable", f"--nodefile=out/{NAME}.nodes", f"out/{NAME}.sbatch")
        job = self._replace(env=self.env | more).ask(*argv).strip()
        script.write_text(text)
        return job

    def fields(self, job: str) -> dict[str, str]:
        words = self.ask("scontrol", "--oneliner", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def end(self, job: str) -> Ended:
        for _ in range(300):
            found = self.fields(job)
            if found["JobState"] not in {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING"}:
                log = self.folder / f"envbuild-{NAME}-{job}.log"
                return Ended(found["JobState"], found["ExitCode"], log.read_text())
            time.sleep(0.1)
        self.ask("scancel", job)
        pytest.fail(f"job {job} does not end")

    def run(self, **more: str) -> Ended:
        return self.end(self.submit(**more))

    def written(self) -> list[str]:
        return sorted(p.name for p in (self.folder / "certificates" / NAME).iterdir())

    def verify(self) -> "subprocess.CompletedProcess[str]":
        flags = ("--unsigned", "--nodes", f"out/{NAME}.nodes")
        return envbuild(self.env, self.folder, "verify", f"./certificates/{NAME}", *flags)


@pytest.fixture
def slurm() -> Iterator[Mapping[str, str]]:
    """The cluster, for one test at a time: each of its nodes is asked for whole."""
    place = service("ENVBUILD_TEST_SLURM")
    with files.locked(STATE / "slurm.lock"):
        yield {"SLURM_CONF": f"{place}/slurm.conf", "PATH": f"{place}/bin:{os.environ['PATH']}"}


Make = Callable[..., Cluster]


@pytest.fixture
def cluster(tmp_path: Path, env: dict[str, str], slurm: Mapping[str, str]) -> Make:
    """A folder that both nodes see, with the files of a fleet; its name is what people write."""

    def make(repository: str = "r.example/t") -> Cluster:
        folder = tmp_path / 'a "b" $(touch owned) c'
        (tool := folder / "tool").mkdir(parents=True)
        (folder / "hosts.yaml").write_text(NODES)
        wish = ("--toolkit-source", "wheels", "--base-os", "debian12")
        plan = ("plan", "--fleet", "hosts.yaml", "--split", "-o", "fleet.json", *wish)
        render = ("render", "fleet.json", "--format", "slurm", "-o", "out", "--no-lock")
        for argv in (plan, (*render, "--repository", repository)):
            assert (done := envbuild(env, folder, *argv)).returncode == 0, done.stderr
        (tool / "envbuild").write_text(TOOL)
        (tool / "envbuild").chmod(0o755)
        for i, node in enumerate(("gpu1", "gpu2.cluster")):
            device = Device(name="made", uuid=f"GPU-{i}", cc="9.0")
            (tool / f"{node}.json").write_bytes(
                dump(replace(certificate(), device=device, node=node))
            )
        path = f"{tool}:{slurm['PATH']}"
        return Cluster(folder, env | {"SLURM_CONF": slurm["SLURM_CONF"], "PATH": path})

    return make


def test_every_node_writes_its_certificate_and_a_rerun_leaves_no_old_one(cluster: Make) -> None:
    here = cluster()
    ended = here.run()
    assert (ended.state, ended.code) == ("COMPLETED", "0:0"), ended.log
    assert here.written() == ["gpu1.json", "gpu2.cluster.json"]
    assert (done := here.verify()).returncode == 0, done.stderr
    assert not list(here.folder.glob("owned"))

    # One is killed at once, one takes its time; what gpu1 wrote before is not taken for this run's.
    (here.folder / "certificates" / NAME / "gpu1.intoto.jsonl").write_text("signed before")
    (here.folder / "tool/gpu1.sh").write_text("kill -9 $$")
    (here.folder / "tool/gpu2.cluster.sh").write_text("sleep 1; trap 'exit 6' EXIT")
    ended = here.run()
    assert (ended.state, ended.code) == ("FAILED", "137:0"), ended.log
    assert here.written() == ["gpu2.cluster.json"]
    done = here.verify()
    assert done.returncode == 7
    assert "from node gpu1\n" in done.stdout


def test_a_node_that_dies_ends_no_other(cluster: Make) -> None:
    """But for the first, on which the script itself runs."""
    here = cluster()
    (here.folder / "tool/gpu2.cluster.sh").write_text("touch began; sleep 10")
    (here.folder / "tool/gpu1.sh").write_text("until [ -e die ]; do sleep 0.1; done; sleep 1")
    job = here.submit()
    for _ in range(100):
        if (here.folder / "began").exists():
            break
        time.sleep(0.1)
    here.ask("scontrol", "update", "nodename=gpu2.cluster", "state=down", "reason=test")
    try:
        (here.folder / "die").touch()
        ended = here.end(job)
    finally:
        # Its slurmd may have come back by itself meanwhile.
        back = ("scontrol", "update", "nodename=gpu2.cluster", "state=resume")
        subprocess.run(back, env=here.env, check=False, capture_output=True)
    assert ended.state == "FAILED", ended
    assert here.written() == ["gpu1.json"], ended.log


def test_envbuild_itself_refuses_a_node_without_a_gpu(
    cluster: Make, registry: str, old_docker: str
) -> None:
    here = cluster(f"{registry}/envbuild-test/slurm")
    image = f"{registry}/envbuild-test/slurm/{NAME}"
    build = (old_docker, "build", "--quiet", "--tag", image, "-")
    text = f"FROM {registry}/library/debian:bookworm-slim\nLABEL envbuild.promise=90\n"
    subprocess.run(build, input=text.encode(), check=True, capture_output=True)
    try:
        more = {"ENVBUILD_COMMAND": f"{ROOT}/script/none", "ENVBUILD_ENGINE": "docker"}
        assert here.run(**more).code == "127:0"
        python = here.env | {"PYTHONPATH": ROOT}
        tool = here.folder / "tool/envbuild"
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m envbuild "$@"\n')
        ended = here._replace(env=python).run(ENVBUILD_ENGINE="docker")
    finally:
        subprocess.run((old_docker, "image", "rm", image), check=False, capture_output=True)
    assert (ended.state, ended.code) == ("FAILED", "4:0"), ended.log
    assert ended.log.count("run it where the GPU is") == 2
    assert here.written() == ["gpu1.json", "gpu2.cluster.json"], "each says what it could not show"
    done = here.verify()
    assert done.returncode == 7
    assert "NOT VERIFIED" in done.stdout
