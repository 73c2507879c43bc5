"""From a fleet's file to certificates that are verified, as a user types it.

Made: ``srun``, which starts a task a node as its manual says it does, with SLURMD_NODENAME set;
``kubectl``, which answers what ``collect.sh`` asks; ``envbuild`` on a node, which writes a
certificate as `tests.attest.made` has it. No scheduler and no cluster is asked.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from envbuild.cli.app import run
from envbuild.values.certificate import Device
from envbuild.values.codec import dump, replace
from tests.attest.made import certificate

NODES = "- {name: gpu1, cc: ['9.0']}\n- {name: gpu2.cluster, cc: ['9.0']}\n"
NAME = "cu135-cc90"
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do echo "$1" >>srun.flags; shift; done
code=0
for node in gpu1 gpu2.cluster; do
  SLURMD_NODENAME=$node "$@" || { rc=$?; [ $rc -gt $code ] && code=$rc; }
done
exit $code
"""
TOOL = """#!/bin/bash
printf '%s\\n' "$*" >>envbuild.calls
cp "made/$SLURMD_NODENAME.json" "${@: -1}"
"""
KUBECTL = """#!/bin/bash
printf '%s\\n' "$*" >>kubectl.calls
case $* in
  *" get pods "*) cat pods ;;
  *logs*gone) echo half; exit 1 ;;
  *logs*signed) echo '{"payload":"x","payloadType":"y","signatures":[]}' ;;
  *logs*plain) cat made/gpu1.json ;;
  *logs*) echo nothing ;;
esac
"""
# As Kubernetes has them, oldest first: pod, image, phase, node.
DONE = ("plain|image1|Succeeded|gpu1", "signed|image1|Failed|gpu2.cluster")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a fleet's plan, and the stand-ins on PATH."""
    monkeypatch.chdir(tmp_path)
    Path("hosts.yaml").write_text(NODES)
    wish = ("--toolkit-source", "wheels", "--base-os", "debian12")
    assert run(["plan", "--fleet", "hosts.yaml", "--split", "-o", "fleet.json", "-q", *wish]) == 0
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("srun", SRUN), ("envbuild", TOOL), ("kubectl", KUBECTL)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    made = tmp_path / "made"
    made.mkdir()
    for i, node in enumerate(("gpu1", "gpu2.cluster")):
        device = Device(name="made", uuid=f"GPU-{i}", cc="9.0")
        (made / f"{node}.json").write_bytes(dump(replace(certificate(), device=device, node=node)))
    return tmp_path


def rendered(*flags: str) -> None:
    assert run(["render", "fleet.json", "--no-lock", "-o", "out", *flags]) == 0


def test_slurm_gives_a_certificate_a_node_and_verify_takes_them(folder: Path) -> None:
    rendered("--format", "slurm", "--require", "smoke")
    argv = ("bash", f"out/{NAME}.sbatch")
    more = {"ENVBUILD_KEY": "a key.pem", "ENVBUILD_ENGINE": "podman"}
    assert subprocess.run(argv, check=False, env=os.environ | more).returncode == 0
    call = Path("envbuild.calls").read_text().splitlines()[0]
    assert call.startswith(
        f"certify envbuild/{NAME} --require smoke --engine podman --sign a key.pem --node gpu1"
    )
    verify = ["verify", f"certificates/{NAME}/", "--unsigned", "--nodes", f"out/{NAME}.nodes"]
    assert run(verify) == 0
    Path("certificates", NAME, "gpu2.cluster.json").unlink()
    assert run(verify) == 7


def test_a_node_that_fails_ends_no_other(folder: Path) -> None:
    rendered("--format", "slurm")
    Path("made/gpu1.json").unlink()
    assert subprocess.run(("bash", f"out/{NAME}.sbatch"), check=False).returncode == 1
    assert [p.name for p in Path("certificates", NAME).iterdir()] == ["gpu2.cluster.json"]


def collected(*pods: str) -> "subprocess.CompletedProcess[str]":
    """What ``collect.sh`` makes of these pods."""
    if not Path("out").exists():
        rendered("--format", "kubernetes", "--tool-image", "registry.example/tool:1")
    Path("pods").write_text("".join(f"{pod}\n" for pod in pods))
    argv = ("sh", "out/collect.sh", "--namespace=gpu")
    return subprocess.run(argv, check=False, capture_output=True, text=True)


def taken() -> set[str]:
    found = (p for p in Path("certificates").rglob("*") if p.is_file())
    return {p.relative_to("certificates").as_posix() for p in found}


