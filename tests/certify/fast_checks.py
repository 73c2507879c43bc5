"""Checks of the suite `fast` by their short names, and answers with their texts changed."""

from envbuild.certify import verdicts as rules
from envbuild.certify.judge import judge
from envbuild.certify.seen import Seen
from envbuild.values.certificate import Check
from tests.certify import samples
from tests.certify.fast_samples import Device
from tests.certify.samples import changed

HEALTHY = Device()
CORE = {"clock", "fma-f32", "fma-f64", "dram-read", "dram-triad"}
SIDE = {"dram-write", "dram-copy", "l2-read", "copies", "launch", "graph"}
OWN = {"codegen-fma", "codegen-triad"}


def checks(now: Seen) -> dict[str, Check]:
    result = judge(now, ("fast",))
    suite = next(s for s in result.suites if s.name == "fast")
    found = {c.id.removeprefix("fast."): c for c in suite.checks}
    return {name: c for name, c in found.items() if name in CORE | SIDE | OWN}


def exit_code(now: Seen) -> int:
    """Of these checks alone; those of the image's libraries have tests of their own."""
    return rules.exit_code(tuple(checks(now).values()))


def verdicts(now: Seen) -> dict[str, str]:
    return {name: c.verdict for name, c in checks(now).items()}


def edited(now: Seen, part: str, *edits: tuple[str, str]) -> Seen:
    """The same with texts of one part's answer replaced (all must be there)."""
    return samples.smoke(now, *edits, step=f"fast.{part}")


def lines_without(now: Seen, part: str, word: str) -> Seen:
    ran = now.step(f"fast.{part}")
    assert ran is not None
    kept = [line for line in ran.out.splitlines() if f'"{word}"' not in line]
    assert len(kept) < len(ran.out.splitlines()), word
    return changed(now, f"fast.{part}", out="\n".join(kept))
