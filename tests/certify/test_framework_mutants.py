"""The mutants of the framework probes fit the probes as they are."""

import ast
from pathlib import Path

import pytest

from envbuild import data
from tests.certify import framework_samples as made
from tests.certify.framework_mutants import MUTANTS, Mutant, mutated

FRAMEWORKS = data.folder("kernels") / "frameworks"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: f"{one.step}: {one.name}")
def test_each_is_one_change_of_a_program_that_still_runs(mutant: Mutant) -> None:
    path = FRAMEWORKS / (mutant.file or mutant.probe)
    text = mutated(mutant, path.read_text())
    assert (FRAMEWORKS / mutant.probe).is_file()
    if Path(path).suffix == ".py":
        ast.parse(text, feature_version=(3, 8))


def test_each_part_that_computes_has_one() -> None:
    assert {one.step for one in MUTANTS} == set(made.ANSWERS) - {"torch.build", "cupy.build"}
