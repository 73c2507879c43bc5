"""Public reports: each `certify` expectation of open.yaml, replayed through the command line."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from envbuild import data
from envbuild.certify.judge import judge
from envbuild.cli.app import run
from tests.cases.grade import Case, cases
from tests.certify.grade import grade
from tests.certify.simulated import given
from tests.certify.simulated.devices import MIGS, device
from tests.certify.simulated.inside import inside
from tests.certify.simulated.machine import Machine, Trouble, observe

CASES = cases("certify")
Cap = pytest.CaptureFixture[str]


def certified(said: dict[str, Any], folder: Path, capfd: Cap) -> tuple[dict[str, Any], int]:
    """The certificate that the command prints for a case, and its exit code."""
    argv = given.files(said, folder)
    code = run(argv)
    out, err = capfd.readouterr()
    assert out, err
    answer: dict[str, Any] = json.loads(out)
    assert answer["recorded"] == "replayed"
    return answer, code


def test_all_of_them_are_here() -> None:
    assert len(CASES) == 14


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case(case: Case, tmp_path: Path, capfd: Cap) -> None:
    answer, code = certified(case.given, tmp_path / "files", capfd)
    assert grade(answer, code, case.want) == []


SIBLINGS: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("siblings.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("i", range(len(SIBLINGS)), ids=lambda i: f"{SIBLINGS[i]['of']}-{i}")
def test_a_sibling_of_a_case(i: int, tmp_path: Path, capfd: Cap) -> None:
    row = SIBLINGS[i]
    answer, code = certified(row["given"], tmp_path / "files", capfd)
    assert grade(answer, code, row["want"]) == []


def test_each_kind_has_siblings_that_end_otherwise() -> None:
    kinds = Counter(row["of"] for row in SIBLINGS)
    assert kinds.keys() == {case.id.partition(".")[0] for case in CASES}
    assert min(kinds.values()) >= 3
    for kind in kinds:
        wants = [row["want"] for row in SIBLINGS if row["of"] == kind]
        assert len({json.dumps(want, sort_keys=True) for want in wants}) > 1


class TestProse:
    """What `asserts` says in prose, each by hand."""

    def test_c01_no_kernel_of_torch_runs_before_its_list_fits(self) -> None:
        pascal = Machine(device("GTX 1080 Ti"), inside("9.0")._replace(cc="6.1", target="61"))
        seen = observe(pascal, "torch")
        assert "torch.build" in {s.name for s in seen.sessions}
        assert "torch.parts" not in {s.name for s in seen.sessions}
        found = {c.id: c for s in judge(seen, ("torch",)).suites for c in s.checks}
        assert found["torch.build"].verdict == "fail"
        # torch itself says that there is a GPU; that passes nothing.
        assert found["torch.build"].inputs.get("torch.cuda.is_available") == "yes"

    def test_c39_a_refused_page_lock_is_reported_and_fails_nothing(self) -> None:
        seen = observe(Machine(device("RTX 3080 on WSL")), "fast")
        ran = seen.step("fast.copies")
        assert ran is not None
        lines = [json.loads(line) for line in ran.out.splitlines()]
        pinned = next(line for line in lines if line["event"] == "pinned")
        assert pinned["refused"]
        assert pinned["after"] == 0
        assert judge(seen, ("fast",)).exit == 0
        # A refusal that leaves its error behind is seen.
        left = Trouble(wrong=("pinned",))
        bad = observe(Machine(device("RTX 3080 on WSL"), trouble=left), "fast")
        assert judge(bad, ("fast",)).exit == 4

    def test_c40_sampling_is_not_tried_on_wsl(self) -> None:
        seen = observe(Machine(device("RTX 3080 on WSL")), "tools")
        assert not any(r.step.startswith("tools.sampling") for s in seen.sessions for r in s.steps)
        found = {c.id: c for s in judge(seen, ("tools",)).suites for c in s.checks}
        assert found["tools.sampling"].verdict == "skip"

    def test_c80_warm_up_on_a_side_stream_then_capture_replay_and_numbers(self) -> None:
        seen = observe(Machine(device("RTX 4090")), "torch")
        ran = seen.step("torch.graph")
        assert ran is not None
        lines = [json.loads(line) for line in ran.out.splitlines()]
        stages = [line["name"] for line in lines if line["event"] == "doing"]
        assert stages == ["warm-up on a side stream", "capture", "replay"]
        # The simulated part speaks as the real one does, in this order.
        source = data.folder("kernels").joinpath("frameworks", "torch_graph.py").read_text()
        assert [source.index(f'"{stage}"') for stage in stages] == sorted(
            source.index(f'"{stage}"') for stage in stages
        )
        wrong = observe(Machine(device("RTX 4090"), trouble=Trouble(nan=("torch.graph",))), "torch")
        assert judge(wrong, ("torch",)).exit == 6

    def test_c82_each_instance_comes_in_alone_under_its_own_uuid(self) -> None:
        machine = Machine(device("A100 1g MIG"))
        seen = observe(machine, "smoke", "multi")
        asked = [spec.devices for spec in machine.specs if len(spec.devices) == 1]
        assert {names[0] for names in asked if names[0].startswith("MIG-")} == set(MIGS)
        for i in range(len(MIGS)):
            ran = seen.step(f"multi.mig.{i}")
            assert ran is not None
            assert '"count": 1' in ran.out
        assert judge(seen, ("smoke", "multi")).exit == 0
