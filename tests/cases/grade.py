"""How the expectations of open.yaml are read and graded; its header is the rule book."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from envbuild.planner import ranges

FILE = Path(__file__).with_name("open.yaml")
# A line that warns against a thing, or takes it away, does not tell anybody to use it.
WARNS = re.compile(
    r"\b(?:not|never|no|avoid|instead|without|remove[sd]?|purge[sd]?|drop(?:s|ped)?|rm)\b|n't\b",
    re.IGNORECASE,
)


class Case(NamedTuple):
    """One expectation: ``C13.1`` is the second of C13."""

    id: str
    command: str
    given: dict[str, Any]
    want: dict[str, Any]


class Answer(NamedTuple):
    """What a command gave: the plan, its exit code, and the files that were written, by path."""

    plan: dict[str, Any]
    code: int
    files: Mapping[str, str] = MappingProxyType({})


def cases(*commands: str) -> list[Case]:
    """Expectations of these commands, in the order of the file; no command = all of them."""
    records = yaml.safe_load(FILE.read_text())
    return [
        Case(f"{record['id']}.{i}", expect["command"], expect["given"], expect["want"])
        for record in records
        for i, expect in enumerate(record["expect"])
        if not commands or expect["command"] in commands
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


def grade(answer: Answer, want: dict[str, Any]) -> list[str]:
    """What of ``want`` is not met, each as one line; empty = all is."""
    return list(_grade(answer, want))


def _grade(answer: Answer, want: dict[str, Any]) -> Iterator[str]:
    outcome = answer.plan["outcome"]
    if (outcome == "refuse") != (answer.code == 3):
        yield f"outcome {outcome} with exit {answer.code}"
    wanted = want.get("outcome_in", [want["outcome"]] if "outcome" in want else None)
    met = {outcome, "ok"} if outcome == "warn" else {outcome}
    if wanted is not None and not met & set(wanted):
        yield f"outcome {outcome}, not {wanted}"
    for key, value in want.items():
        if key in {"outcome", "outcome_in", "asserts"}:
            continue
        # What a refusal tells to do is held against must_not, too.
        if outcome == "refuse" and not key.startswith(("says", "must_not")):
            continue
        if key == "any_of":
            tries = [grade(answer, one) for one in value]
            if all(tries):
                yield f"none of any_of: {tries}"
        elif not _met(answer, key, value):
            yield f"{key}: {value} against {_value(answer.plan, key)!r}"


def _met(answer: Answer, key: str, value: Any) -> bool:  # noqa: ANN401 - YAML
    known = _CHECKS.get(key)
    return _compare(answer.plan, key, value) if known is None else known(answer, value)


def _says(some: Callable[..., bool]) -> Callable[[Answer, Any], bool]:
    return lambda answer, items: some(
        says(json.dumps(answer.plan, ensure_ascii=False), item) for item in items
    )


def _targets(answer: Answer) -> set[str]:
    return set(re.findall(r"(?:sm|compute)_\w+", " ".join(answer.plan["gencode"])))


def _names(answer: Answer) -> set[str]:
    return {re.split(r"[\[<>=!~]", package)[0] for package in answer.plan["packages"]}


def _written(answer: Answer) -> str:
    assert answer.files, "nothing was rendered"
    return "\n".join(answer.files.values())


def _instructions(answer: Answer) -> str:
    lines = answer.files["Dockerfile"].splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def _env(answer: Answer, wanted: dict[str, str], *, match: bool = False) -> bool:
    """The variables of the devel stage, the default one, as the Dockerfile sets them."""
    have = dict(re.findall(r'\b([A-Z][A-Z_0-9]*)="([^"]*)"', _instructions(answer)))
    return all(
        re.search(value, have.get(name, "")) is not None if match else have.get(name) == value
        for name, value in wanted.items()
    )


def _not_told(answer: Answer, items: list[str], *, match: bool = False) -> bool:
    hit: Callable[[str, str], bool] = lambda item, line: (  # noqa: E731
        re.search(item, line) is not None if match else says(line, item)
    )
    told = [line for line in _told(answer) if not WARNS.search(line)]
    return not any(hit(item, line) for item in items for line in told)


def _told(answer: Answer) -> Iterator[str]:
    """What people are told to do or use: steps, commands, chosen values, files, a line each."""
    plan = answer.plan
    for finding in plan["findings"]:
        for step in finding["steps"]:
            yield " ".join([*step["argv"], step["text"], step["check"]])
    for key in ("flags", "env", "run", "image", "packages", "apt", "gencode"):
        yield json.dumps(plan[key])
    for path, text in answer.files.items():
        if path != "plan.json":
            # An instruction that goes on is one line.
            yield from text.replace("\\\n", " ").splitlines()


_CHECKS: dict[str, Callable[[Answer, Any], bool]] = {
    "says_any": _says(any),
    "says_all": _says(all),
    "gencode_includes": lambda answer, value: set(value) <= _targets(answer),
    "gencode_includes_any": lambda answer, value: bool(set(value) & _targets(answer)),
    "gencode_excludes": lambda answer, value: not set(value) & _targets(answer),
    "packages_any": lambda answer, value: bool(set(value) & _names(answer)),
    "packages_all": lambda answer, value: set(value) <= _names(answer),
    "packages_none": lambda answer, value: not set(value) & _names(answer),
    "contains": lambda answer, value: all(says(_written(answer), item) for item in value),
    "contains_any": lambda answer, value: any(says(_written(answer), item) for item in value),
    "contains_match": lambda answer, value: all(re.search(i, _written(answer)) for i in value),
    "env": _env,
    "env_match": lambda answer, value: _env(answer, value, match=True),
    "dockerfile_not_match": lambda answer, value: (
        not any(re.search(item, _instructions(answer)) for item in value)
    ),
    "must_not": _not_told,
    "must_not_match": lambda answer, value: _not_told(answer, value, match=True),
}


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
    if base == "platform":
        return plain(value) in plain(have)
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
