"""The gate leaves nothing out in silence: tried on tests that skip."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ALLOWED

ROOT = Path(__file__).resolve().parents[2]
SKIPS = """
import pytest

@pytest.mark.skipif(True, reason="no nvcc on this machine")
def test_marked():
    pass

def test_inside():
    pytest.skip("no answer")

def test_allowed():
    pytest.skip("tried elsewhere: {allowed}")

def test_runs():
    pass
"""


@pytest.mark.parametrize(
    ("engines", "says"),
    [("required", "1 failed, 1 passed, 1 skipped, 1 error"), ("none", "1 passed, 3 skipped")],
)
def test_a_skip_is_a_failure_where_engines_are_required(
    engines: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "test_skips.py").write_text(SKIPS.format(allowed=next(iter(ALLOWED))))
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-c", os.devnull]
    done = subprocess.run(
        [*argv, "--rootdir", str(tmp_path), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "ENVBUILD_TEST_ENGINES": engines},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert says in done.stdout, done.stdout + done.stderr
    assert done.returncode == (engines == "required")
    assert ("no nvcc on this machine" in done.stdout) == (engines == "required")
