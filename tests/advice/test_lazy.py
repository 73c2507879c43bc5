"""A plan that needs no advice does not pay for it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import sys
from envbuild.cli.app import run
run({argv!r})
print(*sorted(name for name in sys.modules if name.startswith({prefix!r})), file=sys.stderr)
"""


def loaded(prefix: str, *argv: str) -> list[str]:
    """Modules that one command has loaded, in a fresh interpreter."""
    code = RUN.format(argv=["plan", *argv], prefix=prefix)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stderr.splitlines()[-1].split()


@pytest.mark.parametrize("argv", [("--cc", "6.1"), ("--cc", "12.0", "--driver", "580.95.05")])
def test_a_declared_plan_loads_no_advice(argv: tuple[str, ...]) -> None:
    assert loaded("envbuild.advice", *argv) == []
    assert loaded("envbuild.matrix.model.reference", *argv) == []


def test_a_machine_that_lacks_something_loads_the_steps_to_it() -> None:
    host = ("--host", str(ROOT / "tests/hosts/gtx1080ti-no-driver.json"))
    assert "envbuild.advice.fixes.container" in loaded("envbuild.advice", *host)
