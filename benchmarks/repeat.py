"""How often a suite gives which verdict on one GPU: the image, or the system here, again and again.

usage: repeat.py [-n 10] [--suite fast] [--rootfs /] [--record FOLDER] [--env NAME=VALUE] [IMAGE]

Each run is what `certify --require SUITE` observes and judges, less those before it that say
nothing of speed. Prints a line a check: verdicts, the share of the limit over all runs, and how far
the medians of runs lie apart.
"""

import argparse
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from envbuild.certify.judge import judge
from envbuild.certify.observe import Policy, observe
from envbuild.engines.find import holding
from envbuild.engines.rootfs import RootfsEngine
from envbuild.host.detect import this_machine
from envbuild.matrix.load import load
from envbuild.values.certificate import Check
from envbuild.values.codec import Pairs, dump_line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("image", nargs="?", help="image that an engine here has")
    parser.add_argument("-n", type=int, default=10, help="runs")
    parser.add_argument("--suite", default="fast")
    parser.add_argument("--rootfs", default="/", help="folder to use where no image is named")
    parser.add_argument("--env", action="append", default=[], help="NAME=VALUE with --rootfs")
    parser.add_argument("--record", type=Path, help="folder for what each run observed")
    given = parser.parse_args()
    if given.image:
        engine = holding(given.image).engine
        image = engine.inspect(given.image)
    else:
        named = (text.partition("=") for text in given.env)
        engine = RootfsEngine(Pairs(tuple((name, value) for name, _, value in named)))
        image = engine.inspect(given.rootfs)
    if image is None:
        sys.exit(f"no engine here has {given.image}")
    host, matrices = this_machine(), load()
    runs: list[tuple[Check, ...]] = []
    for number in range(given.n):
        start = time.monotonic()
        seen = observe(
            engine,
            image,
            plan=None,
            lock=None,
            host=host,
            matrices=matrices,
            policy=Policy(require=(given.suite,)),
            suites=("smoke", given.suite),
            say=lambda _: None,
        )
        suite = next(s for s in judge(seen, (given.suite,)).suites if s.name == given.suite)
        runs.append(suite.checks)
        if given.record:
            given.record.mkdir(parents=True, exist_ok=True)
            (given.record / f"{number + 1}.json").write_bytes(dump_line(seen))
        took = time.monotonic() - start
        print(f"run {number + 1}: {suite.verdict}, {took:.1f} s", file=sys.stderr, flush=True)
    for checks in zip(*runs, strict=True):
        print(_line(checks))
    return 0


def _line(checks: tuple[Check, ...]) -> str:
    """Of one check over all runs."""
    verdicts = Counter(check.verdict for check in checks)
    counted = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common())
    measures = [check.measure for check in checks if check.measure]
    if not measures:
        return f"{checks[0].id:<24} {counted}"
    medians = [measure.value for measure in measures]
    middle = statistics.median(medians)
    text = f"{checks[0].id:<24} {counted}; {middle:.4g} {measures[0].unit}"
    text += f", runs {min(medians) / middle - 1:+.2%} to {max(medians) / middle - 1:+.2%}"
    limit = measures[0].limit
    return (
        f"{text}; {min(medians) / limit:.4f} to {max(medians) / limit:.4f} of the limit"
        if limit
        else text
    )


if __name__ == "__main__":
    sys.exit(main())
