"""What is told, and in which order: chains, unknown logs, healthy machines, one rule a fault."""

import io
import re
from pathlib import Path

import pytest

from envbuild.advice import doctor
from envbuild.advice.doctor import FAMILIES, diagnose
from envbuild.advice.rules import Advice, advice
from envbuild.advice.scene import Scene
from envbuild.advice.signatures import Signatures
from envbuild.host.load import load_host
from envbuild.matrix.load import load_errors
from envbuild.values.finding import Finding
from tests.cases.machines import host_of

# Rows as ``table/key status``, several parted by a dot.
_CITED = r"\w+/\S+ (?:measured|sourced|derived)(?: · \w+/\S+ (?:measured|sourced|derived))*"
HOSTS = sorted((Path(__file__).parents[1] / "hosts").glob("*.json"))


def told(log: str = "", **host: object) -> tuple[Finding, ...]:
    seen = Signatures(load_errors().errors).scan(io.BytesIO(log.encode()), "log") if log else ()
    return diagnose(Scene(host=host_of(host), seen=seen, logs=("log",) if log else ()))


def test_a_healthy_machine_gets_explanations_only() -> None:
    assert {finding.severity for finding in told()} == {"info"}


def test_an_unknown_log_is_said_to_be_unknown_and_no_guess_is_made() -> None:
    (first, *rest) = told("Segmentation fault (core dumped)")
    assert first.id == "not-known"
    assert "I do not know" in first.says
    assert first.severity == "warn"
    assert {finding.severity for finding in rest} == {"info"}
    assert any("--bundle" in step.argv for step in first.steps)
    # Words that only mark what a log is about explain nothing.
    assert told("RuntimeError: CUDA error: something new")[0].id == "not-known"
    # A second log that is known does not speak for the first.
    assert any(f.id == "not-known" for f in diagnose(Scene(logs=("a", "b"))))


def test_what_follows_from_a_fault_is_told_with_it() -> None:
    findings = told(
        "NVRM: installed in this system is not supported by open\n"
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x24:0x72:1568)\nNo devices were found\n"
    )
    errors = [finding for finding in findings if finding.severity == "error"]
    assert [finding.id for finding in errors] == ["open-module-pre-turing"]
    assert "RmInitAdapter" in errors[0].why
    assert "No devices were found" in errors[0].why


def test_what_must_be_mended_first_stands_first() -> None:
    findings = told(
        "ERR_NVGPUCTRPERM\nCUDA error: invalid configuration argument\n"
        "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"
    )
    errors = [finding.id for finding in findings if finding.severity == "error"]
    assert errors == ["secure-boot", "cuda-9", "perf-counters"]
    severities = [("error", "warn", "watch", "info").index(f.severity) for f in findings]
    assert severities == sorted(severities)


def test_two_that_explain_each_other_do_not_vanish(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(scene: Scene) -> tuple[Advice, ...]:
        return (
            advice("a", "error", "A", explains=("b", "a")),
            advice("b", "error", "B", explains=("a",)),
        )

    monkeypatch.setattr(doctor, "rules", lambda family: (both,) if family == "driver" else ())
    assert [finding.id for finding in told()] == ["a", "b"]


def test_every_family_has_rules_or_texts() -> None:
    texts = {row.family for row in load_errors().errors}
    assert all(doctor.rules(family) or family in texts for family in FAMILIES)


@pytest.mark.parametrize("path", HOSTS, ids=lambda path: path.stem)
def test_every_recorded_machine_is_diagnosed_the_same_twice(path: Path) -> None:
    scene = Scene(host=load_host(path))
    findings = diagnose(scene)
    assert findings == diagnose(scene)
    for finding in findings:
        assert re.fullmatch(_CITED, finding.source), finding
        assert finding.severity not in {"error", "warn"} or finding.steps, finding
        assert all(step.check for step in finding.steps), finding.id
        assert "{" not in finding.says, finding
