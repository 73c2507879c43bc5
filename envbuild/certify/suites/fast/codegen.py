"""What the image's own compiler makes of the same source, against the prebuilt code.

Both run in one process in the order A B B A, so that a machine that is slow or warm slows both:
what is left is the compiler's, and that is the image's.
"""

from envbuild.certify import facts
from envbuild.certify.limits import figure
from envbuild.certify.seen import Seen
from envbuild.certify.suites.common import broken, last_line
from envbuild.certify.suites.fast.answer import Line, part, unjudged
from envbuild.certify.verdicts import ruled, settle
from envbuild.values.certificate import Check, Control
from envbuild.values.codec import Pairs, replace

COMPILE = "fast.compile"
_FLOOR = 0.97
_HALF = 0.7
# What its times are: FMA in cycles, triad by the clock on the wall.
_TIMES = {"fma": "cycles", "triad": "us"}


def check(seen: Seen, kind: str) -> Check:
    """Speed of the image's code as a share of the prebuilt one's."""
    name = f"codegen.{kind}"
    times = _TIMES[kind]
    check = Check(
        id=f"fast.codegen-{kind}",
        core=False,
        verdict="pass",
        says=f"what the image's compiler makes of the {kind} is as fast as the prebuilt code",
        unit="of the prebuilt code's speed",
        limit="1",
        formula="time of ours / time of the image's, A B B A",
        rule=f"the 95 % interval of the ratio lies above {_FLOOR}; every result is right",
    )
    if early := _not_compiled(seen, check):
        return early
    answer = part(seen, "codegen")
    if early := unjudged(check, answer):
        return early
    pairs = answer.one("pairs", name)
    if pairs is None or not _ratios(pairs, times):
        verdict, reason, blame = answer.missing(name)
        failed = answer.one("failed")
        code = failed is not None and failed.call in {"module_load", "module_function"}
        return ruled(check, verdict, reason, "image" if code else blame)
    if wrong := answer.right(name):
        return ruled(check, "fail", wrong, "image")
    ratio = figure(_ratios(pairs, times), "of the prebuilt", 1.0, _FLOOR)
    compiler = f"{facts.compiler(seen)} {facts.toolkit(seen) or ''}".strip()
    check = replace(
        check,
        value=f"{ratio.value:.3f}",
        inputs=Pairs({"compiler": compiler, "interval": f"{ratio.low:.3f} to {ratio.high:.3f}"}),
        expression="1",
        bounds=(f"low >= {_FLOOR} * limit",),
        measure=replace(ratio, shown=f"{ratio.value:.3f} of ours", owner="image"),
    )
    half = answer.one("pairs", f"{name}.half")
    controls: tuple[Control, ...] = ()
    if half and _ratios(half, times):
        share = figure(_ratios(half, times), "").value
        says = f"reads {share:.2f}"
        controls = (Control(name="half the speed", red=share < _HALF, says=says),)
    if ratio.high < _FLOOR:
        reason = f"{ratio.value:.3f} of the speed of the prebuilt code on the same GPU"
        return settle(ruled(check, "fail", reason, "image"), *controls)
    if ratio.low < _FLOOR:
        reason = f"the interval of the ratio holds {_FLOOR}"
        return settle(ruled(check, "inconclusive", reason, "image"), *controls)
    return settle(check, *controls)


def _not_compiled(seen: Seen, check: Check) -> Check | None:
    """The check where there is no code of the image's own to run; None where there is."""
    if not facts.compiler(seen):
        reason = "the image has no compiler: it makes no code of its own"
        return ruled(check, "skip", reason, "image")
    ran = seen.step(COMPILE)
    if ran is None and part(seen, "codegen").stopped:
        return None  # why nothing ran is said once
    if stopped := broken(ran, "compiling"):
        return ruled(check, *stopped, "machine")
    if ran and not ran.ok:
        return ruled(check, "fail", f"compiling: {last_line(ran.err or ran.out)}", "image")
    return None


def _ratios(pairs: Line, times: str) -> list[float]:
    ours, image = (
        (pairs.ours_cycles, pairs.image_cycles)
        if times == "cycles"
        else (pairs.ours_us, pairs.image_us)
    )
    return [a / b for a, b in zip(ours, image, strict=False) if b > 0]
