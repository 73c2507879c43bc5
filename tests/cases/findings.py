"""How `doctor` and `build` expectations are held against findings; the head of open.yaml rules."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.cases.grade import WARNS, says

Findings = list[dict[str, Any]]
_ORDER = ("info", "watch", "warn", "error")


def grade_findings(answer: dict[str, Any], code: int, want: dict[str, Any]) -> list[str]:
    """What of ``want`` a diagnosis and its exit code do not meet; empty = all is."""
    return list(_grade(answer, code, want))


def _grade(answer: dict[str, Any], code: int, want: dict[str, Any]) -> Iterator[str]:
    findings = answer["findings"]
    worst = max((_ORDER.index(f["severity"]) for f in findings), default=0)
    if code != (4 if worst == 3 else 0):
        yield f"exit {code}, the worst finding is {_ORDER[worst]}"
    for key, value in want.items():
        if key == "asserts":
            continue
        if key == "exit":
            met = code == value
        elif key == "severity":
            met = _ORDER[worst] == value
        elif key == "severity_max":
            met = worst <= _ORDER.index(value)
        else:
            met = _CHECKS[key](findings, value)
        if not met:
            ids = [(finding["id"], finding["severity"]) for finding in findings]
            yield f"{key} {value}: {ids} {[*_fixes(findings)]}"


def _has(findings: Findings, some: Callable[..., bool], items: list[str], *, fix: bool) -> bool:
    text = "\n".join(_fixes(findings)) if fix else json.dumps(findings, ensure_ascii=False)
    return some(says(text, item) for item in items)


def _not_told(findings: Findings, items: list[str], hit: Callable[[str, str], object]) -> bool:
    return not any(hit(item, line) for item in items for line in _told(findings))


_CHECKS: dict[str, Callable[[Findings, Any], bool]] = {
    "finding": lambda findings, id: any(finding["id"] == id for finding in findings),
    "not_finding": lambda findings, ids: not {finding["id"] for finding in findings} & set(ids),
    "first": lambda findings, id: findings[0]["id"] == id,
    "says_any": lambda findings, items: _has(findings, any, items, fix=False),
    "says_all": lambda findings, items: _has(findings, all, items, fix=False),
    "fix_contains": lambda findings, items: _has(findings, all, items, fix=True),
    "fix_contains_any": lambda findings, items: _has(findings, any, items, fix=True),
    "must_not": lambda findings, items: _not_told(findings, items, lambda i, line: says(line, i)),
    "must_not_match": lambda findings, items: _not_told(findings, items, re.search),
}


def _fixes(findings: Findings) -> Iterator[str]:
    for finding in findings:
        for step in finding["steps"]:
            yield " ".join([*step["argv"], step["text"], step["check"], step["why"]])


def _told(findings: Findings) -> Iterator[str]:
    """Sentences of steps that tell to do something; one that warns, or takes away, is none."""
    for line in _fixes(findings):
        if not WARNS.search(line):
            yield line
