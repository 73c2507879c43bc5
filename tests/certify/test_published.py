"""Certificates that the documentation shows: each is what its own checks say."""

from pathlib import Path

import pytest

from envbuild.attest.recompute import contradictions
from envbuild.certify import verdicts
from envbuild.values.certificate import Certificate
from envbuild.values.codec import load, replace

DOCS = Path(__file__).parents[2] / "docs" / "h200"
FILES = sorted(DOCS.glob("certificate-*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_verdict_follows_from_the_checks(path: Path) -> None:
    shown = load(Certificate, path.read_bytes(), path.name)
    assert shown.exit == verdicts.run_exit(shown.suites) == 0
    assert contradictions(shown) == ()
    assert shown.recorded == "run"
    assert shown.device is not None
    assert shown.device.cc == "9.0"
    required = {s.name: s.verdict for s in shown.suites if s.required}
    assert set(required.values()) == {"pass"}
    controls = [c for s in shown.suites for check in s.checks for c in check.controls]
    assert controls
    assert all(control.red for control in controls)


def test_a_certificate_with_a_green_control_would_not_pass() -> None:
    shown = load(Certificate, (DOCS / "certificate-local.json").read_bytes(), "local")
    smoke = next(s for s in shown.suites if s.name == "smoke")
    sums = next(c for c in smoke.checks if c.id == "smoke.sums")
    green = tuple(replace(control, red=False) for control in sums.controls)
    broken = verdicts.settle(sums, *green)
    assert broken.verdict == "void"
    assert verdicts.exit_code([broken]) == 9
