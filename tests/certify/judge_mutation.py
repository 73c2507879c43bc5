"""Judges with one thing broken each: which verdict on a simulated device turns wrong?

Each mutant is one change of one place of a judge: a comparison turned round, a condition that is
never met, a threshold moved, a control left out, a verdict or an owner that is another. It is
killed where any verdict on any scenario is not the one that the unbroken judge gives. Scenarios are
devices healthy and sick, controls that find nothing, and every step ended in every way there is.
"""

import contextlib
import io
from pathlib import Path

from tests.certify.judge_mutants import Broken, Mutant, modules, mutants, suites_of
from tests.certify.judge_scenarios import judged, right, scenarios

# What tests say of the judges of a suite, without running anything.
_TESTS = {
    "smoke": ("judge", "judge_smoke"),
    "toolchain": ("judge", "judge_toolchain"),
    "fast": ("judge_fast", "judge_fast_answers", "limits", "stats"),
    "torch": ("judge_torch", "judge_torch_parts", "judge_frameworks", "words"),
    "cupy": ("judge_frameworks", "framework_cases", "words"),
    "numba": ("judge_frameworks",),
    "triton": ("judge_frameworks",),
    "cuda-python": ("judge_frameworks",),
    "correct": ("judge_correct", "sanitizer"),
    "tools": ("tools",),
    "multi": ("multi",),
}


def killed(mutant: Mutant, limit: int | None = None) -> str:
    """The scenario that it falls by; empty = none of them, or of the first ``limit``."""
    wanted = {suite: right(suite)[:limit] for suite in suites_of(mutant.module)}
    with Broken(mutant):
        for suite, verdicts_ in wanted.items():
            for one, before in zip(scenarios(suite), verdicts_, strict=False):
                if judged(one) != before:
                    return f"{suite}: {one.title}"
    return ""


def fails_tests(mutant: Mutant) -> bool:
    """Whether tests of the judges fail with it; asked of what no scenario kills."""
    import pytest

    names = {name for suite in suites_of(mutant.module) for name in _TESTS.get(suite, ())}
    files = [str(Path(__file__).with_name(f"test_{name}.py")) for name in sorted(names)]
    quiet = ("-x", "-q", "-p", "no:cacheprovider", "--no-header", "--no-summary")
    nowhere = io.StringIO()
    with Broken(mutant), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        return pytest.main([*quiet, *files]) == pytest.ExitCode.TESTS_FAILED


def report(only: str = "", every: int = 1) -> int:
    """Break each place in turn, say what survives both, and the rates."""
    total, by_tests = 0, 0
    alive: list[Mutant] = []
    for module in modules():
        if only not in module:
            continue
        found = list(mutants(module))[::every]
        left = [mutant for mutant in found if not killed(mutant)]
        still = [mutant for mutant in left if not fails_tests(mutant)]
        total, by_tests, alive = total + len(found), by_tests + len(left), [*alive, *still]
        print(
            f"{module}: of {len(found)}, {len(found) - len(left)} change a verdict on a simulated "
            f"device, {len(left) - len(still)} more fail a test",
            flush=True,
        )
        for mutant in still:
            print(f"    line {mutant.line}: {mutant.what}")
    print(
        f"{total - len(alive)} of {total} mutants of judges are killed, {total - by_tests} of them "
        "by simulated devices alone"
    )
    return int(bool(alive))
