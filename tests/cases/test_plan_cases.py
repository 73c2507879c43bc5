"""Public reports replayed: every `plan` expectation, graded mechanically."""

import json

import pytest

from envbuild.cli.app import run
from tests.cases.grade import Case, cases, flags, grade


@pytest.mark.parametrize("case", cases("plan"), ids=lambda case: case.id)
def test_plan_is_what_the_report_needed(case: Case, capfd: pytest.CaptureFixture[str]) -> None:
    code = run(["plan", "--json", *flags(case.given)])
    out, err = capfd.readouterr()
    assert out, err
    assert grade(json.loads(out), code, case.want) == []


@pytest.mark.parametrize("case", cases("render"), ids=lambda case: case.id)
def test_plan_behind_a_rendering(case: Case, capfd: pytest.CaptureFixture[str]) -> None:
    """What a `render` expectation says of the plan; the files are graded by the tests of render."""
    files = {"contains", "contains_any", "contains_match", "dockerfile_not_match", "must_not"}
    want = {k: v for k, v in case.want.items() if k not in {*files, "env"}}
    want["any_of"] = [w for w in want.pop("any_of", []) if not files & set(w)] or [{}]
    code = run(["plan", "--json", *flags(case.given)])
    plan = json.loads(capfd.readouterr().out)
    assert grade(plan, code, want) == []
    for name, value in case.want.get("env", {}).items():
        assert plan["env"][name] == value
