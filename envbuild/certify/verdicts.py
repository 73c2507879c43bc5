"""How checks get verdicts, suites their outcome and a run its exit code; pure."""

from collections.abc import Sequence

from envbuild.values.certificate import Blame, Check, Control, SuiteResult, Verdict
from envbuild.values.codec import replace

EXIT = {"suite": 9, "machine": 4, "image": 6}


def ruled(
    check: Check, verdict: Verdict, reason: str, blame: Blame | None, *, core: bool | None = None
) -> Check:
    """The check with another verdict than pass, why, and who owns it."""
    core = check.core if core is None else core
    return replace(check, verdict=verdict, reason=reason, blame=blame, core=core)


def settle(check: Check, *controls: Control) -> Check:
    """The check with its controls.

    A pass without one that turned red is void, and so is any verdict beside a green one.
    """
    check = replace(check, controls=controls)
    green = [control.name for control in controls if not control.red]
    if check.verdict in {"pass", "fail"} and green:
        reason = f"the control stayed green: {', '.join(green)}"
        return replace(check, verdict="void", blame="suite", reason=reason)
    if check.verdict == "pass" and not controls:
        return replace(check, verdict="void", blame="suite", reason="no control ran")
    return check


def suite(name: str, checks: Sequence[Check], *, required: bool, seconds: float) -> SuiteResult:
    """A suite passes if every core check passed and none failed or stayed open.

    One that nobody required, and whose core was skipped whole, is called a skip.
    """
    verdict = word(exit_code(checks))
    if not required and verdict == "fail":
        tried = [c for c in checks if c.core and c.verdict != "skip"] or [
            c for c in checks if c.verdict in {"fail", "void", "inconclusive"}
        ]
        verdict = verdict if tried else "skip"
    return SuiteResult(
        name=name,
        required=required,
        verdict=verdict,
        checks=tuple(checks),
        seconds=seconds,
    )


def exit_code(checks: Sequence[Check]) -> int:
    """The exit code of one suite's checks; precedence 9, 4, 6, 8, 0."""
    codes = {_code(check) for check in checks}
    core = [check for check in checks if check.core]
    if 9 in codes or not core:
        return 9
    return next((code for code in (4, 6, 8) if code in codes), 0)


def _code(check: Check) -> int:
    if check.verdict == "void":
        return 9
    if check.verdict == "inconclusive":
        return 8
    if check.verdict == "fail" or (check.verdict == "skip" and check.core):
        # A core check that was skipped with nobody to blame was never tried: nothing is proven.
        return EXIT[check.blame or "suite"]
    return 0


def run_exit(suites: Sequence[SuiteResult], below: Sequence[str] = ()) -> int:
    """The exit code of a run: the worst of the required suites; none required ran = 9.

    Suites ``below`` a required one need not pass, but nothing in them may have failed or be void:
    what was seen to be wrong is never certified, nor what a broken measurement stands under.
    """
    codes = {exit_code(one.checks) for one in suites if one.required}
    if not codes:
        return 9
    lower = [check for one in suites if one.name in below for check in one.checks]
    codes |= {_code(check) for check in lower if check.verdict == "fail"}
    # Whatever was found above it says more than that a check below proves nothing; and what the
    # image's compiler was not shown to refuse is no ground of what ran on the GPU.
    void = {check.id.partition(".")[0] for check in lower if check.verdict == "void"}
    if codes == {0} and void - {"toolchain"}:
        return 9
    return next((code for code in (9, 4, 6, 8) if code in codes), 0)


def word(code: int) -> Verdict:
    """The verdict that an exit code stands for."""
    words: dict[int, Verdict] = {0: "pass", 8: "inconclusive", 9: "void"}
    return words.get(code, "fail")
