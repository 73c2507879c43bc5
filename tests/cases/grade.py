"""How the `plan` expectations of open.yaml are read and graded; its header is the rule book."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from envbuild.planner import ranges

FILE = Path(__file__).with_name("open.yaml")


class Case(NamedTuple):
    """One expectation: ``C13.1`` is the second of C13."""

    id: str
    command: str
    given: dict[str, Any]
    want: dict[str, Any]


def cases(*commands: str) -> list[Case]:
    """Expectations of these commands, in the order of the file."""
    records = yaml.safe_load(FILE.read_text())
    return [
        Case(f"{record['id']}.{i}", expect["command"], expect["given"], expect["want"])
        for record in records
        for i, expect in enumerate(record["expect"])
        if expect["command"] in commands
    ]


def flags(given: dict[str, Any]) -> list[str]:
    """``given`` as command-line flags."""
    names = {"needs": "with", "features": "feature", "host": None, "locked": None, "wsl": None}
    out: list[str] = []
    for key, value in given.items():
        name = names.get(key, key)
        if key == "wsl" and value:
            out += ["--platform", "wsl2"]
        if name is not None:
            for one in value if isinstance(value, list) else [value]:
                out += [f"--{name.replace('_', '-')}", str(one)]
    return out


def plain(text: object) -> str:
    """Case, hyphen, underscore and space do not count."""
    return re.sub(r"[-_\s]+", " ", str(text)).lower()


def says(haystack: str, item: str) -> bool:
    """``a|b``: either will do."""
    return any(plain(part) in plain(haystack) for part in str(item).split("|"))


def version(have: str, want: str) -> bool:
    """Compared by the parts that are written."""
    width = len(ranges.numbers(want))
    return ranges.numbers(have)[:width] == ranges.numbers(want)


def grade(plan: dict[str, Any], code: int, want: dict[str, Any]) -> list[str]:
    """What of ``want`` is not met, each as one line; empty = all is."""
    return list(_grade(plan, code, want))


def _grade(plan: dict[str, Any], code: int, want: dict[str, Any]) -> Iterator[str]:
    outcome = plan["outcome"]
    if (outcome == "refuse") != (code == 3):
        yield f"outcome {outcome} with exit {code}"
    wanted = want.get("outcome_in", [want["outcome"]] if "outcome" in want else None)
    met = {outcome, "ok"} if outcome == "warn" else {outcome}
    if wanted is not None and not met & set(wanted):
        yield f"outcome {outcome}, not {wanted}"
    for key, value in want.items():
        if outcome == "refuse" and not key.startswith("says"):
            continue
        if key in {"outcome", "outcome_in", "asserts"}:
            continue
        if key == "any_of":
            tries = [grade(plan, code, one) for one in value]
            if all(tries):
                yield f"none of any_of: {tries}"
        elif not _met(plan, key, value):
            yield f"{key}: {value} against {_value(plan, key)!r}"


def _met(plan: dict[str, Any], key: str, value: Any) -> bool:  # noqa: ANN401 - YAML
    everything = json.dumps(plan, ensure_ascii=False)
    text = {"says_any": any, "says_all": all}
    if key in text:
        return text[key](says(everything, item) for item in value)
    gencode = " ".join(plan["gencode"])
    targets = set(re.findall(r"(?:sm|compute)_\w+", gencode))
    if key == "gencode_includes":
        return set(value) <= targets
    if key == "gencode_includes_any":
        return bool(set(value) & targets)
    if key == "gencode_excludes":
        return not set(value) & targets
    if key == "packages_any":
        return any(re.split(r"[\[<>=!~]", p)[0] in value for p in plan["packages"])
    if key in {"must_not", "must_not_match"}:
        told = " ".join(_told(plan))
        hit: Callable[[str], bool] = lambda item: (  # noqa: E731
            bool(re.search(item, told)) if key.endswith("match") else says(told, item)
        )
        return not any(hit(item) for item in value)
    return _compare(plan, key, value)


def _compare(plan: dict[str, Any], key: str, value: Any) -> bool:  # noqa: ANN401 - YAML
    base, _, kind = key.rpartition("_")
    kinds = {"in", "not", "range", "match"}
    have = _value(plan, key)
    if kind not in kinds:
        base, kind = key, ""
    if have is None:
        return False
    is_version = base in {"cuda", "torch", "driver_min"}
    if kind == "range":
        return str(have) in ranges.parse(value, key)
    if kind == "match":
        return re.search(value, str(have)) is not None
    if kind == "in":
        return have in value or plain(have) in map(plain, value)
    if kind == "not":
        return plain(have) != plain(value)
    return version(str(have), str(value)) if is_version else plain(have) == plain(value)


def _value(plan: dict[str, Any], key: str) -> Any:  # noqa: ANN401 - JSON
    base = re.sub(r"_(in|not|range|match)$", "", key)
    torch = plan["torch"] or {}
    drivers = [d["min"] for d in plan["driver"] if d["min"]]
    table = {
        "torch": torch.get("version"),
        "torch_index": torch.get("index"),
        "base_os": plan["image"]["os"],
        "image_ref": plan["image"]["ref"],
        "image_flavour": plan["image"]["flavour"],
        "host_gcc_max": (plan["host_compiler"] or {}).get("max"),
        "driver_min": max(drivers, key=ranges.numbers, default=None),
    }
    return table[base] if base in table else plan.get(base)


def _told(plan: dict[str, Any]) -> Iterator[str]:
    """What people are told to do or use: steps, commands, chosen values."""
    for finding in plan["findings"]:
        for step in finding["steps"]:
            yield " ".join([*step["argv"], step["text"], step["check"]])
    for key in ("flags", "env", "run", "image", "packages", "apt", "gencode"):
        yield json.dumps(plan[key])
