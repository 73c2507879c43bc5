"""The hooks run what is there."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


def hooks() -> list[dict[str, Any]]:
    whole = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert all(repo["repo"] == "local" for repo in whole["repos"]), "nothing is fetched"
    return [hook for repo in whole["repos"] for hook in repo["hooks"]]


def test_each_hook_runs_a_locked_tool_or_a_script_of_ours() -> None:
    locked = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    for hook in hooks():
        script = re.search(r"script/[\w-]+", hook["entry"])
        if script:
            assert (ROOT / script[0]).is_file(), hook["id"]
        else:
            tool = hook["entry"].split()[0]
            assert tool == "shellcheck" or re.search(rf"^{tool}==", locked, re.MULTILINE)


def test_contributing_names_only_scripts_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`?(script/[\w-]+|benchmarks/[\w.]+)", text))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
