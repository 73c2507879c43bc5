"""A driver that the cache names and the loader does not find is asked for again, by its path."""

import json
from pathlib import Path

from envbuild.certify.run import state
from envbuild.certify.seen import Seen
from envbuild.engines.base import RunSpec
from envbuild.io.proc import Completed
from tests.certify.simulated.devices import device
from tests.certify.simulated.machine import Machine, observe

DRIVER = "/opt/driver/libcuda.so.1"


class Cached(Machine):
    """Its image's cache names a driver; ``error`` is what the loader says of that path."""

    error = ""

    def run(self, ref: str, spec: RunSpec) -> Completed:
        done = super().run(ref, spec)
        session = Path(spec.argv[1]).name.removesuffix(".steps")
        lines = [json.loads(line) for line in done.out.splitlines()]
        for one in lines:
            if one["step"] == "ldconfig":
                one["out"] = f"\tlibcuda.so.1 (libc6,x86-64) => {DRIVER}\n"
            elif session == "look-again":
                assert DRIVER in one["out"]
                said = {"event": "load", "name": DRIVER, "path": "", "error": self.error}
                one["out"] = json.dumps({**said, "signal": 0, "version": 0})
        return done._replace(out="\n".join(json.dumps(one) for one in lines))


def observed(error: str) -> Seen:
    made = type("Made", (Cached,), {"error": f"{DRIVER}: cannot open shared object file: {error}"})
    return observe(made(device("RTX 4090")), "toolchain")


def test_one_that_is_there_is_found_though_its_user_may_not_read_it() -> None:
    assert state(observed("Permission denied"), ("toolchain",)).exit == 6


def test_one_that_is_gone_is_none() -> None:
    assert state(observed("No such file or directory"), ("toolchain",)).exit == 0
