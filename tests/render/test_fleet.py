"""A fleet's folder: every node has its image or is named, and nothing hostile comes through."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from envbuild.errors import InputError, NoPlanError
from envbuild.render import fleet, jobs
from envbuild.values.codec import replace
from envbuild.values.finding import Finding
from envbuild.values.lock import Lock
from envbuild.values.plan import Fleet, FleetEntry, FleetNode, Plan
from tests.render import locks, plans

TOOL = "registry.example/tool:1"
ALL = jobs.Order(formats=jobs.FORMATS, tool=TOOL)
HOSTILE = (
    "$(touch /tmp/owned)", "`id`", "'; id; '", '"', "a b", "a,b", "n[1-9]", "../../etc/passwd",
    "a\nb: c", "${X}", "--help", "#SBATCH --uid=0", "{{ 1 }}", "\x1b[31m", "é", "n" * 64, "-n",
    ".", "",
)  # fmt: skip


def made(*nodes: FleetNode, plan: Plan = plans.WHEELS, **more: object) -> Fleet:
    """A fleet of one image: of Hopper, as `plans` has it."""
    entry = FleetEntry(nodes=tuple(node.name for node in nodes), plan=plan)
    return Fleet(outcome="ok", entries=(entry,), nodes=nodes, matrix=plans.MATRIX, **more)  # type: ignore[arg-type]


def node(name: str = "gpu1", **more: object) -> FleetNode:
    return FleetNode(**{"name": name, "cc": ("9.0",), "entry": 1} | more)  # type: ignore[arg-type]


TWO = Fleet(
    outcome="ok",
    entries=(
        FleetEntry(nodes=("old",), plan=plans.DISTRO),
        FleetEntry(nodes=("gpu1", "rack"), plan=plans.WHEELS),
    ),
    nodes=(
        node("old", cc=("6.1",)),
        node("gpu1", entry=2),
        node("rack", entry=2, count=40),
        node("both", cc=("3.7", "12.0"), entry=None, says="no driver is for both"),
    ),
    matrix=plans.MATRIX,
)


def held(
    of: Fleet, order: jobs.Order = ALL, locked: Sequence[Lock] = (), repository: str = "r.example/t"
) -> dict[str, str]:
    found = fleet.images(of, repository)
    wrote = jobs.files(of, found, order, locked or [None] * len(found))
    return {file.path: file.data.decode() for file in wrote}


def job(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def test_two_images_are_baked_each_from_its_folder() -> None:
    files = held(TWO, jobs.Order(), (locks.DISTRO, locks.WHEELS))
    bake = json.loads(files["docker-bake.json"])
    assert bake["group"]["default"]["targets"] == ["cu124-cc61", "cu130-cc90"]
    assert bake["target"]["cu130-cc90"] == {
        "context": "cu130-cc90",
        "target": "devel",
        "platforms": ["linux/amd64"],
        "tags": ["r.example/t/cu130-cc90"],
        "attest": ["type=provenance,disabled=true"],
    }
    assert bake["target"]["cu130-cc90-runtime"]["tags"] == ["r.example/t/cu130-cc90-runtime"]
    assert "--require-hashes" in files["cu130-cc90/Dockerfile"]
    assert not [path for path in files if path.endswith((".sbatch", ".yaml", ".nodes"))
                and "/" not in path]  # fmt: skip


def test_a_vendor_s_image_has_no_stage_of_its_own_to_run_from() -> None:
    plan = replace(plans.IMAGE, image=replace(plans.IMAGE.image, runtime_ref=None))
    bake = json.loads(held(made(node(), plan=plan))["docker-bake.json"])
    assert list(bake["group"]) == ["default"]


def test_a_node_without_an_image_is_named_and_in_no_job() -> None:
    files = held(TWO)
    assert "both: no driver is for both" in files["README.md"]
    assert all("both" not in text for path, text in files.items()
               if path.endswith((".nodes", ".sbatch", ".yaml")))  # fmt: skip


def test_a_refused_node_is_named_and_nothing_is_written() -> None:
    error = Finding(id="x", severity="error", says="no toolkit has code for it", source="made")
    refused = replace(plans.WHEELS, outcome="refuse", findings=(error,))
    entries = (FleetEntry(nodes=("fermi1",), plan=refused), TWO.entries[1])
    with pytest.raises(NoPlanError) as e:
        fleet.images(replace(TWO, entries=entries, outcome="refuse"))
    assert "fermi1: no toolkit has code for it" in e.value.why
    # A hostile file may call itself fine.
    with pytest.raises(NoPlanError):
        fleet.images(replace(TWO, entries=entries))


@pytest.mark.parametrize("entry", [0, -1, 3])
def test_a_plan_that_is_not_there(entry: int) -> None:
    with pytest.raises(InputError, match="does not hold"):
        fleet.images(replace(TWO, nodes=(node(entry=entry),)))


def test_a_plan_for_a_machine_itself() -> None:
    with pytest.raises(NoPlanError, match="for a host"):
        fleet.images(made(node(), plan=replace(plans.WHEELS, where="host")))


def test_no_two_images_have_one_name() -> None:
    arm = replace(plans.WHEELS, arch="aarch64")
    every = tuple(FleetEntry(nodes=(), plan=p) for p in (plans.WHEELS, arm, plans.WHEELS, arm))
    many = replace(plans.WHEELS, cc=tuple(f"{i}.0" for i in range(1, 30)))
    found = fleet.images(replace(TWO, nodes=(), entries=(*every, FleetEntry(nodes=(), plan=many))))
    names = [one.name for one in found]
    assert names[:3] == ["cu130-cc90", "cu130-cc90-aarch64", "cu130-cc90-x86-64"]
    assert names[3:] == ["cu130-cc90-aarch64-4", "cu130-5"]


@pytest.mark.parametrize("repository", ["a:1", "a@sha256:1", "A", "a b", "$(id)", "", "a/../b;x"])
def test_a_repository_that_is_none(repository: str) -> None:
    with pytest.raises(InputError):
        fleet.images(made(node()), repository)


def test_a_registry_with_a_port_is_one() -> None:
    assert fleet.images(made(node()), "127.0.0.1:5000/x")[0].ref == "127.0.0.1:5000/x/cu130-cc90"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_no_host_s_reaches_no_job(name: str) -> None:
    files = held(made(node(name), node("gpu2")))
    assert "cu130-cc90.nodes" not in files
    assert "affinity" in files["cu130-cc90.yaml"]
    assert "kubernetes.io/hostname\n                    operator" not in files["cu130-cc90.yaml"]
    for path in ("cu130-cc90.sbatch", "cu130-cc90.yaml", "collect.sh", "docker-bake.json"):
        assert name not in files[path] or len(name) < 3


@pytest.mark.parametrize("text", [t for t in HOSTILE if t])
def test_what_a_node_says_has_no_mark_up(text: str) -> None:
    readme = held(made(node(), node(text, entry=None, says=text)))["README.md"]
    assert "\x1b" not in readme
    line = next(one for one in readme.splitlines() if one.startswith("- "))
    assert "`id`" not in line.replace("\\`", "")


@pytest.mark.parametrize("text", ["$(id)", "9.0'", "9.0\n- x", "{{ 1 }}", "", "9", "9.0a"])
def test_a_capability_of_a_hostile_file(text: str) -> None:
    with pytest.raises(InputError, match="cannot be a compute capability"):
        held(made(node(cc=(text,))))


def test_the_scripts_are_clean(tmp_path: Path) -> None:
    files = held(TWO)
    scripts = [name for name in files if name.endswith(("t.sh", ".sbatch")) and "/" not in name]
    assert len(scripts) == 3
    pod = job(files["cu130-cc90.yaml"])[0]["spec"]["template"]["spec"]["containers"][0]
    files["pod.sh"] = f"#!/bin/sh\nset -eu\n{pod['args'][0]}"
    for name in (*scripts, "pod.sh"):
        (tmp_path / name).write_text(files[name])
        assert subprocess.run(("shellcheck", name), cwd=tmp_path, check=False).returncode == 0


@pytest.mark.parametrize("version", ["1.30", "1.33", "1.37"])
def test_jobs_are_of_kubernetes_form(version: str) -> None:
    files = held(TWO)
    for name in ("cu124-cc61.yaml", "cu130-cc90.yaml"):
        for one in job(files[name]):
            kubernetes_validate.validate(one, version, strict=True)
            bad = json.loads(json.dumps(one).replace("completionMode", "completionMood"))
            with pytest.raises(kubernetes_validate.ValidationError):
                kubernetes_validate.validate(bad, version, strict=True)


def test_a_pod_has_the_rights_that_it_needs_and_no_more() -> None:
    """No path of the node, not privileged; below 1.30 the field of AppArmor is not known."""
    [one] = job(held(made(node()))["cu130-cc90.yaml"])
    pod = one["spec"]["template"]["spec"]
    rights = pod["containers"][0]["securityContext"]
    assert rights["capabilities"] == {"drop": ["ALL"], "add": list(jobs.CAPABILITIES)}
    assert not {"privileged", "procMount"} & rights.keys()
    assert not {"hostPID", "hostNetwork", "hostIPC"} & pod.keys()
    assert not [volume for volume in pod["volumes"] if "hostPath" in volume]
    kubernetes_validate.validate(one, "1.30", strict=True)
    with pytest.raises(kubernetes_validate.ValidationError, match="appArmorProfile"):
        kubernetes_validate.validate(one, "1.29", strict=True)


def test_a_job_is_for_the_nodes_with_one_kind_of_cards() -> None:
    nodes = (node("gpu1"), node("gpu2", cc=("8.0",)), node("gpu3", cc=("8.0", "9.0"), count=2))
    found = job(held(made(*nodes))["cu130-cc90.yaml"])
    assert [one["spec"]["completions"] for one in found] == [1, 1, 2]
    assert [one["metadata"]["name"] for one in found] == [
        f"envbuild-cu130-cc90-{i}" for i in (1, 2, 3)
    ]
    pods = [one["spec"]["template"]["spec"] for one in found]
    assert pods[1]["nodeSelector"] == {
        "kubernetes.io/arch": "amd64",
        "nvidia.com/gpu.compute.major": "8",
        "nvidia.com/gpu.compute.minor": "0",
    }
    assert pods[2]["nodeSelector"]["nvidia.com/gpu.present"] == "true"
    assert all(pod["automountServiceAccountToken"] is False for pod in pods)
    [term] = pods[1]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"][0]["values"] == ["gpu2"]


def test_kubernetes_needs_an_image_with_the_tool() -> None:
    with pytest.raises(InputError, match="none is named"):
        held(TWO, jobs.Order(formats=("kubernetes",)))
    with pytest.raises(InputError):
        held(TWO, jobs.Order(formats=("kubernetes",), tool="x; id"))


def baked(**changes: object) -> bytes:
    told = {
        "containerimage.digest": "sha256:" + "a" * 64,
        "containerimage.config.digest": "sha256:" + "b" * 64,
        "image.name": "r.example/t/cu130-cc90",
    }
    return json.dumps({"cu130-cc90": told | changes}).encode()


def test_jobs_name_what_was_pushed_by_its_digest() -> None:
    found = fleet.pinned(fleet.images(made(node()), "r.example/t"), baked(), "images.json")
    files = {f.path: f.data.decode() for f in jobs.files(made(node()), found, ALL, [None])}
    pinned = "r.example/t/cu130-cc90@sha256:" + "a" * 64
    assert f"image={pinned}\n" in files["cu130-cc90.sbatch"]
    assert f"certify {pinned} --require smoke" in files["cu130-cc90.yaml"]
    assert "may move" not in files["README.md"]
    assert json.loads(files["docker-bake.json"])["target"]["cu130-cc90"]["tags"] == [
        "r.example/t/cu130-cc90"
    ]
    assert "may move" in held(made(node()))["README.md"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "does not say"),
        (b"[]", "does not say"),
        (b"{}", "does not say"),
        (b"[" * 100_000, "does not say"),
        (b"\xff", "does not say"),
        (b'{"cu130-cc90": 1}', "does not say"),
        (baked(**{"containerimage.digest": "sha256:" + "b" * 64}), "was not pushed"),
        (baked(**{"containerimage.digest": "$(id)"}), "was not pushed"),
        (baked(**{"image.name": "other"}), "not as r.example"),
    ],
)
def test_a_file_that_pins_nothing(data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        fleet.pinned(fleet.images(made(node()), "r.example/t"), data, "images.json")


def test_an_image_that_nobody_takes_is_baked_and_certified_nowhere() -> None:
    files = held(replace(TWO, nodes=TWO.nodes[:1]))
    assert "cu130-cc90/Dockerfile" in files
    assert not files.keys() & {"cu130-cc90.sbatch", "cu130-cc90.yaml"}


def test_ten_thousand_nodes() -> None:
    nodes = tuple(node(f"gpu{i:05}") for i in range(10_000))
    files = held(made(*nodes))
    assert files["cu130-cc90.nodes"].count("\n") == 10_000
    assert files["cu130-cc90.yaml"].count("gpu0") == 10_000
    assert len(files["cu130-cc90.sbatch"]) < 3000
