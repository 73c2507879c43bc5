"""Asking the judge for one check, and making an answer of the probe that ends early."""

from envbuild.certify.judge import Judgement, judge
from envbuild.certify.seen import Seen
from envbuild.values.certificate import Check
from tests.certify import samples


def check(result: Judgement, name: str) -> Check:
    return next(c for suite in result.suites for c in suite.checks if c.id == name)


def verdict(now: Seen, name: str) -> tuple[str, str | None]:
    found = check(judge(now, ("toolchain", "smoke")), name)
    return found.verdict, found.blame


def failed(instead: str, call: str, code: int) -> tuple[tuple[str, str], ...]:
    """Edits that end the answer with a failing call at the line of one event."""
    lines = list(samples.SMOKE_LINES)
    at = next(i for i, line in enumerate(lines) if f'"{instead}"' in line)
    rest = "\n".join(lines[at:])
    end = lines[-1].replace('"bad":0', '"bad":1')
    return ((rest, f'{{"event":"failed","call":"{call}","says":"X","code":{code}}}\n{end}'),)
