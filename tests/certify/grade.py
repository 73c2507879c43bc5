"""How `certify` expectations of open.yaml are held against an answer; its head says the rules.

The parts that all commands share (what is said, and how it is spelled) are those of `tests.cases`.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.cases.grade import says

# Checks by meaning.
_CHECKS = {
    "eager_kernel": "torch.eager",
    "torch_compile": "torch.compile",
    "cuda_graph": "torch.graph",
    "ncu_counters": "tools.ncu",
    "pinned_copies": "fast.copies",
}
_OWNERS = {4: "machine", 6: "image", 9: "suite"}


def grade(answer: dict[str, Any], code: int, want: dict[str, Any]) -> list[str]:
    """What of ``want`` the certificate and the exit code do not meet; empty = all is."""
    return list(_grade(answer, code, want))


def _grade(answer: dict[str, Any], code: int, want: dict[str, Any]) -> Iterator[str]:
    text = json.dumps(answer, ensure_ascii=False)
    verdicts = {check["id"]: check["verdict"] for s in answer["suites"] for check in s["checks"]}
    verdicts |= {suite["name"]: suite["verdict"] for suite in answer["suites"]}
    if code != answer["exit"]:
        yield f"exit {code}, the certificate says {answer['exit']}"
    for key, value in want.items():
        if key == "result" and answer["verdict"] != value:
            yield f"result {answer['verdict']}, not {value}: {_why(answer)}"
        elif key == "result_not" and answer["verdict"] == value:
            yield f"result {value}"
        elif key == "exit" and code != value:
            yield f"exit {code}, not {value}"
        elif key == "blame" and _OWNERS.get(code) != value:
            yield f"blame by exit {code}, not {value}: {_why(answer)}"
        elif key == "checks":
            for name, verdict in value.items():
                have = verdicts.get(_CHECKS.get(name, name))
                if have != verdict:
                    yield f"{name} {have}, not {verdict}"
        elif key == "says_any" and not any(says(text, item) for item in value):
            yield f"nothing of {value} is said: {_why(answer)}"
        elif key == "says_all":
            yield from (f"{item} is not said" for item in value if not says(text, item))
        elif key not in _KEYS:
            yield f"nobody knows how {key} is graded"


_KEYS = {"result", "result_not", "exit", "blame", "checks", "says_any", "says_all", "asserts"}


def _why(answer: dict[str, Any]) -> str:
    bad = (c for s in answer["suites"] for c in s["checks"] if c["verdict"] not in {"pass", "skip"})
    return "; ".join(f"{c['id']} {c['verdict']} ({c['blame']}): {c['reason']}" for c in bad)[:600]
