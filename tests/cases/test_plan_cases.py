"""Public reports replayed: every `plan` and `render` expectation, graded mechanically."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cases.grade import Answer, Case, cases, flags, grade
from tests.cases.replay import planned, rendered

Cap = pytest.CaptureFixture[str]

GIVEN = {"cc", "gpu", "needs", "features", "torch", "cuda", "driver", "arch", "base_os", "l4t",
         "glibc", "gcc", "where", "flavour", "toolkit_source", "wsl", "locked"}  # fmt: skip


@pytest.mark.parametrize("case", cases("plan"), ids=lambda case: case.id)
def test_plan_is_what_the_report_needed(case: Case, capfd: Cap) -> None:
    assert grade(planned(flags(case.given), capfd), case.want) == []


@pytest.mark.parametrize("case", cases("render"), ids=lambda case: case.id)
def test_what_is_rendered_is_what_the_report_needed(case: Case, tmp_path: Path, capfd: Cap) -> None:
    assert grade(rendered(case.given, tmp_path / "ctx", capfd), case.want) == []


def test_nothing_given_is_left_out() -> None:
    assert {key for case in cases("plan", "render") for key in case.given} <= GIVEN


def test_how_many_expectations_there_are_of_what() -> None:
    """Plan and render are replayed here, the others in tests of their own."""
    counted = Counter(case.command for case in cases())
    assert counted == {
        "plan": 39, "render": 8, "lock": 1, "build": 4, "certify": 14, "doctor": 28, "setup": 1,
    }  # fmt: skip


def answer(**changes: Any) -> Answer:  # noqa: ANN401
    """A plan, made, of what the grader reads."""
    plan = {
        "outcome": "ok", "cuda": "12.6.3", "gencode": ["arch=compute_61,code=[sm_61,compute_61]"],
        "packages": ["torch==2.8.0+cu126"], "findings": [], "flags": {}, "env": {}, "run": {},
        "apt": [], "torch": {"version": "2.8.0", "index": "cu126"}, "host_compiler": {"max": 14},
        "image": {"os": "ubuntu24.04", "ref": "docker.io/library/ubuntu:24.04", "flavour": "base"},
        "driver": [{"min": "525.60.13"}, {"min": "570.86.16"}], "platform": "jetson-l4t",
    }  # fmt: skip
    files = changes.pop("files", {"Dockerfile": 'FROM a\n# not: RUN nvidia-smi\nENV A="b"\n'})
    return Answer(plan | changes, changes.pop("code", 0), files)


@pytest.mark.parametrize(
    ("met", "missed"),
    [
        ({"outcome": "ok"}, {"outcome": "refuse"}),
        ({"cuda": "12.6"}, {"cuda": "12.60"}),
        ({"cuda_range": "<13"}, {"cuda_range": ">=13"}),
        ({"torch": "2.8"}, {"torch": "2.9"}),
        ({"torch_index_in": ["pypi", "cu126"]}, {"torch_index_in": ["pypi"]}),
        ({"torch_index_not": "pypi"}, {"torch_index_not": "cu126"}),
        ({"image_ref_match": "library/"}, {"image_ref_match": "nvidia/"}),
        ({"driver_min": "570.86"}, {"driver_min": "525.60"}),
        ({"platform": "jetson"}, {"platform": "sbsa"}),
        ({"host_gcc_max": 14}, {"host_gcc_max": 15}),
        ({"gencode_includes": ["sm_61"]}, {"gencode_includes": ["sm_6"]}),
        ({"gencode_includes_any": ["sm_61", "x"]}, {"gencode_includes_any": ["x"]}),
        ({"gencode_excludes": ["sm_70"]}, {"gencode_excludes": ["compute_61"]}),
        ({"packages_any": ["torch", "x"]}, {"packages_any": ["x"]}),
        ({"packages_all": ["torch"]}, {"packages_all": ["torch", "x"]}),
        ({"packages_none": ["x"]}, {"packages_none": ["torch"]}),
        ({"says_any": ["nothing|SM 61"]}, {"says_any": ["sm_62"]}),
        ({"says_all": ["sm_61", "cu126"]}, {"says_all": ["sm_61", "sm_62"]}),
        ({"contains": ["from a"]}, {"contains": ["from b"]}),
        ({"contains_any": ["x", "env"]}, {"contains_any": ["x"]}),
        ({"contains_match": ["A=.b"]}, {"contains_match": ["A=.c"]}),
        ({"env": {"A": "b"}}, {"env": {"A": "c"}}),
        ({"env_match": {"A": "^b$"}}, {"env_match": {"B": "b"}}),
        ({"dockerfile_not_match": ["nvidia-smi"]}, {"dockerfile_not_match": ["FROM"]}),
        ({"must_not": ["nvidia-smi"]}, {"must_not": ["from a"]}),
        ({"must_not_match": ["RUN n"]}, {"must_not_match": ["FROM ."]}),
        ({"any_of": [{"cuda": "1"}, {"cuda": "12"}]}, {"any_of": [{"cuda": "1"}]}),
    ],
)
def test_the_grader_sees_both_sides(met: dict[str, Any], missed: dict[str, Any]) -> None:
    assert grade(answer(), met) == []
    assert len(grade(answer(), missed)) == 1


def test_a_refusal_is_held_against_its_exit_code_and_what_it_says() -> None:
    assert grade(answer(outcome="refuse"), {"outcome": "refuse"}) == ["outcome refuse with exit 0"]
    assert grade(answer(outcome="warn"), {"outcome": "ok"}) == []
    refused = answer(outcome="refuse")._replace(code=3)
    assert grade(refused, {"outcome": "refuse", "cuda": "99"}) == []
    assert grade(refused, {"outcome": "refuse", "says_all": ["580"]}) != []
