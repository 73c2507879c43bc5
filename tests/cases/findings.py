"""How `doctor` and `build` expectations are held against findings; the head of open.yaml rules."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.cases.grade import WARNS, says

_ORDER = ("info", "watch", "warn", "error")


def grade_findings(answer: dict[str, Any], code: int, want: dict[str, Any]) -> list[str]:
    """What of ``want`` a diagnosis and its exit code do not meet; empty = all is."""
    return list(_grade(answer, code, want))


def _grade(answer: dict[str, Any], code: int, want: dict[str, Any]) -> Iterator[str]:
    findings = answer["findings"]
    whole = json.dumps(findings, ensure_ascii=False)
    fixes = "\n".join(_fixes(findings))
    ids = [finding["id"] for finding in findings]
    worst = max((_ORDER.index(f["severity"]) for f in findings), default=0)
    if code != (4 if worst == 3 else 0):
        yield f"exit {code}, the worst finding is {_ORDER[worst]}"
    for key, value in want.items():
        if key == "finding":
            if value not in ids:
                yield f"no finding {value}: {ids}"
        elif key == "not_finding":
            yield from (f"finding {one}" for one in value if one in ids)
        elif key == "severity":
            if _ORDER[worst] != value:
                yield f"severity {_ORDER[worst]}, not {value}: {ids}"
        elif key == "severity_max":
            if worst > _ORDER.index(value):
                yield f"severity {_ORDER[worst]}, above {value}: {ids}"
        elif key in {"says_any", "says_all", "fix_contains", "fix_contains_any"}:
            text = whole if key.startswith("says") else fixes
            some: Callable[..., bool] = any if key.endswith("any") else all
            if not some(says(text, item) for item in value):
                yield f"{key} {value}: {text[:1500]}"
        elif key in {"must_not", "must_not_match"}:
            for item in value:
                yield from (f"{key} {item}: {line}" for line in _told(findings) if _hit(key, item, line))
        elif key == "exit":
            if code != value:
                yield f"exit {code}, not {value}"
        elif key != "asserts":
            yield f"nobody knows how {key} is graded"


def _hit(key: str, item: str, line: str) -> bool:
    return re.search(item, line) is not None if key == "must_not_match" else says(line, item)


def _fixes(findings: list[dict[str, Any]]) -> Iterator[str]:
    for finding in findings:
        for step in finding["steps"]:
            yield " ".join([*step["argv"], step["text"], step["check"], step["why"]])


def _told(findings: list[dict[str, Any]]) -> Iterator[str]:
    """Sentences of steps that tell to do something; one that warns, or takes away, is none."""
    for line in _fixes(findings):
        if not WARNS.search(line):
            yield line
