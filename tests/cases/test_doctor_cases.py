"""Public reports replayed: every `doctor` and `build` expectation, graded mechanically."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from envbuild.cli.app import run
from envbuild.engines.failures import failure
from envbuild.values.codec import dump
from tests.cases.findings import grade_findings
from tests.cases.grade import Case, cases
from tests.cases.machines import HOST_KEYS, IMAGE_KEYS, host_of, image_of

Cap = pytest.CaptureFixture[str]
SIBLINGS = [
    row
    for path in sorted(Path(__file__).parent.glob("doctor-siblings*.yaml"))
    for row in yaml.safe_load(path.read_text())
]
LOGS = [case for case in cases("build") if "log" in case.given]


def diagnosed(given: dict[str, Any], folder: Path, capfd: Cap) -> tuple[dict[str, Any], int]:
    """What ``envbuild doctor --json`` answers, and its exit code."""
    (folder / "host.json").write_bytes(dump(host_of(given.get("host", {}))))
    args = ["doctor", "--json", "--host", str(folder / "host.json")]
    if "image" in given:
        (folder / "image.json").write_bytes(dump(image_of(given["image"])))
        args += ["--image", str(folder / "image.json")]
    if "log" in given:
        (folder / "log.txt").write_text(given["log"])
        args += ["--log", str(folder / "log.txt")]
    code = run(args)
    out, err = capfd.readouterr()
    assert out, err
    return json.loads(out), code


@pytest.mark.parametrize("case", [*cases("doctor"), *LOGS], ids=lambda case: case.id)
def test_doctor_answers_what_the_report_needed(case: Case, tmp_path: Path, capfd: Cap) -> None:
    answer, code = diagnosed(case.given, tmp_path, capfd)
    assert grade_findings(answer, code, case.want) == []


@pytest.mark.parametrize("case", LOGS, ids=lambda case: case.id)
def test_a_failed_build_says_it_itself(case: Case) -> None:
    error = failure("docker", case.given["log"])
    step = {"argv": [], "text": error.fix, "check": "", "why": ""}
    finding = {
        "id": case.want.get("finding"),
        "severity": "error",
        "steps": [step],
        "says": error.what,
    }
    assert grade_findings({"findings": [finding]}, 4, case.want) == []


@pytest.mark.parametrize("row", SIBLINGS, ids=lambda row: f"{row['of']}-{str(row['given'])[:60]}")
def test_a_sibling_of_a_case(row: dict[str, Any], tmp_path: Path, capfd: Cap) -> None:
    answer, code = diagnosed(row["given"], tmp_path, capfd)
    assert grade_findings(answer, code, row["want"]) == []


def test_nothing_given_is_left_out() -> None:
    given = [case.given for case in [*cases("doctor"), *LOGS]] + [row["given"] for row in SIBLINGS]
    assert {key for one in given for key in one} <= {"host", "image", "log"}
    assert {key for one in given for key in one.get("host", ())} <= HOST_KEYS
    assert {key for one in given for key in one.get("image", ())} <= IMAGE_KEYS


def test_each_case_has_siblings_with_a_public_source() -> None:
    own = {case.id.partition(".")[0] for case in [*cases("doctor"), *LOGS]}
    assert {row["of"] for row in SIBLINGS} >= own
    assert all(row["source"].startswith("https://") for row in SIBLINGS)


def test_the_reader_of_logs_takes_standard_input(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: Cap
) -> None:
    (tmp_path / "host.json").write_bytes(dump(host_of({})))
    raw = io.BytesIO("CUDA error 804\r\n".encode("utf-16"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))
    assert run(["doctor", "--json", "--host", str(tmp_path / "host.json"), "--log", "-"]) == 4
    assert json.loads(capfd.readouterr().out)["seen"][0]["id"] == "cuda-804"
