"""Made machines speak as real ones do: each line has the fields that the real program's has.

Held against every observation in `recorded/` that holds the step.
"""

import json
from pathlib import Path

import pytest

from envbuild.certify.seen import Seen
from envbuild.certify.suites import SUITES
from envbuild.values.codec import load
from tests.certify.simulated.devices import device
from tests.certify.simulated.machine import Machine, observe

RECORDED = sorted(Path(__file__).with_name("recorded").glob("*.seen.json"))
# A field of an earlier day, and what it is called now.
_RENAMED = {"cubin": "count"}
# Said only where it is so: NVML's readings, a failure, and what a device has none of.
_SOMETIMES = {"health", "failed", "error", "missing", "refused"}


def forms(seen: Seen) -> dict[tuple[str, str], set[frozenset[tuple[str, str]]]]:
    """(step, event) to the fields, with the types of their values, that its lines have."""
    found: dict[tuple[str, str], set[frozenset[tuple[str, str]]]] = {}
    for session in seen.sessions:
        for ran in session.steps:
            for line in ran.out.splitlines() if ran.ok else ():
                event = json.loads(line) if line.startswith("{") else {}
                if "event" in event and event["event"] not in _SOMETIMES:
                    named = ((_RENAMED.get(n, n), _type(value)) for n, value in event.items())
                    form = frozenset(named)
                    found.setdefault((ran.step, event["event"]), set()).add(form)
    return found


def _type(value: object) -> str:
    return "number" if type(value) in {int, float} else type(value).__name__


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_simulated_answer_has_the_form_of_a_recorded_one(path: Path) -> None:
    real = forms(load(Seen, path.read_bytes(), path.name))
    made = forms(observe(Machine(device("H200")), *(s for s in SUITES if s != "multi")))
    both = real.keys() & made.keys()
    assert ("smoke", "sums") in both
    for key in both:
        # Programs of an earlier day said more; none says less.
        like = any(ours <= theirs for ours in made[key] for theirs in real[key])
        assert like, f"{key}: {sorted(map(sorted, made[key] ^ real[key]))}"
