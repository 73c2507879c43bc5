"""The audit of our own dependencies: red on what is known, and never green on what was not asked.

No advisory is reached from here: ``pip-audit`` is a stand-in that answers as the real one does.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_ANSWERS = f"""#!{sys.executable}
import json, os, re, sys
if sys.argv[1:3] != ["-m", "pip_audit"]:
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
lock = open(sys.argv[sys.argv.index("-r") + 1]).read()
pins = re.findall(r"^([\\w.-]+)==([^\\s;]+)", lock, re.MULTILINE)
found = [{{"name": name, "version": version, "vulns": []}} for name, version in pins]
how, run = os.environ["MADE"], "run.txt" in " ".join(sys.argv)
if how == "planted" and run:
    found[0]["vulns"] = [{{"id": "PYSEC-2026-1", "fix_versions": []}}]
if how == "one skipped":
    found[0] = {{"name": found[0]["name"], "skip_reason": "could not be asked"}}
if how == "one left out" and run:
    found = [one for one in found if one["name"] != "typer"]
if how == "planted, others skipped":
    found = [{{"name": one["name"], "skip_reason": "x"}} for one in found[1:]] + found[:1]
    found[-1]["vulns"] = [{{"id": "PYSEC-2026-1", "fix_versions": []}}] if run else []
text = json.dumps({{"dependencies": found, "fixes": []}})
text = {{"nothing": "", "garbage": "<html>", "cut": text[:200], "empty": '{{"dependencies": []}}',
        "another": "[]", "odd": '{{"dependencies": [7]}}'}}.get(how, text)
print("no route to the advisories", file=sys.stderr)
print(text, end="")
sys.exit(how in {{"nothing", "planted"}})
"""


def audit(how: str, venv: Path) -> "subprocess.CompletedProcess[str]":
    """``script/audit`` with an environment that bootstrap takes for made."""
    python = venv / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(_ANSWERS)
    python.chmod(0o755)
    # As script/bootstrap writes it: nothing is installed.
    lock = hashlib.sha256((ROOT / "requirements" / "audit.txt").read_bytes()).hexdigest()
    argv = ["python3", "-c", "import sys; print(sys.version)"]
    version = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
    (venv / "stamp-audit").write_text(f"{version} {lock}\n")
    env = {**os.environ, "ENVBUILD_AUDIT_VENV": str(venv), "MADE": how}
    return subprocess.run(
        [str(ROOT / "script" / "audit")], capture_output=True, text=True, check=False, env=env
    )


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("clean", 0),
        ("planted", 1),
        ("planted, others skipped", 1),
        ("nothing", 3),
        ("garbage", 3),
        ("cut", 3),
        ("another", 3),
        ("odd", 3),
        ("empty", 3),
        ("one skipped", 3),
        ("one left out", 3),
    ],
)
def test_what_the_audit_ends_with(how: str, code: int, tmp_path: Path) -> None:
    done = audit(how, tmp_path / "venv")
    assert done.returncode == code, done.stderr
    assert ("PYSEC-2026-1" in done.stdout) is (code == 1)
    assert ("not run" in done.stderr) is (code == 3 or "skipped" in how)
    assert "Traceback" not in done.stderr


def test_ci_runs_it_and_takes_no_other_end_for_clean() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "run: script/audit\n" in text
    assert "continue-on-error" not in text
