"""Rendered contexts as committed: a change of a template shows in review, byte by byte.

``UPDATE_GOLDEN=1 pytest tests/render/test_golden.py`` writes them anew.
"""

import os
import sys
from pathlib import Path

import pytest

from envbuild.engines import unpack
from envbuild.io.proc import run
from envbuild.render.context import render
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan
from tests.render import locks, plans

GOLDEN = Path(__file__).with_name("golden")
CASES: dict[str, tuple[Plan, Lock | None]] = {
    "wheels": (plans.WHEELS, locks.WHEELS),
    "distro": (plans.DISTRO, locks.DISTRO),
    "image": (plans.IMAGE, locks.IMAGE),
    "torch": (plans.TORCH, locks.TORCH),
    "unlocked": (plans.WHEELS, None),
    "apt": (plans.APT, locks.APT),
    "redist": (plans.REDIST, locks.REDIST),
    "conda": (plans.CONDA, locks.CONDA),
}
# A context carries this program as it is: it is reviewed where it is written.
COPIES = {"unpack.py": Path(unpack.__file__)}


def held(name: str) -> dict[str, bytes]:
    folder = GOLDEN / name
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def lint(path: Path) -> tuple[int, str]:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = run([str(hadolint), "--no-color", str(path)], timeout=60)
    return done.rc, done.out


@pytest.mark.parametrize("name", CASES)
def test_equal_to_what_is_committed(name: str) -> None:
    files = {file.path: file.data for file in render(*CASES[name]).files}
    for copy in files.keys() & COPIES.keys():
        assert files.pop(copy) == COPIES[copy].read_bytes()
    if os.environ.get("UPDATE_GOLDEN"):
        for path in GOLDEN.joinpath(name).rglob("*"):
            if path.is_file():
                path.unlink()
        for file, data in files.items():
            target = GOLDEN / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    assert held(name) == files


@pytest.mark.parametrize("name", CASES)
def test_hadolint_finds_nothing(name: str) -> None:
    assert lint(GOLDEN / name / "Dockerfile") == (0, "")


def test_hadolint_would_find_something(tmp_path: Path) -> None:
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM debian\nRUN apt-get install gcc\n")
    assert lint(bad)[0] != 0
