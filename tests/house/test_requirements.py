"""The locks of our own dependencies: complete, hashed, for every platform, naming no index."""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("run", "test", "dev", "audit")
PLATFORMS = [
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
]
ENVIRONMENTS = [
    {**platform, "python_version": python, "python_full_version": f"{python}.1"}
    for platform in PLATFORMS
    for python in ("3.10", "3.11", "3.12", "3.13", "3.14")
]


def pyproject() -> dict[str, Any]:
    toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    whole: dict[str, Any] = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return whole


def wanted(lock: str) -> list[Requirement]:
    """What pyproject asks for: the package's own needs, and the group of that name."""
    whole = pyproject()
    lines = list(whole["project"]["dependencies"])
    groups = [] if lock == "run" else [lock]
    while groups:
        for entry in whole["dependency-groups"][groups.pop()]:
            if isinstance(entry, str):
                lines.append(entry)
            else:
                groups.append(entry["include-group"])
    return [Requirement(line) for line in lines]


def locked(text: str) -> list[tuple[Requirement, int]]:
    """Each pinned requirement of a lock, and how many hashes it has."""
    body = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [
        (Requirement(line.split("--hash")[0].strip()), line.count("--hash=sha256:"))
        for line in body.splitlines()
        if line.strip()
    ]


def problems(text: str, requirements: list[Requirement]) -> list[str]:
    """What is wrong with a lock for these requirements."""
    found = [line for line in text.splitlines() if "://" in line or line.startswith("-")]
    entries = locked("\n".join(line for line in text.splitlines() if not line.startswith("-")))
    found += [f"{pin} has no hash" for pin, hashes in entries if not hashes]
    for environment in ENVIRONMENTS:
        whole = {**{k: str(v) for k, v in default_environment().items()}, **environment}
        here = [pin for pin, _ in entries if pin.marker is None or pin.marker.evaluate(whole)]
        for need in requirements:
            name = canonicalize_name(need.name)
            pins = [pin for pin in here if canonicalize_name(pin.name) == name]
            version = str(pins[0].specifier).removeprefix("==") if len(pins) == 1 else ""
            if not version or not need.specifier.contains(version, prereleases=True):
                found.append(f"{need}: {len(pins)} pins {version} under {environment}")
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_covers_pyproject_on_every_platform_and_python(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    assert problems(text, wanted(lock)) == []


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r"^typer==0\.28\.", "typer==0.29."),
        (r"^requests==.*\n(?: +--hash.*\n)+", ""),
        (r"^(typer==\S+) .*\n(?: +--hash.*\n)+", r"\1\n"),
        (r"\A", "--index-url https://index.invalid/simple\n"),
        (r"^(msgspec==\S+)", r"\1 ; sys_platform == 'linux'"),
    ],
    ids=["too new", "missing", "no hash", "names an index", "not for Windows"],
)
def test_a_spoiled_lock_is_noticed(pattern: str, instead: str) -> None:
    text = (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")
    spoiled = re.sub(pattern, instead, text, flags=re.MULTILINE)
    assert spoiled != text
    assert problems(spoiled, wanted("run"))


def test_the_three_locks_agree() -> None:
    pins: dict[tuple[str, str], set[str]] = {}
    for lock in LOCKS:
        text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
        for pin, _ in locked(text):
            pins.setdefault((pin.name, str(pin.marker)), set()).add(str(pin.specifier))
    assert {name: versions for name, versions in pins.items() if len(versions) > 1} == {}


def extras(text: str) -> set[str]:
    """The extras that a text tells people to install."""
    return set(re.findall(r"pip install '[^']*\[([\w,-]+)\]'", text))


def test_each_extra_that_a_text_names_is_there_and_comes_from_this_folder() -> None:
    """No package of this name is published: `envbuild[x]` would bring a stranger's."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "envbuild").rglob("*.py")]
    texts.append((ROOT / "README.md").read_text(encoding="utf-8"))
    assert set().union(*map(extras, texts)) == set(pyproject()["project"]["optional-dependencies"])
    assert not [text for text in texts if "install 'envbuild[" in text]
    assert extras("pip install '.[none-such]'") == {"none-such"}
