"""What a command may import: little on every system, and nothing that only Unix has on Windows."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("docker", "jinja2", "packaging", "pynvml", "requests", "rich", "yaml")
HOST = str(ROOT / "tests" / "hosts" / "h200.json")
UNIX = ("fcntl", "grp", "pwd", "resource", "termios")

RUN = """
import sys
blocked = set({blocked!r})
class Block:
    def find_spec(self, name, path=None, target=None):
        if name in blocked:
            raise ModuleNotFoundError("blocked: " + name)
for name in blocked:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Block())
from envbuild.cli.app import run
code = run({argv!r})
found = sorted(set({heavy!r}) & set(sys.modules))
print("imported", *found, file=sys.stderr)
sys.exit(code)
"""


def run(argv: list[str], *blocked: str) -> "subprocess.CompletedProcess[str]":
    """One command in a fresh interpreter that cannot import the blocked modules."""
    code = RUN.format(blocked=blocked, argv=argv, heavy=HEAVY)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "argv", [["--help"], ["plan", "--help"], ["plan", "--cc", "6.1"], ["doctor", "--host", HOST]]
)
def test_start_up_imports_nothing_heavy(argv: list[str]) -> None:
    done = run(argv)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].split() == ["imported"]


def test_the_probe_of_this_test_sees_a_heavy_import(tmp_path: Path) -> None:
    done = run(["render", "--cc", "6.1", "--no-lock", "-o", str(tmp_path / "out")])
    assert "jinja2" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "argv",
    [
        ["plan", "--cc", "12.0", "--platform", "wsl2"],
        ["detect"],
        ["doctor", "--host", HOST],
        ["init", "--cc", "12.0", "-o", "FOLDER/envbuild.yaml"],
        ["matrix", "show", "--cc", "12.0"],
    ],
)
def test_what_a_windows_user_runs_needs_no_unix_module(argv: list[str], tmp_path: Path) -> None:
    done = run([word.replace("FOLDER", str(tmp_path)) for word in argv], *UNIX)
    assert done.returncode == 0, done.stderr
    assert "blocked" not in done.stderr


def test_a_blocked_module_is_really_blocked() -> None:
    code = "import fcntl"
    whole = RUN.format(blocked=UNIX, argv=["--help"], heavy=HEAVY).replace(
        "from envbuild.cli.app", f"{code}\nfrom envbuild.cli.app"
    )
    argv = [sys.executable, "-c", whole]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "blocked: fcntl" in done.stderr
