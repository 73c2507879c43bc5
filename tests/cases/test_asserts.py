"""What `asserts` of open.yaml says in prose, for `plan`, `render` and `lock`, each by hand."""

import json
import re
from pathlib import Path

import pytest

from envbuild.lock.text import dump_lock
from envbuild.matrix.load import load as matrices
from envbuild.planner import ranges
from envbuild.values.codec import load
from envbuild.values.plan import Plan
from tests.cases.grade import cases, says
from tests.cases.replay import made_lock, planned, rendered

Cap = pytest.CaptureFixture[str]


def test_c02_an_old_driver_keeps_its_torch_and_gets_a_base_that_starts(capfd: Cap) -> None:
    answer = planned(["--cc", "6.1", "--driver", "550.163.01", "--torch", "2.8.0"], capfd)
    assert answer.plan["image"]["ref"].startswith("docker.io/library/")
    told = [step for finding in answer.plan["findings"] for step in finding["steps"]]
    assert not re.search(r"torch==2\.[0-7]|driver 5[6-9]\d", json.dumps(told))


def test_c13_kepler_gets_no_ptx_and_the_libcuda_of_the_image_is_taken_out(
    tmp_path: Path, capfd: Cap
) -> None:
    answer = rendered({"cc": 3.7}, tmp_path / "ctx", capfd)
    assert answer.plan["gencode"] == ["arch=compute_37,code=sm_37"]
    assert "PTX" not in answer.plan["env"]["TORCH_CUDA_ARCH_LIST"]
    assert re.search(r"purge[^\n]*cuda-compat|rm -rf[^\n]*compat", answer.files["Dockerfile"])


def test_c31_no_vendor_toolkit_for_pascal_on_glibc_2_41(capfd: Cap) -> None:
    asked = ["--cc", "6.1", "--glibc", "2.41", "--where", "host"]
    plan = planned(asked, capfd).plan
    assert plan["outcome"] == "refuse"
    natively = {a["source"] for a in plan["alternatives"] if a["outcome"] != "refuse"}
    assert natively <= {"distro"}
    debian = planned([*asked, "--base-os", "debian13"], capfd).plan
    assert debian["cuda"].startswith("12.4")
    assert debian["toolkit_source"] == "distro"


@pytest.mark.parametrize("source", ["image", "distro"])
def test_c50_nothing_brings_a_driver_into_the_image(
    source: str, tmp_path: Path, capfd: Cap
) -> None:
    given = {"cc": 8.6, "toolkit_source": source, "cuda": "12.4"}
    answer = rendered(given, tmp_path / "ctx", capfd)
    installed = " ".join(answer.plan["apt"] + answer.plan["packages"])
    assert not re.search(r"libcuda1|libnvidia-(?!container)|nvidia-(driver|utils)", installed)
    # Debian's toolkit asks for a driver: a package of ours provides that name, empty.
    assert bool(answer.plan["layout"]["dummies"]) == (source == "distro")


def test_c63_no_tag_is_named_that_does_not_exist(capfd: Cap) -> None:
    known = {(tag.cuda, tag.os) for tag in matrices().images}
    for asked in (
        ["--cuda", "11.8", "--base-os", "ubuntu24.04"],
        ["--cuda", "13"],
        ["--cuda", "12"],
    ):
        plan = planned(["--cc", "8.6", "--toolkit-source", "image", *asked], capfd).plan
        if found := re.search(r"nvidia/cuda:([\d.]+)-.*?([a-z0-9.]+)$", plan["image"]["ref"] or ""):
            assert found.groups() in known
    assert ("11.8.0", "ubuntu24.04") not in known


def test_c74_finished_code_is_not_capped_and_its_base_starts(capfd: Cap) -> None:
    plan = planned(["--cc", "8.6", "--driver", "550.163.01", "--torch", "2.8.0"], capfd).plan
    assert ranges.numbers(plan["cuda"]) > (12, 4)
    assert plan["image"]["ref"].startswith("docker.io/library/")


def test_c85_the_constraint_holds_in_every_pip_step_and_stays(tmp_path: Path, capfd: Cap) -> None:
    given = {"cc": 8.6, "torch": "2.8.0", "cuda": "12.6", "locked": True}
    answer = rendered(given, tmp_path / "ctx", capfd)
    dockerfile = answer.files["Dockerfile"]
    assert re.search(r"^ENV [^\n]*PIP_CONSTRAINT=\S+", dockerfile, re.MULTILINE)
    assert answer.files["constraints.txt"].splitlines() == [
        "nvidia-cudnn-cu12==9.10.2.21", "torch==2.8.0+cu126",
    ]  # fmt: skip
    steps = re.findall(r"pip install[^\n]*", dockerfile)
    assert steps
    assert all("--require-hashes" in step or "--require-hashes" in dockerfile for step in steps)
    assert re.search(r"torch\.version\.cuda.*\n?.*2\.8\.0 12\.6", dockerfile)


def test_c87_a_lock_names_file_hash_and_index_of_each_wheel(capfd: Cap) -> None:
    plan = planned(["--cc", "8.6", "--torch", "2.5.1", "--cuda", "12.1"], capfd).plan
    assert plan["torch"]["index"] == "cu121"
    text = dump_lock(made_lock(load(Plan, json.dumps(plan).encode(), "plan"))).decode()
    (case,) = (case for case in cases("lock") if case.id.startswith("C87"))
    assert all(says(text, item) for item in case.want["contains"])
    lock = json.loads(text)
    for wheel in lock["wheels"]:
        assert wheel["file"].endswith(".whl")
        assert re.fullmatch(r"[0-9a-f]{64}", wheel["sha256"])
        assert wheel["index"] in {"pypi", "cu121"}
