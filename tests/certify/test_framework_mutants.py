"""Framework probes with one thing broken each: on a real GPU none passed, and they still fit."""

import ast
import json
from pathlib import Path

import pytest

from envbuild import data
from envbuild.certify.judge import judge
from envbuild.certify.seen import Seen
from tests.certify import framework_samples as made
from tests.certify import samples
from tests.certify.framework_mutants import MUTANTS, Mutant, mutated

FRAMEWORKS = data.folder("kernels") / "frameworks"
RECORDED = Path(__file__).with_name("recorded") / "h200.framework-mutants.json"
FOUND = {one["name"]: one for one in json.loads(RECORDED.read_bytes())}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: f"{one.step}: {one.name}")
def test_each_is_one_change_of_a_program_that_still_runs(mutant: Mutant) -> None:
    path = FRAMEWORKS / (mutant.file or mutant.probe)
    text = mutated(mutant, path.read_text())
    assert (FRAMEWORKS / mutant.probe).is_file()
    if Path(path).suffix == ".py":
        ast.parse(text, feature_version=(3, 8))


def test_each_part_that_computes_has_one() -> None:
    assert {one.step for one in MUTANTS} == set(made.ANSWERS) - {"torch.build", "cupy.build"}


def answered(name: str) -> tuple[str, Seen]:
    """A healthy run in which one part answered as the mutant did on the GPU."""
    one = FOUND[name]
    suite = one["step"].partition(".")[0]
    rc, signal = max(one["rc"], -1), max(-one["rc"], 0)
    now = samples.changed(made.seen(suite), one["step"], rc=rc, signal=signal, out=one["out"])
    return suite, now


@pytest.mark.parametrize("name", [one.name for one in MUTANTS])
def test_it_loses_its_pass(name: str) -> None:
    suite, now = answered(name)
    assert judge(made.seen(suite), (suite,)).exit == 0
    result = judge(now, (suite,))
    checks = [check for one in result.suites if one.name == suite for check in one.checks]
    assert {check.verdict for check in checks} - {"pass", "skip"}, checks
