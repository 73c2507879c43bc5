"""Public reports: each `certify` expectation of open.yaml, replayed through the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from envbuild.cli.app import run
from tests.cases.grade import Case, cases
from tests.certify.grade import grade
from tests.certify.simulated import given

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