def test_certificates_are_taken_out_of_logs(folder: Path) -> None:
    done = collected(*DONE, "plain|image1|Succeeded|../evil", "plain|..|Succeeded|gpu5")
    assert (done.returncode, done.stderr) == (0, "")
    assert taken() == {"image1/gpu1.json", "image1/gpu2.cluster.intoto.jsonl"}
    calls = Path("kubectl.calls").read_text().splitlines()
    assert all(one.startswith("--namespace=gpu ") for one in calls)
    assert not list(folder.parent.glob("evil*"))


@pytest.mark.parametrize(
    ("pod", "says"),
    [
        ("late|image1|Pending|", "late waits for a node"),
        ("late|image1|Running|gpu3", "late on gpu3 is Running"),
        ("none|image1|Failed|gpu3", "none on gpu3 wrote no certificate"),
        ("gone|image1|Failed|gpu3", "the log of gone on gpu3 cannot be had"),
    ],
)
def test_a_node_without_a_certificate_is_named_and_hides_no_other(
    folder: Path, pod: str, says: str
) -> None:
    done = collected(pod, *DONE)
    assert done.returncode == 4
    assert says in done.stderr
    assert taken() == {"image1/gpu1.json", "image1/gpu2.cluster.intoto.jsonl"}


def test_the_newest_pod_of_a_node_speaks_for_it(folder: Path) -> None:
    assert collected(*DONE).returncode == 0
    again = ("none|image1|Failed|gpu1", "plain|image1|Succeeded|gpu2.cluster")
    assert collected(*DONE, *again).returncode == 4
    assert taken() == {"image1/gpu2.cluster.json"}


def test_no_pod_at_all_is_no_success(folder: Path) -> None:
    done = collected()
    assert done.returncode == 4
    assert "no pod of envbuild is here" in done.stderr
    Path("tools/kubectl").write_text("#!/bin/sh\necho refused >&2; exit 1\n")
    assert collected().returncode == 4


def test_bake_needs_its_locks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "fleet.json", "-o", "out"]) == 2
    assert f"there is no envbuild.locks/{NAME}.lock" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--format", "helm"), "'helm' is not known"),
        (("--format", "kubernetes"), "none is named"),
        (("--gpus-per-node", "0"), "no number of GPUs"),
        (("--require", "none-such"), "none-such"),
        (("--images", "fleet.json"), "does not say"),
        (("--repository", "a b"), "image reference"),
        (("--cc", "9.0"), "finished plan"),
    ],
)
def test_flags_that_make_no_sense(
    folder: Path, flags: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["render", "fleet.json", "--no-lock", "-o", "out", *flags]) == 2
    assert says in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_folder_that_holds_something_is_left_alone(folder: Path) -> None:
    Path("out").mkdir()
    Path("out/mine.txt").write_text("mine")
    assert run(["render", "fleet.json", "--no-lock", "-o", "out"]) == 2
    assert [p.name for p in Path("out").iterdir()] == ["mine.txt"]


def test_flags_of_a_fleet_beside_one_plan(folder: Path) -> None:
    assert run(["render", "--cc", "9.0", "--no-lock", "-o", "out", "--format", "bake"]) == 2


def test_refused_cards_and_impossible_machines_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("hosts.yaml").write_text(NODES + "- {name: fermi, cc: ['2.0']}\n")
    assert run(["plan", "--fleet", "hosts.yaml", "--split", "-o", "f.json", "-q"]) == 3
    assert run(["render", "f.json", "--no-lock", "-o", "out"]) == 3
    assert "fermi" in capsys.readouterr().err
    assert run(["lock", "f.json"]) == 3
    Path("hosts.yaml").write_text(NODES + "- {name: both, gpus: [Tesla K80, RTX 5090]}\n")
    assert run(["plan", "--fleet", "hosts.yaml", "--split", "-o", "f.json", "-q"]) == 0
    rendered_both = ["render", "f.json", "--no-lock", "-o", "out", "--json"]
    assert run(rendered_both) == 0
    told = capsys.readouterr()
    assert "no image for both" in told.err
    assert len(json.loads(told.out)["images"]) == 1
    assert "**No image** is for these nodes" in Path("out/README.md").read_text()


def test_what_takes_one_plan_takes_no_fleet(folder: Path) -> None:
    assert run(["lock", "fleet.json", "--check"]) == 2
    assert run(["build", "fleet.json"]) == 2
