"""What an image or its container may do to each suite after smoke: a verdict, never an error.

The engine is the made one; for the sessions of one suite it does what is tried here. Whatever
that is, the suite does not pass, its answer has a reason, and what others showed is kept.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from envbuild.certify.run import state
from envbuild.certify.seen import Seen
from envbuild.certify.suites import SUITES
from envbuild.engines.base import RunSpec
from envbuild.errors import MachineError
from envbuild.io.proc import Completed
from tests.certify.simulated.devices import device
from tests.certify.simulated.machine import Machine, observe

LATER = tuple(name for name in SUITES if name not in {"toolchain", "smoke"})
MIG = "A100 1g MIG"


def lines(change: Callable[[dict[str, object]], object]) -> Callable[[Completed], Completed]:
    """Each step's line changed."""

    def ill(done: Completed) -> Completed:
        found = []
        for line in done.out.splitlines():
            one = json.loads(line)
            change(one)
            found.append(json.dumps(one))
        return done._replace(out="\n".join(found))

    return ill


def _raise(done: Completed) -> Completed:
    what = "docker cannot start a container"
    raise MachineError(what, why="no such device: nvidia.com/gpu=0", fix="nvidia-ctk cdi generate")


HALF = '{"event":"start","nonce":"'
ILLS: dict[str, Callable[[Completed], Completed]] = {
    "the container never comes up": _raise,
    "the container dies": lambda done: done._replace(rc=137, out="", err="Killed"),
    "it dies after its answers": lambda done: done._replace(rc=137),
    "the container hangs": lambda done: done._replace(rc=-9, out="", timed_out=True),
    "somebody writes among the answers": lambda done: done._replace(
        out=done.out + '\n{"step":"liar","rc":0,"out":"{}"}\nnoise'
    ),
    "each program hangs": lines(
        lambda one: one.update(rc=-1, signal=9, timed_out=True, ms=60000, out="")
    ),
    "each program crashes": lines(lambda one: one.update(rc=-1, signal=11, out=HALF)),
    "each program is not there": lines(lambda one: one.update(rc=127, out="", err="not found")),
    "each program floods": lines(lambda one: one.update(cut=True, out="line after line\n" * 9000)),
    "each program says nothing": lines(lambda one: one.update(rc=0, out="", err="")),
    "broken JSON": lines(lambda one: one.update(rc=0, out='{"event":"start","nonce":7}\n{"eve')),
    "half an answer": lines(lambda one: one.update(rc=0, out=str(one["out"])[:40])),
    "an answer of another run": lines(
        lambda one: one.update(rc=0, out=f'{HALF}0000000000000000"}}\n{HALF}0"}}\n')
    ),
    "the disk is full": lines(
        lambda one: one.update(rc=1, out="", err="write failed: No space left on device")
    ),
    "bytes that are no text": lines(lambda one: one.update(rc=0, out="\x00\xff{\xfe}\n{\x80}")),
}


class Ill(Machine):
    """A machine whose containers go wrong in one suite."""

    suite = ""
    ill: Callable[[Completed], Completed]

    def run(self, ref: str, spec: RunSpec) -> Completed:
        done = super().run(ref, spec)
        session = Path(spec.argv[1]).name.removesuffix(".steps")
        mine = session == self.suite or session.startswith(f"{self.suite}.")
        return type(self).ill(done) if mine else done


def observed(suite: str, ill: Callable[[Completed], Completed]) -> Seen:
    made = type("Made", (Ill,), {"suite": suite, "ill": staticmethod(ill)})
    title = MIG if suite == "multi" else "RTX 4090"
    return observe(made(device(title)), "smoke", suite)


@pytest.mark.parametrize("ill", ILLS.values(), ids=ILLS)
@pytest.mark.parametrize("suite", LATER)
def test_whatever_happens_is_a_verdict(suite: str, ill: Callable[[Completed], Completed]) -> None:
    now = observed(suite, ill)
    found = state(now, (suite,))
    one = next(s for s in found.suites if s.name == suite)
    assert found.exit in {4, 6, 8}, found
    core = [check for check in one.checks if check.core]
    assert core
    assert not all(check.verdict == "pass" for check in core)
    for check in one.checks:
        assert check.verdict == "pass" or check.reason, check
        assert check.verdict in {"pass", "inconclusive", "skip"} or check.blame, check
    # What was seen before is kept: the same run certifies smoke.
    assert state(now, ("smoke",)).exit == 0


def _interrupt(done: Completed) -> Completed:
    raise KeyboardInterrupt


def test_what_was_seen_before_an_interruption_is_kept() -> None:
    now = observed("fast", _interrupt)
    assert now.interrupted
    assert now.finished
    assert now.usage
    found = state(now, ("fast",))
    assert found.exit == 8
    fast = next(one for one in found.suites if one.name == "fast")
    assert "the run was interrupted" in next(c.reason for c in fast.checks if c.core)
    assert state(now, ("smoke",)).exit == 0
    made = type("Made", (Ill,), {"suite": "work", "ill": staticmethod(_interrupt)})
    with pytest.raises(KeyboardInterrupt):
        observe(made(device("RTX 4090")), "smoke", "fast")


def test_a_container_that_never_gets_a_gpu_leaves_what_the_image_showed() -> None:
    made = type("Made", (Ill,), {"suite": "work", "ill": staticmethod(_raise)})
    now = observe(made(device("RTX 4090")), "smoke", "fast")
    found = state(now, ("smoke",))
    smoke = next(one for one in found.suites if one.name == "smoke")
    assert {(check.verdict, check.blame) for check in smoke.checks} == {("fail", "machine")}
    assert "docker cannot start a container: no such device" in smoke.checks[0].reason
    assert found.exit == 4
    assert state(now, ("toolchain",)).exit == 0
