"""Mutants: the suites see what is broken in runner and kernels, and tests see it in the judges.

A bounded part runs here; `script/mutate-certify` runs all of it, on a GPU too.
"""

import os
from pathlib import Path

import msgspec
import pytest

from envbuild import data
from envbuild.certify import run
from tests.certify import here, judge_mutants, judge_mutation, judge_scenarios, mutation

RECORDED = Path(__file__).with_name("recorded") / "h200.mutants.json"
# One of each kind that the made driver can show in a second.
FEW = (
    "smoke.c: NaN counts as right",
    "smoke.c: the answer is fixed",
    "session.c: an error code is swallowed",
    "copies.c: no byte is compared",
)


def test_each_mutant_still_has_its_place() -> None:
    kernels = data.folder("kernels")
    for one in mutation.mutants():
        text = (kernels / one.file).read_text(encoding="utf-8")
        assert text.count(one.old) == 1, f"{one.title}: mend its row in mutants/runner.yaml"


def test_no_two_have_one_name_and_each_kind_is_there() -> None:
    found = mutation.mutants()
    assert len({one.title for one in found}) == len(found) >= 60
    right = mutation.unbroken(found)
    assert len({one.title for one in right}) == len(right) == 7
    assert {one.suite for one in found} == {"smoke", "correct", "fast"}
    assert {one.file for one in found} > {"add.cu", "fma.cu", "memory.cu", "runner/session.c"}


@pytest.mark.slow
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the prebuilt x86_64 files")
def test_a_few_on_the_made_driver(tmp_path: Path) -> None:
    engine = here.HereEngine(here.fake_libcuda(tmp_path))
    about = here.image(stage="runtime", cc="9.0", promise="90")
    policy = run.Policy(require=("smoke",))
    seen = run.observations(engine, about, host=here.HOST, policy=policy)
    place = mutation.Range(engine, seen, tmp_path)
    few = [one for one in mutation.mutants() if one.title in FEW]
    assert len(few) == len(FEW)
    for outcome in place.all(mutation.unbroken(few), 1):
        assert outcome.passing, outcome
    for outcome in place.all(few, 1):
        assert outcome.killed, outcome


def test_recorded_on_a_real_gpu() -> None:
    """What each mutant printed there is judged again: it still turns its checks red."""
    kept = msgspec.json.decode(RECORDED.read_bytes(), type=mutation.Recording)
    wanted = {one.title: one for one in mutation.mutants()}
    unbroken = {one.title: one for one in mutation.unbroken(list(wanted.values()))}
    assert {one.title for one in kept.outcomes} == {*wanted, *unbroken}
    for outcome in kept.outcomes:
        assert not outcome.broken
        one = wanted.get(outcome.title) or unbroken[outcome.title]
        now = mutation.again(kept.run(), one, outcome)
        assert now.passing if outcome.title in unbroken else now.killed, now


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "rate"), [("smoke", 0.6), ("cupy", 0.5), ("tools", 0.6)])
def test_a_judge_that_is_broken_gives_another_verdict(suite: str, rate: float) -> None:
    """By simulated devices alone; other tests see most of the rest (script/mutate-certify)."""
    found = [
        one
        for module in judge_mutants.modules()
        if judge_mutants.suites_of(module) == (suite,)
        for one in judge_mutants.mutants(module)
    ][::9]
    assert len(found) >= 5
    alive = [one for one in found if not judge_mutation.killed(one)]
    says = [(one.module, one.line, one.what) for one in alive]
    assert len(alive) <= (1 - rate) * len(found), says


def test_breaking_a_judge_is_undone() -> None:
    before = judge_scenarios.right("cupy")
    for one in list(judge_mutants.mutants("suites.cupy.build"))[:8]:
        judge_mutation.killed(one)
    now = tuple(judge_scenarios.judged(one) for one in judge_scenarios.scenarios("cupy"))
    assert now == before
